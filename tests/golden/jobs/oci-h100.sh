#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile oci-h100 (sha256 HASH)
# made by: envcfg sbatch --profile oci-h100 --nodes 2 --time 15 --split -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Source and date of each value: envcfg profiles show oci-h100
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL \
#     --cpu-bind=mask_cpu:0x00000000000000000000000000003fff,0x0000000000000000000000000fffc000,0x0000000000000000000003fff0000000,0x000000000000000000fffc0000000000,0x000000000000003fff00000000000000,0x00000000000fffc00000000000000000,0x00000003fff000000000000000000000,0x0000fffc000000000000000000000000 \
#     "${ENVCFG_SRUN[@]}" /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- \
#     python3 dump.py out 'a b'
# Each rank has:
# - RANK: SLURM_PROCID
# - LOCAL_RANK: SLURM_LOCALID
# - WORLD_SIZE: SLURM_STEP_NUM_TASKS
# - MASTER_ADDR: the first node of SLURM_STEP_NODELIST
# - cores: those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# (https://github.com/oracle-quickstart/oci-hpc (commit 125e435 of 2023-10-29,
# samples/gpu/H100-topology.xml, lines 3 and 85), 2023-10-29)
# - GPU mask: CUDA_VISIBLE_DEVICES (https://github.com/SchedMD/slurm (commit 284c3b9 of 2026-08-20,
# doc/html/gres.shtml), 2026-08-20)

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# 8 GPUs on each node
#SBATCH --nodes=2

# in all of Oracle's scripts; Slurm does not divide the adapters of a node between jobs
#SBATCH --exclusive

# as Oracle's scripts ask for them
#SBATCH --gpus-per-node=8

# one task for each GPU
#SBATCH --ntasks-per-node=8

# the job ends at this limit; shorter jobs often start sooner
#SBATCH --time=00:15:00

# stdout and stderr, by name and number of the job
#SBATCH --output=%x-%j.out

# each start adds to the same output
#SBATCH --open-mode=append

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# four GPUs are next to each of two sockets of 56 cores; by envcfg's rule they share its cores in
# equal parts; the second threads are left out because some clusters switch them off
# [profiles/oci-h100.yaml:37]
ENVCFG_CPU_MASKS=0x00000000000000000000000000003fff,0x0000000000000000000000000fffc000,0x0000000000000000000003fff0000000,0x000000000000000000fffc0000000000,0x000000000000003fff00000000000000,0x00000000000fffc00000000000000000,0x00000003fff000000000000000000000,0x0000fffc000000000000000000000000
ENVCFG_CPU_MASKS_UNION=0000ffff,ffffffff,ffffffff,ffffffff # cores of all of them
ENVCFG_CPU_LISTS=0-13:14-27:28-41:42-55:56-69:70-83:84-97:98-111
# node-local on nearly all clusters, and the runtimes show it to the container by themselves
# [profiles/infiniband-cuda.yaml:70]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_COMPONENTS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_NODE_CORES='' ENVCFG_RANKS='' ENVCFG_SUFFIX='' ENVCFG_UNBOUND=''

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  envcfg_set NCCL_IB_GID_INDEX 3 # as Oracle sets it, whatever the version of NCCL [profiles/oci-h100.yaml:75]
  # the 16 adapters of the GPUs; mlx5_2 and mlx5_11 are the front end's [profiles/oci-h100.yaml:70]
  envcfg_set NCCL_IB_HCA =mlx5_0,mlx5_1,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_9,mlx5_10,mlx5_12,mlx5_13,mlx5_14,mlx5_15,mlx5_16,mlx5_17
  envcfg_set NCCL_IB_TC 41           # the class of traffic that Oracle's network keeps for GPUs [profiles/oci-h100.yaml:80]
  envcfg_set NCCL_IB_TIMEOUT 22      # a timeout for lost packets that is four times NCCL's default of 20 [profiles/oci-h100.yaml:85]
  envcfg_set NCCL_SOCKET_IFNAME eth0 # the front-end interface; those of the adapters are for RDMA [profiles/oci-h100.yaml:90]
  # NCCL's threads go to the cores next to their GPU, wherever Slurm has put the rank
  # [profiles/oci-h100.yaml:95]
  envcfg_set NCCL_IGNORE_CPU_AFFINITY 1
  envcfg_set NCCL_CUMEM_ENABLE 0 # as all of Oracle's scripts for this shape have it [profiles/oci-h100.yaml:100]
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
  exec envcfg check-log --no-default all --watch-step warn --expect-network=IB --expect-network=IBext "$@"
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # the default is in the home folder; on NFS, ranks of several nodes race for it, and some fail (by
  # users: https://github.com/PrimeIntellect-ai/prime-rl/pull/2305, 2026-11-29)
  # [profiles/infiniband-cuda.yaml:108]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/infiniband-cuda.yaml:114]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/infiniband-cuda.yaml:120]
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
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile oci-h100 --nodes 2 --time 15 --split -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
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
