#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile mahti (sha256 HASH)
# kind of node: a100 (the default)
# made by: envcfg sbatch --profile mahti --account project_2001234 --partition gpumedium --nodes 1 --time 15 --requeue=2 --signal USR2@300 --array 0-9%2 --set 'WORDS=a '"'"'b'"'"' ${RANK}' --unset NCCL_DEBUG --split -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Source and date of each value: envcfg profiles show mahti/a100
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" /bin/sh -c \
#     "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'
# Each rank has:
# - RANK: SLURM_PROCID
# - LOCAL_RANK: SLURM_LOCALID
# - WORLD_SIZE: SLURM_STEP_NUM_TASKS
# - MASTER_ADDR: the first node of SLURM_STEP_NODELIST
# - cores: those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# - GPU mask: CUDA_VISIBLE_DEVICES (https://github.com/SchedMD/slurm (commit 284c3b9 of 2026-08-20,
# doc/html/gres.shtml), 2026-08-20)

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# without a project to bill, Slurm refuses the job with a message about limits
#SBATCH --account=project_2001234

# for more than the two GPUs of gpusmall
#SBATCH --partition=gpumedium

# 4 GPUs on each node
#SBATCH --nodes=1

# the type is part of the request, as slices of GPUs had another
#SBATCH --gres=gpu:a100:4

# one task for each GPU
#SBATCH --ntasks-per-node=4

# a quarter of 128 cores, the most that CSC allows with a GPU; a job gets 122.5 GiB with each GPU
# where it asks for no memory, and no node gives more than 490 GiB
#SBATCH --cpus-per-task=32

# 125440M for each GPU
#SBATCH --mem=490G

# the job ends at this limit; shorter jobs often start sooner
#SBATCH --time=00:15:00

# given for this job
#SBATCH --array=0-9%2

# stdout and stderr, by job and number
#SBATCH --output=%x-%A_%a.out

# so long before the end, to this script, which hands it on: save and stop
#SBATCH --signal=B:USR2@300

# the job may start again, as at the end below
#SBATCH --requeue

# each start adds to the same output
#SBATCH --open-mode=append

# --- What srun must be told again ---------------------------------------------------

# srun of Slurm 22.05 to 23.02 does not inherit it from sbatch, and gives each task one core
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-32}"

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_NODE_CORES='128'     # of a node, for jobs
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
ENVCFG_CLUSTERS='mahti'     # where this job may run
# node-local on nearly all clusters, and the runtimes show it to the container by themselves
# [profiles/infiniband-cuda.yaml:70]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_COMPONENTS='' ENVCFG_CPU_LISTS='' ENVCFG_CPU_MASKS='' ENVCFG_CPU_MASKS_UNION='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_NODES_STATED='' ENVCFG_RANKS='' ENVCFG_SUFFIX='' ENVCFG_UNBOUND=''

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  envcfg_force -u NCCL_DEBUG 'your options'
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
  envcfg_force WORDS 'a '"'"'b'"'"' '"${RANK}"
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
ENVCFG_AGAIN='by the command in the line '"'"'made by'"'"' of /home/me/job.sh'
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

envcfg_begin "$@"

# --- Run it; where the end is near, save and go on in another start -----------------

envcfg_next() { # OPTION...: what check-log advises by the job's own output, whatever its name; empty if it cannot be asked
  if [[ -f /proc/$$/fd/1 ]] && command -v envcfg >/dev/null; then
    envcfg check-log --next --unknown restart "$@" "/proc/$$/fd/1" 2>/dev/null || :
  fi
}

envcfg_job() { # SIGNAL START...: start the step; the scheduler's warning goes to every rank
  local envcfg_code=0 envcfg_said=''
  "${@:2}" || envcfg_code=$?
  if [[ " ${ENVCFG_CAUGHT-}" != *" $1 "* ]]; then return "$envcfg_code"; fi
  if ((envcfg_code != 0)); then
    printf 'envcfg: error: warned by %s, the program ended with %s: no other start\n' "$1" "$envcfg_code" >&2
    printf '  hint: it must catch the signal, save, and exit with 0\n' >&2
    return "$envcfg_code"
  fi
  printf 'envcfg: note: warned by %s, the program has stopped\n' "$1" >&2
  envcfg_said=$(envcfg_next --no-default all)
  if [[ $envcfg_said =~ ^fix\ first:\  ]]; then # such as the limit twice at the same step
    printf 'envcfg: error: no other start: %s\n' "$envcfg_said" >&2
    return 1
  fi
  printf 'envcfg: note: the job starts again\n' >&2
  if [[ $(trap -p EXIT) == *envcfg_end* ]]; then
    trap - EXIT # it would do the same, while the scheduler ends this start
    envcfg_end
  fi
  scontrol requeue "$SLURM_JOB_ID"
}

# --- If the step fails, start again, unless check-log knows that this does not help ---

envcfg_restart() { # MOST LIST START...: run START; if it fails, the job starts again, MOST times at most, without LIST
  local envcfg_code=0 envcfg_said='' envcfg_nodes='' envcfg_try=${SLURM_RESTART_COUNT-}
  "${@:3}" || envcfg_code=$?
  # A signal is the scheduler's, or of whoever cancels the job.
  if ((envcfg_code == 0)) || [[ -n ${ENVCFG_CAUGHT-} ]]; then return "$envcfg_code"; fi
  if [[ $envcfg_try =~ ^[0-9]{1,9}$ ]] && ((10#$envcfg_try >= $1)); then
    printf 'envcfg: error: the step ended with %s, and the job has started again %s times: no other start\n' \
      "$envcfg_code" "$envcfg_try" >&2
    return "$envcfg_code"
  fi
  # --requeue=N requests a restart if the cause is unknown.
  envcfg_said=$(envcfg_next --no-default all ${2:+--exclude-from "$2"})
  if [[ $envcfg_said =~ ^(done|fix\ first|wait):\  ]]; then
    printf 'envcfg: error: no other start: %s\n' "$envcfg_said" >&2
    return "$envcfg_code"
  fi
  if [[ $envcfg_said =~ ^restart\ without\ ([A-Za-z0-9][][A-Za-z0-9_.,-]*):\  ]]; then envcfg_nodes=${BASH_REMATCH[1]}; fi
  printf 'envcfg: note: the step ended with %s; the job starts again%s\n' \
    "$envcfg_code" "${envcfg_nodes:+ without $envcfg_nodes}" >&2
  if [[ $(trap -p EXIT) == *envcfg_end* ]]; then
    trap - EXIT # it would do the same, while the scheduler ends this start
    envcfg_end
  fi
  if [[ -z $envcfg_nodes ]]; then
    scontrol requeue "$SLURM_JOB_ID"
    return
  fi
  trap : TERM # by which the scheduler ends this start; only a job that waits takes other nodes
  envcfg_said=$(scontrol show job "$SLURM_JOB_ID") || :
  if [[ $envcfg_said =~ ExcNodeList=([^[:space:]\(]+) ]]; then envcfg_nodes=${BASH_REMATCH[1]},$envcfg_nodes; fi
  scontrol requeue "$SLURM_JOB_ID" || return
  for ((envcfg_try = 0; envcfg_try < 8; envcfg_try++)); do
    if scontrol update JobId="$SLURM_JOB_ID" ExcNodeList="$envcfg_nodes" 2>/dev/null; then return "$envcfg_code"; fi
    sleep 0.5
  done
  printf 'envcfg: warning: the scheduler did not take that %s be left out\n' "$envcfg_nodes" >&2
  return "$envcfg_code"
}

envcfg_restart 2 '' envcfg_job USR2 envcfg_run python3 dump.py out 'a b'
