#!/usr/bin/env bash
# Names, messages and small helpers that every script of the test cluster shares.
# shellcheck disable=SC2034  # most names are used by the scripts that source this

umask 022 # the ordinary user reads what root makes, whatever root's own habit
HERE=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
# What lives while the cluster is up (a tmpfs), and what is worth keeping longer.
STATE=/run/envcfg-cluster
CACHE=/var/cache/envcfg-cluster
LOGS=$STATE/log

# slurmctld and the user's shell are on LOGIN, one slurmd on each node; every host has
# namespaces of its own.
LOGIN=login
NODES=(nid001000 nid001001 g1101 g1102) # two like LUMI's, two like Mahti's
HOSTS=("$LOGIN" "${NODES[@]}")
NETNS=/run/netns # where `ip netns` keeps its names

# The account is known to the hosts of the cluster only. Its number is as high as those
# on LUMI, so the machine has no such account.
CLUSTER_USER=envcfg
CLUSTER_UID=327000100
CLUSTER_HOME=$STATE/home/$CLUSTER_USER

# Exit codes are those of envcfg itself: 4 is "cannot read, write or run something".
readonly CANNOT=4

log() {
  printf 'cluster: %s\n' "$*" >&2
}

die() {
  printf 'cluster: error: %s\n' "$*" >&2
  exit "$CANNOT"
}

# timed MESSAGE CMD... - say what takes long, and how long it took.
timed() {
  local message=$1 start=$SECONDS
  shift
  log "$message ..."
  "$@"
  log "$message: $((SECONDS - start)) s"
}

# retry TIMES CMD... - mirrors and networks fail now and then.
retry() {
  local times=$1 attempt
  shift
  for ((attempt = 1; attempt <= times; attempt++)); do
    "$@" && return 0
    log "attempt $attempt of $times failed: $*"
    sleep $((attempt * 2))
  done
  return 1
}

# key_of FILE... - a name for what these inputs make: another input, another name.
key_of() {
  cat -- "$@" | sha256sum | cut -c1-16
}

# publish SOURCE TARGET - a rename, so an interrupted build is never taken for a
# finished one; then drop what older inputs have made, unless a clone of this project has
# used it in the last week: each use touches it.
publish() {
  local source=$1 target=$2
  mv -T -- "$source" "$target"
  touch "$target"
  find "${target%/*}" -mindepth 1 -maxdepth 1 -name "$(basename "${target%-*}")-*" -mtime +7 \
    -exec rm -rf -- {} +
}

# debian_mirror - from where apt on this machine has its packages of Debian 12.
debian_mirror() {
  local site
  # shellcheck disable=SC2016 # apt expands them
  site=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
    'Created-By: Packages' | sed -n 's/^\(bookworm\|stable\|oldstable\) main //p' | head -n 1)
  [[ -n $site ]] || die "apt's sources on this machine name no mirror with bookworm's main"
  printf '%s\n' "$site"
}

require_root_debian() {
  ((EUID == 0)) || die "the cluster needs root (namespaces, daemons, packages)"
  if [[ ! -r /etc/debian_version || ! -x /usr/bin/apt-get ]]; then
    die "the cluster needs a Debian machine (apt-get); see $HERE/README.md"
  fi
  [[ $(uname -m) == x86_64 ]] || die "the cluster is made for x86_64"
}

# Close what the caller has open, such as a lock of its own: daemons would go on holding it.
let_go() {
  local open
  for open in "/proc/$BASHPID/fd/"*; do
    open=${open##*/}
    ((open < 3 || open == 255)) || exec {open}>&- # bash reads the script by 255
  done
}

# Tests hold the cluster while they run (holder.py): nothing else may change it then.
refuse_if_held() {
  local holder
  mkdir -p "$CACHE"
  if flock --nonblock "$CACHE/holder" true; then return; fi
  holder=$(<"$CACHE/holder")
  [[ $holder == "process ${ENVCFG_CLUSTER_HOLDER:-0} "* ]] \
    || die "the test cluster is in use by ${holder:-another run}"
}

# One script at a time changes the cluster; descriptor 9 stays out of the daemons.
take_lock() {
  refuse_if_held
  exec 9>"$CACHE/lock"
  flock -w 900 9 || die "another up or down has held $CACHE/lock for 15 minutes"
}

is_mounted() {
  mountpoint -q -- "$1"
}

# become HOST CMD... - go on as CMD, root, with the host's network, files and name.
become() {
  local host=$1
  shift
  exec nsenter --net="$NETNS/$host" --uts="$STATE/ns/$host.uts" \
    --mount="$STATE/ns/$host.mnt" -- "$@"
}

# enter HOST CMD... - the same as a child of this script.
enter() {
  (become "$@")
}

require_up() {
  ((EUID == 0)) || die "entering the cluster needs root"
  [[ -e $STATE/ready ]] || die "the cluster is not up; start it with $HERE/up"
}
