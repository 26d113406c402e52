#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile oci-mi300x (sha256 HASH)
# made by: envcfg sbatch --profile oci-mi300x --nodes 2 --time 15 -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Source and date of each value: envcfg profiles show oci-mi300x
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" /bin/sh -c \
#     "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# 8 GPUs on each node
#SBATCH --nodes=2

# in all of Oracle's scripts; Slurm does not divide the adapters of a node between jobs
#SBATCH --exclusive

# as Oracle's check of this shape asks for them
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
# node-local on nearly all clusters, and the runtimes show it to the container by themselves
# [profiles/roce-rocm.yaml:74]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_COMPONENTS='' ENVCFG_CPU_MASKS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_RANKS='' ENVCFG_SUFFIX=''

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # keeps each ring on one rail, for networks whose rails meet only higher up
  # [profiles/roce-rocm.yaml:93]
  envcfg_set NCCL_CROSS_NIC 0
  envcfg_set NCCL_PXN_DISABLE 1 # sending through another GPU's adapter needs GPU memory [profiles/roce-rocm.yaml:98]
  # AMD's launcher sends larger messages than the default of 128 KiB, as all-to-all wants
  # [profiles/roce-rocm.yaml:103]
  envcfg_set NCCL_P2P_NET_CHUNKSIZE 524288
  # MSCCL has corrupted data in past releases, and is gone in the newest
  # [profiles/roce-rocm.yaml:108]
  envcfg_set RCCL_MSCCL_ENABLE 0
  envcfg_set RCCL_MSCCLPP_ENABLE 0 # AMD leaves it off for stability [profiles/roce-rocm.yaml:113]
  # communication must not wait behind computation in the GPU's queues [profiles/roce-rocm.yaml:118]
  envcfg_set TORCH_NCCL_HIGH_PRIORITY 1
  # more queues make the time of a step unsteady, so AMD's launcher allows two
  # [profiles/roce-rocm.yaml:123]
  envcfg_set GPU_MAX_HW_QUEUES 2
  envcfg_set ROCFFT_RTC_CACHE_PATH /dev/null # rocFFT keeps a SQLite cache in the home folder [profiles/roce-rocm.yaml:163]
  # the eight adapters of the GPUs; the others are the front end's [profiles/oci-mi300x.yaml:47]
  envcfg_set NCCL_IB_HCA =mlx5_0,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_7,mlx5_8,mlx5_9
  # four connections spread over the paths of Oracle's network [profiles/oci-mi300x.yaml:52]
  envcfg_set NCCL_IB_QPS_PER_CONNECTION 4
  # RCCL's threads go to the cores next to their GPU, wherever Slurm has put the rank
  # [profiles/oci-mi300x.yaml:57]
  envcfg_set NCCL_IGNORE_CPU_AFFINITY 1
  envcfg_set NCCL_SOCKET_IFNAME eth0 # the front-end interface; those of the adapters are for RDMA [profiles/oci-mi300x.yaml:62]
  envcfg_set NCCL_DEBUG INFO
  envcfg_set NCCL_DEBUG_SUBSYS INIT,BOOTSTRAP,ENV,NET
  envcfg_lacks NCCL_DEBUG_FILE --set PWD "${PWD+set}" BASHPID "${BASHPID+set}" || envcfg_set NCCL_DEBUG_FILE "${PWD}"/nccl-"${ENVCFG_JOB}"."${BASHPID}"/nccl-%h-%p.log
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  ENVCFG_LOG="${PWD:-}"
}

envcfg_run_watcher() {
  exec envcfg check-log --no-default all --watch-step warn --expect-network=IB "$@"
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # One layer of GPU masking: ROCR_VISIBLE_DEVICES.
  unset -v HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  # MIOpen uses SQLite databases, and their locks fail on shared file systems if many ranks use them
  # [profiles/roce-rocm.yaml:129]
  envcfg_set MIOPEN_USER_DB_PATH "${ENVCFG_CACHE}"/miopen
  # the cache of compiled kernels; on a network file system MIOpen moves it to the shared /tmp,
  # where users conflict [profiles/roce-rocm.yaml:137]
  envcfg_set MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_USER_DB_PATH}"
  # the default is in the home folder; many ranks can corrupt it on a shared file system
  # [profiles/roce-rocm.yaml:145]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/roce-rocm.yaml:151]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/roce-rocm.yaml:157]
  envcfg_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  envcfg_folders MIOPEN_USER_DB_PATH "${MIOPEN_USER_DB_PATH-}" \
    MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_CUSTOM_CACHE_DIR-}" TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
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
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile oci-mi300x --nodes 2 --time 15 -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
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
