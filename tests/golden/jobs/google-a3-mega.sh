#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile google-a3-mega (sha256 HASH)
# made by: envcfg sbatch --profile google-a3-mega --nodes 2 --time 15 -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Source and date of each value: envcfg profiles show google-a3-mega
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" /bin/sh -c \
#     "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# 8 GPUs on each node
#SBATCH --nodes=2

# as Google's scripts ask for them
#SBATCH --gpus-per-node=8

# one task for each GPU
#SBATCH --ntasks-per-node=8

# the job ends at this limit; shorter jobs often start sooner
#SBATCH --time=00:15:00

# stdout and stderr, by name and number of the job
#SBATCH --output=%x-%j.out

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# node-local, and the runtimes show it to the container by themselves; the node's larger disks are
# at /mnt/localssd, where the blueprint mounts them: for data, with --bind
# [profiles/google-a3-mega.yaml:60]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_COMPONENTS='' ENVCFG_CPU_MASKS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_RANKS='' ENVCFG_SUFFIX=''

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # if the plugin does not load, the job ends, instead of running over plain TCP
  # [profiles/google-a3-mega.yaml:135]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET FasTrak
  fi
  # the first interface, for control messages [profiles/google-a3-mega.yaml:142]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_CTRL_DEV enp0s12
  fi
  # the interfaces of the eight NICs for GPUs [profiles/google-a3-mega.yaml:149]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_IFNAME enp6s0,enp7s0,enp13s0,enp14s0,enp134s0,enp135s0,enp141s0,enp142s0
  fi
  # bootstrap by the first interface; the other eight are each on a network of their own
  # [profiles/google-a3-mega.yaml:155]
  envcfg_set NCCL_SOCKET_IFNAME enp0s12
  # through these devices GPU memory is reached; elsewhere than where the plugin looks
  # [profiles/google-a3-mega.yaml:161]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY /dev/aperture_devices
  fi
  # writes to GPU memory without the host [profiles/google-a3-mega.yaml:168]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_USE_LLCM 1
  fi
  # Google's network stack, in place of the kernel's [profiles/google-a3-mega.yaml:175]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_USE_SNAP 1
  fi
  # flows of each connection; the default by now, which Google writes out
  # [profiles/google-a3-mega.yaml:182]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_NUM_FLOWS 2
  fi
  # as Google sets it; the default by now, which Google writes out
  # [profiles/google-a3-mega.yaml:189]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL 0
  fi
  # a line for each transfer would slow it down; the default by now, which Google writes out
  # [profiles/google-a3-mega.yaml:196]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING 0
  fi
  # ten minutes until all ranks of a large job have connected [profiles/google-a3-mega.yaml:203]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS 600000
  fi
  # each NIC is on its own network, so rings stay on their rail [profiles/google-a3-mega.yaml:210]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_CROSS_NIC 0
  fi
  # GPU RDMA only if the NIC is on the same PCIe switch [profiles/google-a3-mega.yaml:217]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET_GDR_LEVEL PIX
  fi
  # the file of the tuner expects these two [profiles/google-a3-mega.yaml:224]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_PROTO Simple,LL128
  fi
  # as Google tuned it for this network [profiles/google-a3-mega.yaml:231]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_MIN_NCHANNELS 4
  fi
  # twice NCCL's own buffers, as Google tuned it for this network [profiles/google-a3-mega.yaml:238]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_BUFFSIZE 8388608
  fi
  # larger messages than NCCL's own, as Google tuned it for this network
  # [profiles/google-a3-mega.yaml:245]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_P2P_NET_CHUNKSIZE 524288
  fi
  # goes with the size for the network [profiles/google-a3-mega.yaml:252]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_P2P_PCI_CHUNKSIZE 524288
  fi
  # goes with the size for the network [profiles/google-a3-mega.yaml:259]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_P2P_NVL_CHUNKSIZE 1048576
  fi
  # since August 2025 all-reduce within nodes goes by NVLS, with chunks of this size
  # [profiles/google-a3-mega.yaml:266]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NVLSTREE_MAX_CHUNKSIZE 131072
  fi
  # chooses algorithms by what Google measured [profiles/google-a3-mega.yaml:273]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_TUNER_PLUGIN libnccl-tuner.so
  fi
  # the tuner's file; without it the job ends at its start [profiles/google-a3-mega.yaml:280]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_TUNER_CONFIG_PATH /var/lib/tcpxo/lib64/a3plus_tuner_config.textproto
  fi
  envcfg_set NCCL_DEBUG INFO
  envcfg_set NCCL_DEBUG_SUBSYS INIT,BOOTSTRAP,ENV,NET
  envcfg_lacks NCCL_DEBUG_FILE --set PWD "${PWD+set}" BASHPID "${BASHPID+set}" || envcfg_set NCCL_DEBUG_FILE "${PWD}"/nccl-"${ENVCFG_JOB}"."${BASHPID}"/nccl-%h-%p.log
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  ENVCFG_LOG="${PWD:-}"
}

envcfg_run_watcher() {
  exec envcfg check-log --no-default all --watch-step warn --expect-network=FasTrak "$@"
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # the plugin and the NCCL that it was tested with are the host's; a PyTorch that has its own NCCL
  # inside may keep that [profiles/google-a3-mega.yaml:126]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_force LD_LIBRARY_PATH /var/lib/tcpxo/lib64:"${LD_LIBRARY_PATH:-/usr/lib/x86_64-linux-gnu}"
  fi
  # the default is in the home folder; many ranks can corrupt it on a shared file system
  # [profiles/google-a3-mega.yaml:287]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/google-a3-mega.yaml:293]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/google-a3-mega.yaml:299]
  envcfg_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}"
}

# --- guard 2 (sha256 HASH): refuse shells other than bash 4.4 or newer
case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac

# --- begin 6 (sha256 HASH): refuse a shell in which bash would stop halfway and report success
ENVCFG_READONLY=$'\n'$(\builtin readonly -p && \builtin declare -F)
ENVCFG_TRY=$'*\ndeclare -*([a-z])r*([a-z]) @(ENVCFG|envcfg|IFS)[_=\n]*' # "readonly" of a name of envcfg
# shellcheck disable=SC2053 # it is a pattern
if [[ $- == *r* || ${FUNCNEST-} == [1-9] || ${FUNCNEST-} == [1-9][0-9] || $ENVCFG_READONLY == $ENVCFG_TRY ]]; then
  \builtin printf 'envcfg: error: this shell is restricted, has a low FUNCNEST, or a readonly name that envcfg needs (ENVCFG_*, envcfg_*, IFS)\n' >&2
  \builtin printf '  hint: start the step in a shell without these: bash job.sh\n' >&2
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
fi

# --- The rest is the same in many jobs: a file, run if its SHA-256 is right ---------
# Slurm runs a copy of this script: so the path of the file is in full.
ENVCFG_FILE=/home/me/.envcfg/HASH.bash
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile google-a3-mega --nodes 2 --time 15 -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
for ENVCFG_TRY in "$ENVCFG_FILE" "${SLURM_SUBMIT_DIR:-${PBS_O_WORKDIR:-$PWD}}/.envcfg/${ENVCFG_FILE##*/}"; do
  { IFS= \builtin read -r -d '' ENVCFG_TEXT <"$ENVCFG_TRY" || \builtin :; } 2>/dev/null
  ENVCFG_HASH=$(\builtin printf %s "${ENVCFG_TEXT-}" | \builtin command sha256sum 2>/dev/null) || ENVCFG_HASH=''
  if [[ ${ENVCFG_FILE##*/} == "${ENVCFG_HASH:0:32}.bash" ]]; then break; fi
done
if [[ ${ENVCFG_FILE##*/} != "${ENVCFG_HASH:0:32}.bash" ]]; then
  \builtin printf 'envcfg: error: %s is missing or changed, as %s sees it, so nothing is run\n' "$ENVCFG_FILE" "${HOSTNAME:-this host}" >&2
  if [[ -z $ENVCFG_HASH ]]; then \builtin printf '  sha256sum, which checks it, failed or is not on PATH\n' >&2; fi
  \builtin printf '  hint: write both files again: %s\n' "$ENVCFG_AGAIN" >&2
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
fi
\builtin eval "$ENVCFG_TEXT"

envcfg_run python3 dump.py out 'a b'
