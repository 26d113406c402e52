#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile adastra-mi300a (sha256 HASH)
# made by: envcfg sbatch --profile adastra-mi300a --account cad12345 --nodes 2 --time 15 -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Source and date of each value: envcfg profiles show adastra-mi300a
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL --threads-per-core=1 \
#     --network=disable_rdzv_get "${ENVCFG_SRUN[@]}" /bin/sh -c "$ENVCFG_RANK" \
#     envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# time is granted to projects
#SBATCH --account=cad12345

# it selects the kind of node; the partition does not
#SBATCH --constraint=MI300

# 4 GPUs on each node
#SBATCH --nodes=2

# the job needs the whole node; without this option, other jobs may run on it
#SBATCH --exclusive

# GPUs requested per node stay in one device group, so they can access each other's
# memory
#SBATCH --gpus-per-node=4

# one task for each GPU
#SBATCH --ntasks-per-node=4

# an APU is a GPU with 24 cores and 128 GB that both share; the host sees 501 GB of it;
# memory that a GPU uses is not available to the host, and using too much ends the job
#SBATCH --cpus-per-task=24

# 125G for each GPU
#SBATCH --mem=500G

# the job ends at this limit; shorter jobs often start sooner
#SBATCH --time=00:15:00

# stdout and stderr, by name and number of the job
#SBATCH --output=%x-%j.out

# --- What srun must be told again ---------------------------------------------------

# srun of Slurm 22.05 to 23.02 does not inherit it from the batch job
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-24}"

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# node-local, and in memory on LUMI, whose nodes have no disk; inferred for the other systems,
# unless they name a source [profiles/slingshot.yaml:51]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_COMPONENTS='' ENVCFG_CPU_MASKS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_RANKS='' ENVCFG_SUFFIX=''

# Modules for the step.
envcfg_modules() {
  :
}

# Modules for the number of nodes.
envcfg_tested_modules() {
  # RCCL of the site finds the network by it; an image needs its own plugin
  # [profiles/adastra-mi250x.yaml:74]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_module load aws-ofi-rccl
  fi
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # a single-node job has no address on Slingshot; forcing the network there costs time, or ends the
  # job [profiles/slingshot.yaml:65]
  if [ "$ENVCFG_NODES" -eq 1 ]; then
    envcfg_set -u NCCL_NET
  fi
  # bootstrap and socket traffic must use the four Slingshot interfaces; by default, the library
  # uses the management network [profiles/slingshot.yaml:87]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1,hsn2,hsn3
  # gloo reads its own variable, not NCCL's, and needs exact names, not prefixes
  # [profiles/slingshot.yaml:94]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  envcfg_set NCCL_NET_GDR_LEVEL PHB # GPU RDMA if the GPU and the NIC are on the same NUMA node [profiles/slingshot.yaml:99]
  # Slingshot is not a rail network; a ring may use different NICs to send and receive
  # [profiles/slingshot.yaml:104]
  envcfg_set NCCL_CROSS_NIC 1
  # memhooks intercepts malloc and can deadlock with RCCL and NCCL; kdreg2 works too, but needs a
  # kernel module [profiles/slingshot.yaml:109]
  envcfg_set FI_MR_CACHE_MONITOR userfaultfd
  envcfg_set FI_CXI_DISABLE_HOST_REGISTER 1 # prevents GPU calls of the provider that can deadlock [profiles/slingshot.yaml:116]
  envcfg_set FI_CXI_DEFAULT_CQ_SIZE 131072  # large jobs overrun the default completion queue [profiles/slingshot.yaml:121]
  envcfg_set FI_CXI_DEFAULT_TX_SIZE 2048    # large jobs need it for unexpected rendezvous messages [profiles/slingshot.yaml:126]
  # falls back to software when the NIC's matching resources run out [profiles/slingshot.yaml:131]
  envcfg_set FI_CXI_RX_MATCH_MODE hybrid
  envcfg_set ROCFFT_RTC_CACHE_PATH /dev/null # rocFFT keeps a SQLite cache in the home folder [profiles/slingshot-rocm.yaml:64]
  # CINES' value for up to four APUs, more channels than RCCL opens by itself
  # [profiles/adastra-mi300a.yaml:47]
  # CINES' value beyond a node, more than the 24 channels that RCCL opens there
  # [profiles/adastra-mi300a.yaml:52]
  if [ "$ENVCFG_NODES" -eq 1 ]; then
    envcfg_set NCCL_MIN_NCHANNELS 42
  elif [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_MIN_NCHANNELS 32
  fi
  envcfg_set HSA_XNACK 1 # lets GPU code touch all memory of the APU, wherever it was allocated [profiles/adastra-mi300a.yaml:58]
  envcfg_set NCCL_DEBUG INFO
  envcfg_set NCCL_DEBUG_SUBSYS INIT,BOOTSTRAP,ENV,NET
  envcfg_lacks NCCL_DEBUG_FILE --set PWD "${PWD+set}" BASHPID "${BASHPID+set}" || envcfg_set NCCL_DEBUG_FILE "${PWD}"/nccl-"${ENVCFG_JOB}"."${BASHPID}"/nccl-%h-%p.log
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  ENVCFG_LOG="${PWD:-}"
  # Slurm counts the second thread of a core as a CPU, so tasks would share cores
  # [profiles/adastra-mi250x.yaml:48]
  envcfg_option --threads-per-core=1
  # receivers fetch every message, which is fast and steady; the driver allows it only if the
  # scheduler disables its own protocol for the job [profiles/slingshot.yaml:157]
  if [ "$ENVCFG_NODES" -gt 1 ] && envcfg_agrees alternate-rendezvous \
    FI_CXI_RDZV_PROTO alt_read \
    FI_CXI_RDZV_EAGER_SIZE 0 \
    FI_CXI_RDZV_THRESHOLD 0 \
    FI_CXI_RDZV_GET_MIN 0; then
    envcfg_force FI_CXI_RDZV_PROTO alt_read
    envcfg_force FI_CXI_RDZV_EAGER_SIZE 0
    envcfg_force FI_CXI_RDZV_THRESHOLD 0
    envcfg_force FI_CXI_RDZV_GET_MIN 0
    envcfg_network disable_rdzv_get
  fi
}

envcfg_run_watcher() {
  exec envcfg check-log --no-default all --watch-step warn '--expect-network=AWS Libfabric' --expect-network=Libfabric --expect-network=OFI --expect-provider=cxi --require-gdr "$@"
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # One layer of GPU masking: ROCR_VISIBLE_DEVICES.
  unset -v HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  # the default is in the home folder; many ranks can corrupt it on a shared file system
  # [profiles/slingshot.yaml:137]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/slingshot.yaml:143]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/slingshot.yaml:149]
  envcfg_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  # MIOpen uses SQLite databases, and their locks fail on Lustre if many ranks use them
  # [profiles/slingshot-rocm.yaml:50]
  envcfg_set MIOPEN_USER_DB_PATH "${ENVCFG_CACHE}"/miopen
  # the cache of compiled kernels; on a network file system MIOpen moves it to the shared /tmp,
  # where users conflict [profiles/slingshot-rocm.yaml:56]
  envcfg_set MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_USER_DB_PATH}"
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}" \
    MIOPEN_USER_DB_PATH "${MIOPEN_USER_DB_PATH-}" \
    MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_CUSTOM_CACHE_DIR-}"
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
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile adastra-mi300a --account cad12345 --nodes 2 --time 15 -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
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
