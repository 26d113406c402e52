#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile polaris (sha256 HASH)
# made by: envcfg sbatch --profile polaris --account Catalyst --partition debug --nodes 2 --time 15 --split -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: qsub FILE
# Source and date of each value: envcfg profiles show polaris
# It starts the ranks by:
#   mpiexec "${ENVCFG_SIZED[@]}" --cpu-bind \
#     list:24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39 -d 16 "${ENVCFG_MPIEXEC[@]}" \
#     /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out \
#     'a b'
# Each rank has:
# - RANK: PALS_RANKID or PMI_RANK or OMPI_COMM_WORLD_RANK
# - LOCAL_RANK: PALS_LOCAL_RANKID or MPI_LOCALRANKID or OMPI_COMM_WORLD_LOCAL_RANK
# - WORLD_SIZE: nodes x ranks per node
# - MASTER_ADDR: the first node of PBS_NODEFILE
# - cores: those next to its GPU by ENVCFG_CPU_MASKS (https://github.com/argonne-lcf/user-guides
# (commit 321e3c3 of 2025-03-11, docs/polaris/index.md), 2026-08-19)
# - GPU mask: CUDA_VISIBLE_DEVICES (https://docs.nvidia.com/cuda/cuda-c-programming-guide/
# (environment variables), 2026-11-21)
# Settings of the profile that are left out, and why:
# - HF_HOME, HF_DATASETS_CACHE, HF_MODULES_CACHE: launcher=pbs, runtime=none

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#PBS -N dump

# hours are charged to a project
#PBS -A Catalyst

# for tests
#PBS -q debug

# 4 GPUs on each node
# one PBS serves several systems; ALCF's scripts name theirs
#PBS -l select=2:system=polaris

# 4 GPUs on each node
#PBS -l place=scatter

# a job starts only while the file systems that it names are up
#PBS -l filesystems=home:eagle

# the job ends at this limit; shorter jobs often start sooner
#PBS -l walltime=00:15:00

# stdout and stderr, by name and number of the job
#PBS -j oe

cd "${PBS_O_WORKDIR:-.}" || exit # PBS starts a job in the home folder

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_GPUS='4'             # on each node
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# the GPUs are numbered in the opposite order of the cores next to them [profiles/polaris.yaml:60]
ENVCFG_CPU_MASKS=0xff000000ff000000,0x00ff000000ff0000,0x0000ff000000ff00,0x000000ff000000ff
ENVCFG_CPU_MASKS_UNION=ffffffff,ffffffff # cores of all of them
ENVCFG_CPU_LISTS=24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39
# two SSDs of the node, which ALCF also uses for Apptainer's caches; they need no request
# [profiles/polaris.yaml:75]
ENVCFG_SCRATCH=/tmp # for node-local caches
if [ -d /local/scratch ] && [ -w /local/scratch ]; then ENVCFG_SCRATCH=/local/scratch; fi

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_RANKS='' ENVCFG_SUFFIX=''

# Modules for the step.
envcfg_modules() {
  envcfg_module use /soft/modulefiles # where ALCF keeps its own modules [profiles/polaris.yaml:100]
  envcfg_module load spack-pe-base    # the modules of Apptainer come with it [profiles/polaris.yaml:105]
  envcfg_module load apptainer        # brings Apptainer, which is on compute nodes only [profiles/polaris.yaml:110]
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # the plugin has two to three times the bandwidth of sockets; if it does not load, the job ends.
  # Megatron-DeepSpeed may hang with it: --unset NCCL_NET [profiles/polaris.yaml:225]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET 'AWS Libfabric'
  fi
  # ALCF counts two Slingshot adapters in a node; HPE names them in this order, from hsn0 to hsn3
  # [profiles/polaris.yaml:233]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1
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
  envcfg_set NCCL_COLLNET_ENABLE 1          # part of the settings that ALCF measured as best [profiles/polaris.yaml:238]
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
  exec envcfg check-log --no-default all --watch-step warn '--expect-network=AWS Libfabric' --expect-network=Libfabric --expect-network=OFI --expect-provider=cxi "$@"
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # the default is in the home folder; on NFS, ranks of several nodes race for it, and some fail (by
  # users: https://github.com/PrimeIntellect-ai/prime-rl/pull/2305, 2026-11-29)
  # [profiles/slingshot.yaml:137]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/slingshot.yaml:143]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/slingshot.yaml:149]
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

# --- begin 8 (sha256 HASH): refuse a shell in which bash would stop halfway and report success
# Traps of the job's shell do not run between commands of envcfg: set +ET, and no CHLD trap.
ENVCFG_FLAGS=$-
\builtin set +ET

envcfg_quiet() { # put the CHLD trap aside, in one command: the trap runs after the first child has ended
  ENVCFG_CHLD=''
  # shellcheck disable=SC2064 # the text is meant to be read now
  \builtin trap ": ${ENVCFG_CHLD:=$(\builtin trap -p CHLD)}" CHLD
  \builtin trap - CHLD
}

envcfg_heed() { # give the CHLD trap back; in a subshell it is the parent's
  if [[ ${BASHPID-} == "$$" ]]; then \builtin eval "$ENVCFG_CHLD"; fi
}

envcfg_give_back() { # to the job's shell, what has been changed in it
  if [[ $ENVCFG_FLAGS == *E* ]]; then \builtin set -E; fi
  if [[ $ENVCFG_FLAGS == *T* ]]; then \builtin set -T; fi
  if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then \builtin shopt -s expand_aliases; fi
  envcfg_heed
}

envcfg_quiet
ENVCFG_READONLY=$'\n'$(\builtin readonly -p && \builtin declare -F)
ENVCFG_TRY=$'*\ndeclare -*([a-z])r*([a-z]) @(ENVCFG|envcfg|IFS)[_=\n]*' # "readonly" of a name of envcfg
# shellcheck disable=SC2053 # it is a pattern
if [[ $- == *r* || :$BASHOPTS: == *:extdebug:* || ${FUNCNEST-} == [1-9] || ${FUNCNEST-} == [1-9][0-9] ||
  $ENVCFG_READONLY == $ENVCFG_TRY || $ENVCFG_READONLY != *' BASHOPTS='* ]]; then
  \builtin printf 'envcfg: error: this shell is restricted, has extdebug, a function "builtin", a low FUNCNEST, or a readonly name that envcfg needs (ENVCFG_*, envcfg_*, IFS)\n' >&2
  \builtin printf '  hint: start the step in a shell without these: bash job.sh\n' >&2
  envcfg_give_back
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
  # An expansion still ends the shell if a DEBUG trap skips commands or "builtin" is a function.
  # shellcheck disable=SC2317 # then this is reached
  { :; } <<<"${ENVCFG_REFUSED?envcfg: error: this shell has extdebug or a function "builtin", so nothing is run}"
fi

# --- The rest is the same in many jobs: a file, run if its SHA-256 is right ---------
# Slurm runs a copy of this script: so the path of the file is in full.
ENVCFG_FILE=/home/me/.envcfg/HASH.bash
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile polaris --account Catalyst --partition debug --nodes 2 --time 15 --split -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
for ENVCFG_TRY in "$ENVCFG_FILE" "${SLURM_SUBMIT_DIR:-${PBS_O_WORKDIR:-$PWD}}/.envcfg/${ENVCFG_FILE##*/}"; do
  { IFS= \builtin read -r -d '' ENVCFG_TEXT <"$ENVCFG_TRY" || \builtin :; } 2>/dev/null
  ENVCFG_HASH=$(\builtin printf %s "${ENVCFG_TEXT-}" | \builtin command sha256sum 2>/dev/null) || ENVCFG_HASH=''
  if [[ ${ENVCFG_FILE##*/} == "${ENVCFG_HASH:0:32}.bash" ]]; then break; fi
done
if [[ ${ENVCFG_FILE##*/} != "${ENVCFG_HASH:0:32}.bash" ]]; then
  \builtin printf 'envcfg: error: %s is missing or changed, as %s sees it, so nothing is run\n' "$ENVCFG_FILE" "${HOSTNAME:-this host}" >&2
  if [[ -z $ENVCFG_HASH ]]; then \builtin printf '  sha256sum, which checks it, failed or is not on PATH\n' >&2; fi
  \builtin printf '  hint: write both files again: %s\n' "$ENVCFG_AGAIN" >&2
  envcfg_give_back
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
fi
\builtin eval "$ENVCFG_TEXT"

envcfg_run python3 dump.py out 'a b'
