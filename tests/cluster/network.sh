#!/usr/bin/env bash
# The hosts of the cluster: for each one a network, a hostname and a view of the files.
#
#   nmn0        10.120.0.0/16  management: login and all nodes
#   hsn0..hsn3  10.253.k.0/16  high speed: LUMI's nodes, four interfaces each
#   ib0         10.254.0.0/16  high speed: Mahti's nodes
#
# All links are made inside the namespaces, so the machine's own network never sees one.

HSN=4 # high-speed interfaces per node of LUMI

# A node's last number in every network: nid001000 is 10.120.0.10, 10.253.k.10, and g1101
# is 10.120.0.111, 10.254.0.111.
node_number() {
  printf '%d\n' $((10#${1##*[a-z]} - 1000 + 10))
}

write_hosts() {
  local node number k
  printf '127.0.0.1 localhost\n10.120.0.1 %s\n' "$LOGIN"
  for node in "${NODES[@]}"; do
    number=$(node_number "$node")
    printf '10.120.0.%d %s %s-nmn0\n' "$number" "$node" "$node"
    if [[ $node == g* ]]; then
      printf '10.254.0.%d %s-ib0\n' "$number" "$node"
      continue
    fi
    for ((k = 0; k < HSN; k++)); do
      printf '10.253.%d.%d %s-hsn%d\n' "$k" "$number" "$node" "$k"
    done
  done
}

# Files of /etc that all hosts share; a host lays them over the machine's own.
write_etc() {
  local etc=$STATE/etc id=$CLUSTER_UID
  cp -a "$HERE/etc" "$etc"
  chown -R root:root "$etc"
  chmod -R u=rwX,go=rX "$etc"
  write_hosts >"$etc/hosts"
  # There is nothing to ask outside: names that are not in hosts fail at once.
  : >"$etc/resolv.conf"
  printf '%s\n' 'passwd: files' 'group: files' 'shadow: files' 'hosts: files' \
    >"$etc/nsswitch.conf"
  {
    cat /etc/passwd
    printf '%s:x:%d:%d:cluster user:%s:/bin/bash\n' \
      "$CLUSTER_USER" "$id" "$id" "$CLUSTER_HOME"
  } >"$etc/passwd"
  {
    cat /etc/group
    printf '%s:x:%d:\n' "$CLUSTER_USER" "$id"
  } >"$etc/group"
  # No password fits; but for `sbatch --export=NONE` Slurm asks su for the environment
  # of a login, and su asks whether the account is valid.
  install -m 640 -g shadow /dev/null "$etc/shadow"
  printf '%s:*:20000:0:99999:7:::\n' root "$CLUSTER_USER" >"$etc/shadow"
}

make_home() {
  install -d -m 755 "${CLUSTER_HOME%/*}"
  install -d -m 700 -o "$CLUSTER_UID" -g "$CLUSTER_UID" "$CLUSTER_HOME"
}

make_devices() {
  local k
  mkdir -p "$STATE/dev"
  mknod -m 666 "$STATE/dev/fuse" c 10 229
  # Eight GPUs for Slurm to count; nobody looks behind them.
  for k in {0..7}; do
    mknod -m 666 "$STATE/dev/gpu$k" c 1 3
  done
}

make_hosts() {
  local host
  write_etc
  make_home
  make_devices
  mkdir -p "$STATE/ns"
  # `ip netns` mounts a folder for its names: remember whether that was us.
  is_mounted "$NETNS" || : >"$STATE/made-netns"
  for host in "${HOSTS[@]}"; do
    make_namespaces "$host"
  done
  connect_login
  for host in "${NODES[@]}"; do
    connect_node "$host"
  done
}

# A namespace that a file stands for lives on without a process in it.
make_namespaces() {
  local host=$1
  [[ ! -e $NETNS/$host ]] || die "a network namespace $host exists; it is not ours"
  : >"$STATE/ns/$host.uts"
  : >"$STATE/ns/$host.mnt"
  ip netns add "$host"
  nsenter --net="$NETNS/$host" -- \
    unshare --uts="$STATE/ns/$host.uts" --mount="$STATE/ns/$host.mnt" -- \
    "$HERE/mounts.sh" host "$host"
  # Four interfaces in one network, as on LUMI: each answers for its own address only.
  enter "$host" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 \
    net.ipv6.conf.default.disable_ipv6=1 \
    net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
  ip -n "$host" link set lo up
}

# All networks are bridges in login; the one for management is login's own interface.
connect_login() {
  ip -n "$LOGIN" link add nmn0 type bridge
  ip -n "$LOGIN" link add br-hsn type bridge
  ip -n "$LOGIN" link add br-ib type bridge
  ip -n "$LOGIN" address add 10.120.0.1/16 dev nmn0
  ip -n "$LOGIN" link set nmn0 up
  ip -n "$LOGIN" link set br-hsn mtu 9000 up
  ip -n "$LOGIN" link set br-ib mtu 2044 up
}

connect_node() {
  local node=$1 number k address
  number=$(node_number "$node")
  plug "$node" nmn0 nmn0 "10.120.0.$number" 1500
  if [[ $node == g* ]]; then
    plug "$node" ib0 br-ib "10.254.0.$number" 2044
    return
  fi
  for ((k = 0; k < HSN; k++)); do
    address=10.253.$k.$number
    plug "$node" "hsn$k" br-hsn "$address" 9000
    # All four are in one network, so Linux would send everything by hsn0, and the
    # byte counters would lie. What comes from an interface's address leaves by that
    # interface; what is for the hsn$k of another node, and says no more, by hsn$k.
    ip -n "$node" route add 10.253.0.0/16 dev "hsn$k" src "$address" \
      table $((100 + k))
    ip -n "$node" rule add from "$address" table $((100 + k))
    ip -n "$node" route add "10.253.$k.0/24" dev "hsn$k" src "$address"
  done
}

# plug NODE INTERFACE BRIDGE ADDRESS MTU - a cable from the node to the bridge in login.
plug() {
  local node=$1 interface=$2 bridge=$3 address=$4 mtu=$5
  local port=${node#nid}-$interface
  ip -n "$LOGIN" link add "$port" mtu "$mtu" master "$bridge" type veth \
    peer name "$interface" mtu "$mtu" netns "$node"
  ip -n "$LOGIN" link set "$port" up
  ip -n "$node" address add "$address/16" dev "$interface"
  ip -n "$node" link set "$interface" up
}
