#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile lumi-g (sha256 HASH)
# made by: envcfg sbatch --profile lumi-g --account project_465000001 --partition standard-g --nodes 1 --time 15 --partition small-g --split -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Source and date of each value: envcfg profiles show lumi-g
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL \
#     --cpu-bind=mask_cpu:0x00fe000000000000,0xfe00000000000000,0x0000000000fe0000,0x00000000fe000000,0x00000000000000fe,0x000000000000fe00,0x000000fe00000000,0x0000fe0000000000 \
#     "${ENVCFG_SRUN[@]}" /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- \
#     python3 dump.py out 'a b'
# Each rank has:
# - RANK: SLURM_PROCID
# - LOCAL_RANK: SLURM_LOCALID
# - WORLD_SIZE: SLURM_STEP_NUM_TASKS
# - MASTER_ADDR: the first node of SLURM_STEP_NODELIST
# - cores: those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# (https://docs.lumi-supercomputer.eu/runjobs/scheduled-jobs/distribution-binding/, 2026-05-19)
# - GPU mask: ROCR_VISIBLE_DEVICES (https://github.com/Lumi-supercomputer/LUMI-AI-Guide (commit
# a7e3387 of 2026-05-19, 02-setting-up-environment/README.md), 2026-05-19)
# Settings of the profile that are left out, and why:
# - NCCL_NET_GDR_LEVEL, HSA_NO_SCRATCH_RECLAIM: rocm=unknown
# - FI_MR_CACHE_MONITOR, CC, CXX: container=none
# - LD_PRELOAD: container=none, mpi=none
# - MPICH_GPU_SUPPORT_ENABLED, MPICH_OFI_NIC_POLICY: mpi=none
# - OMP_NUM_THREADS: launcher=srun

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# time is granted to projects, so Slurm refuses a job without one
#SBATCH --account=project_465000001

# single GCDs; without --exclusive, CPU masks do not work
#SBATCH --partition=small-g

# 8 GPUs on each node
#SBATCH --nodes=1

# binding ranks to cores needs whole nodes; the GCDs are not in the order of the CCDs; srun accepts
# masks only if the job has all cores of the node
#SBATCH --exclusive

# GPUs requested per node stay in one device group, so they can access each other's memory
#SBATCH --gpus-per-node=8

# one task for each GPU
#SBATCH --ntasks-per-node=8

# Slurm and HIP count a GCD as a GPU; the first core of each CCD is reserved, and part of the 512
# GiB is used by the system, including /tmp; jobs can have 480 GB of a node
#SBATCH --cpus-per-task=7

# 60G for each GPU
#SBATCH --mem=480G

# the job ends at this limit; shorter jobs often start sooner
#SBATCH --time=00:15:00

# stdout and stderr, by name and number of the job
#SBATCH --output=%x-%j.out

# each start adds to the same output
#SBATCH --open-mode=append

# --- What srun must be told again ---------------------------------------------------

# srun uses the number of tasks in its environment
export SLURM_NTASKS_PER_NODE="${SLURM_NTASKS_PER_NODE:-8}"

# srun of Slurm 22.05 to 23.02 does not inherit it from the batch job
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-7}"

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_NODE_CORES='56'      # of a node, for jobs
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
ENVCFG_CLUSTERS='lumi'      # where this job may run
# the GCDs are not in the order of the CCDs; srun accepts masks only if the job has all cores of the
# node [profiles/lumi-g.yaml:77]
ENVCFG_CPU_MASKS=0x00fe000000000000,0xfe00000000000000,0x0000000000fe0000,0x00000000fe000000,0x00000000000000fe,0x000000000000fe00,0x000000fe00000000,0x0000fe0000000000
ENVCFG_CPU_MASKS_UNION=fefefefe,fefefefe # cores of all of them
ENVCFG_CPU_LISTS=49-55:57-63:17-23:25-31:1-7:9-15:33-39:41-47
# node-local, but in memory and part of the job's memory limit, so it must be cleaned
# [profiles/lumi-g.yaml:109]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_COMPONENTS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_RANKS='' ENVCFG_SUFFIX='' ENVCFG_UNBOUND=''

# Modules for the step.
envcfg_modules() {
  # contains the bindings for images that use the host's libfabric [profiles/lumi-g.yaml:208]
  envcfg_module use /appl/local/containers/ai-modules
  envcfg_module load singularity-AI-bindings # binds the file systems, libcxi and the host's libfabric [profiles/lumi-g.yaml:214]
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # bootstrap and socket traffic must use the four Slingshot interfaces; by default, the library
  # uses the management network [profiles/slingshot.yaml:87]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1,hsn2,hsn3
  # gloo reads its own variable, not NCCL's, and needs exact names, not prefixes
  # [profiles/slingshot.yaml:94]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  # rocFFT keeps a SQLite cache in the home folder (by users: https://github.com/BLAST-WarpX/warpx,
  # 2026-07-01) [profiles/slingshot-rocm.yaml:65]
  envcfg_set ROCFFT_RTC_CACHE_PATH /dev/null
  # models go to the project's scratch, as the home folder is too small [profiles/lumi-g.yaml:383]
  if [ -n "${SLURM_JOB_ACCOUNT-}" ]; then envcfg_set HF_HOME /scratch/"${SLURM_JOB_ACCOUNT}"/hf-cache; fi
  # models go to the project's scratch, as the home folder is too small [profiles/lumi-g.yaml:389]
  if [ -n "${SLURM_JOB_ACCOUNT-}" ] && [ -n "${USER-}" ]; then envcfg_set TORCH_HOME /scratch/"${SLURM_JOB_ACCOUNT}"/"${USER}"/torch_home; fi
  # vLLM's cache goes to the project's scratch; the guide has it for one node
  # [profiles/lumi-g.yaml:395]
  if [ "$ENVCFG_NODES" -eq 1 ]; then
    if [ -n "${SLURM_JOB_ACCOUNT-}" ]; then envcfg_set VLLM_CACHE_ROOT /scratch/"${SLURM_JOB_ACCOUNT}"/vllm-cache; fi
  fi
  envcfg_set NCCL_DEBUG INFO
  envcfg_set NCCL_DEBUG_SUBSYS INIT,BOOTSTRAP,ENV,NET
  envcfg_lacks NCCL_DEBUG_FILE --set PWD "${PWD+set}" BASHPID "${BASHPID+set}" || envcfg_set NCCL_DEBUG_FILE "${PWD}"/nccl-"${ENVCFG_JOB}"."${BASHPID}"/nccl-%h-%p.log
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR AITER_JIT_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  envcfg_own_masks HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
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
  # MIOpen uses SQLite databases, and their locks fail on Lustre if many ranks use them
  # [profiles/slingshot-rocm.yaml:51]
  envcfg_set MIOPEN_USER_DB_PATH "${ENVCFG_CACHE}"/miopen
  # the cache of compiled kernels; on a network file system MIOpen moves it to the shared /tmp,
  # where users conflict [profiles/slingshot-rocm.yaml:57]
  envcfg_set MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_USER_DB_PATH}"
  # AITER compiles kernels under a lock, which is unreliable on Lustre; it needs a folder for each
  # rank, with build in it [profiles/lumi-g.yaml:363]
  envcfg_set AITER_JIT_DIR "${ENVCFG_CACHE}"/aiter/"${LOCAL_RANK}"
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}" \
    MIOPEN_USER_DB_PATH "${MIOPEN_USER_DB_PATH-}" \
    MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_CUSTOM_CACHE_DIR-}" \
    AITER_JIT_DIR "${AITER_JIT_DIR:+$AITER_JIT_DIR/build}"
  # One layer of GPU masking: ROCR_VISIBLE_DEVICES.
  envcfg_number_gpus ROCR_VISIBLE_DEVICES "${ROCR_VISIBLE_DEVICES--}" \
    HIP_VISIBLE_DEVICES "${HIP_VISIBLE_DEVICES-}" \
    CUDA_VISIBLE_DEVICES "${CUDA_VISIBLE_DEVICES-}" \
    GPU_DEVICE_ORDINAL "${GPU_DEVICE_ORDINAL-}"
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
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile lumi-g --account project_465000001 --partition standard-g --nodes 1 --time 15 --partition small-g --split -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
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
