#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile derecho (sha256 HASH)
# made by: envcfg sbatch --profile derecho --account U1 --partition develop --gpus 2 --time 1:30:00 --array 0-9%2 --log logs/%x.out --request-arg=--job_priority=economy --request-arg=-r=y --exclusive --split -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: qsub FILE
# Source and date of each value: envcfg profiles show derecho
# It starts the ranks by:
#   mpiexec "${ENVCFG_SIZED[@]}" --cpu-bind list:48-63:32-47:16-31:0-15 -d 16 \
#     "${ENVCFG_MPIEXEC[@]}" /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" \
#     -- python3 dump.py out 'a b'
# Each rank has:
# - RANK: PALS_RANKID or PMI_RANK or OMPI_COMM_WORLD_RANK
# - LOCAL_RANK: PALS_LOCAL_RANKID or MPI_LOCALRANKID or OMPI_COMM_WORLD_LOCAL_RANK
# - WORLD_SIZE: nodes x ranks per node
# - MASTER_ADDR: the first node of PBS_NODEFILE
# - cores: those next to its GPU by ENVCFG_CPU_MASKS (https://github.com/NCAR/mpibind (commit
# be869a0 of 2025-04-17, README.md, lines 99-102), 2025-04-17)
# - GPU mask: CUDA_VISIBLE_DEVICES (https://docs.nvidia.com/cuda/cuda-c-programming-guide/
# (environment variables), 2026-11-21)

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#PBS -N dump

# hours are charged to a project
#PBS -A U1

# for tests, on shared nodes
#PBS -q develop

# 2 GPUs on each node
# GPUs are part of what is selected, and make it a job of GPU nodes
# 64 cores and four A100 of 40 GB, a Slingshot port for each
#PBS -l select=1:ngpus=2:ncpus=32

# binding ranks to cores needs whole nodes; the GPUs are numbered in the opposite order of the cores
# next to them: NCAR's tool binds cores 0, 16, 32 and 48 to GPUs 3 to 0, as nvidia-smi reports them;
# each has a quarter of the 64 cores
#PBS -l place=scatter:excl

# the job ends at this limit; shorter jobs often start sooner
#PBS -l walltime=01:30:00

# given for this job
#PBS -J 0-9%2

# stdout and stderr, by job and number
#PBS -j oe
#PBS -o logs/dump.out

# given
#PBS -l job_priority=economy
#PBS -r y

cd "${PBS_O_WORKDIR:-.}" || exit # PBS starts a job in the home folder

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_RANKS='2'            # on each node
ENVCFG_GPUS='4'             # on each node
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# the GPUs are numbered in the opposite order of the cores next to them: NCAR's tool binds cores 0,
# 16, 32 and 48 to GPUs 3 to 0, as nvidia-smi reports them; each has a quarter of the 64 cores
# [profiles/derecho.yaml:45]
ENVCFG_CPU_MASKS=0xffff000000000000,0x0000ffff00000000,0x00000000ffff0000,0x000000000000ffff
ENVCFG_CPU_MASKS_UNION=ffffffff,ffffffff # cores of all of them
ENVCFG_CPU_LISTS=48-63:32-47:16-31:0-15
# node-local, and in memory on LUMI, whose nodes have no disk; inferred for the other systems,
# unless they name a source [profiles/slingshot.yaml:51]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_SUFFIX=''

# Modules for the step.
envcfg_modules() {
  envcfg_module load apptainer # brings Apptainer, also by the name of singularity [profiles/derecho.yaml:83]
  envcfg_module load cuda      # NCAR warns that nodes may lock up if programs use GPUs without it [profiles/derecho.yaml:88]
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # as in the family; a single-node job has no address on Slingshot [profiles/derecho.yaml:153]
  # the job then ends if the plugin does not load; a PyTorch from elsewhere would continue over
  # sockets; every version of the plugin accepts this name (by users:
  # https://github.com/negin513/distributed-pytorch-hpc;
  # https://github.com/aws/aws-ofi-nccl/pull/530, 2026-04-23) [profiles/derecho.yaml:158]
  if [ "$ENVCFG_NODES" -eq 1 ]; then
    envcfg_set -u NCCL_NET
  elif [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET 'AWS Libfabric'
  fi
  # the value in the guide for Derecho; NCCL reads it as a prefix of the four names (by users:
  # https://github.com/negin513/distributed-pytorch-hpc, 2026-04-23) [profiles/derecho.yaml:166]
  envcfg_set NCCL_SOCKET_IFNAME hsn
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
  # more channels to each peer, which large messages fill (by users:
  # https://github.com/negin513/distributed-pytorch-hpc, 2026-04-23) [profiles/derecho.yaml:171]
  envcfg_set NCCL_NCHANNELS_PER_NET_PEER 4
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
  exec envcfg check-log --no-default all --watch-step warn '--expect-network=AWS Libfabric' --expect-network=Libfabric --expect-network=OFI --expect-provider=cxi --require-gdr "$@"
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
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile derecho --account U1 --partition develop --gpus 2 --time 1:30:00 --array 0-9%2 --log logs/%x.out --request-arg=--job_priority=economy --request-arg=-r=y --exclusive --split -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
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
