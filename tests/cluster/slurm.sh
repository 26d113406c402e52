#!/usr/bin/env bash
# munge and Slurm: start the daemons and wait until every node is idle.

READY_SECONDS=60

# start NAME HOST CMD... - a daemon in HOST that outlives this script and holds none of
# its files: not the terminal, not a pipe somebody reads to its end, not the lock.
start() {
  local name=$1 host=$2
  shift 2
  become "$host" setsid -- "$@" </dev/null >"$LOGS/$name.out" 2>&1 9>&- &
  printf '%d\n' "$!" >"$STATE/$name.pid"
}

start_munge() {
  local dir=$STATE/munge
  install -d -m 755 -o munge -g munge "$dir"
  head -c 1024 /dev/urandom >"$dir/key"
  chown munge:munge "$dir/key"
  chmod 400 "$dir/key"
  install -m 640 -o munge -g munge /dev/null "$LOGS/munged.log"
  start munged "$LOGIN" setpriv --reuid munge --regid munge --init-groups \
    munged --foreground --socket="$dir/socket" --key-file="$dir/key" \
    --pid-file="$dir/pid" --seed-file="$dir/seed" --log-file="$LOGS/munged.log"
  await 'munged answers' munge_answers
}

munge_answers() {
  munge --no-input --socket="$STATE/munge/socket" >/dev/null 2>&1
}

start_slurm() {
  local node
  mkdir -p "$STATE/slurm/ctld"
  start slurmctld "$LOGIN" slurmctld -D
  for node in "${NODES[@]}"; do
    mkdir -p "$STATE/slurm/spool.$node"
    # A job ends when the last process of its group has gone, zombies included, and
    # srun leaves some: tini takes them at once, some machines' init after seconds.
    start "slurmd.$node" "$node" tini -s -- slurmd -D -N "$node"
  done
  await 'all nodes are idle' nodes_are_idle
}

# The state of each live node, one a line; Slurm names a node once for each partition.
node_states() {
  local nodes
  nodes=$(IFS=, && printf '%s' "${NODES[*]}")
  enter "$LOGIN" sinfo --noheader --Node --nodes="$nodes" --format='%N %T' \
    2>/dev/null | sort -u | cut -d ' ' -f 2
}

nodes_are_idle() {
  local states
  states=$(node_states) || return 1
  [[ $(sort <<<"$states" | uniq -c) =~ ^\ *${#NODES[@]}\ idle$ ]]
}

# await WHAT CMD... - wait for CMD to succeed, but not for ever.
await() {
  local what=$1 deadline=$((SECONDS + READY_SECONDS))
  shift
  until "$@"; do
    daemons_live || give_up "a daemon has died before $what"
    ((SECONDS < deadline)) || give_up "not within $READY_SECONDS s: $what"
    sleep 0.1
  done
}

daemons_live() {
  local file
  for file in "$STATE"/*.pid; do
    kill -0 "$(<"$file")" 2>/dev/null || return 1
  done
}

give_up() {
  local file
  for file in "$LOGS"/{munged,slurmctld,slurmd.*}.out; do
    [[ -s $file ]] || continue
    printf '==> %s\n' "$file" >&2
    tail -n 15 "$file" >&2
  done
  die "$1; the logs are in $LOGS"
}

# A cluster at work is up as well: ask for answers, not for idle nodes.
nodes_answer() {
  local states
  states=$(node_states) || return 1
  [[ $states =~ ^((idle|allocated|mixed|completing)$'\n'?)+$ ]]
}
