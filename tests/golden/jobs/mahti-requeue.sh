#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034 # as meant
# envcfg 0.1.0, profile mahti (sha256 HASH)
# made by: envcfg sbatch --profile mahti --account project_2001234 --partition gpumedium --nodes 1 --time 15 --requeue=2 --signal USR2@300 --array 0-9%2 --set 'WORDS=a '"'"'b'"'"' ${RANK}' --unset NCCL_DEBUG --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Who says so, and since when: envcfg profiles show mahti

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

# a quarter of 128 cores, the most that CSC allows with a GPU; a job gets 122.5 GiB with
# each GPU where it asks for no memory, and no node gives more than 490 GiB
#SBATCH --cpus-per-task=32

# 125440M for each GPU
#SBATCH --mem=490G

# the job is ended after it; the shorter, the sooner
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

# --- guard 1 (sha256 HASH) ----------------------------------------------
# Only bash will do, from 4.4 on.

case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac

# --- What srun must be told again ---------------------------------------------------

# srun of Slurm 22.05 to 23.02 does not take it over from sbatch, and gives each task
# one core
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-32}"

# --- The step -----------------------------------------------------------------------

if ! command -v envcfg >/dev/null; then
  printf 'envcfg: error: envcfg is not on PATH in the job\n' >&2
  printf '  hint: put it there, or make this script with --inline\n' >&2
  exit 127
fi
envcfg_start() {
  # shellcheck disable=SC1090 # envcfg writes it
  source <(envcfg wrap --no-default all --profile mahti --container none '--set=WORDS=a '"'"'b'"'"' ${RANK}' --unset=NCCL_DEBUG --verify -- python3 dump.py out 'a b' || echo exit $?)
}

# --- Run it; where the end is near, save and go on in another start -----------------

envcfg_job() { # SIGNAL START...: start the step; the scheduler's warning goes to every rank
  local envcfg_code=0
  "${@:2}" || envcfg_code=$?
  if [[ " ${ENVCFG_CAUGHT-}" != *" $1 "* ]]; then return "$envcfg_code"; fi
  if ((envcfg_code != 0)); then
    printf 'envcfg: error: warned by %s, the program ended with %s: no other start\n' "$1" "$envcfg_code" >&2
    printf '  hint: it must catch the signal, save, and exit with 0\n' >&2
    return "$envcfg_code"
  fi
  printf 'envcfg: note: warned by %s, the program has stopped; the job starts again\n' "$1" >&2
  if [[ $(trap -p EXIT) == *envcfg_end* ]]; then
    trap - EXIT # it would do the same, while the scheduler ends this start
    envcfg_end
  fi
  scontrol requeue "$SLURM_JOB_ID"
}

# --- Where the step fails, start again; not where two starts end by one exception ---

envcfg_restart() { # MOST START...: run START; where it fails there are MOST more starts of the job at most
  local envcfg_code=0 envcfg_said='' envcfg_nodes='' envcfg_try=${SLURM_RESTART_COUNT-}
  "${@:2}" || envcfg_code=$?
  # A signal is the scheduler's, or of whoever cancels the job.
  if ((envcfg_code == 0)) || [[ -n ${ENVCFG_CAUGHT-} ]]; then return "$envcfg_code"; fi
  if [[ $envcfg_try =~ ^[0-9]{1,9}$ ]] && ((10#$envcfg_try >= $1)); then
    printf 'envcfg: error: the step ended with %s, and the job has started again %s times: no other start\n' \
      "$envcfg_code" "$envcfg_try" >&2
    return "$envcfg_code"
  fi
  # The job's own output, whatever its name; the exit code is that of the verdict.
  if [[ -f /proc/$$/fd/1 ]] && command -v envcfg >/dev/null; then
    envcfg_said=$(envcfg check-log --no-default all --next "/proc/$$/fd/1" 2>/dev/null) || :
  fi
  if [[ $envcfg_said == 'stop: '* ]]; then
    printf 'envcfg: error: no other start: %s\n' "${envcfg_said#stop: }" >&2
    return "$envcfg_code"
  fi
  if [[ $envcfg_said =~ ^restart\ without\ ([A-Za-z0-9][A-Za-z0-9.,-]*):\  ]]; then envcfg_nodes=${BASH_REMATCH[1]}; fi
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

envcfg_restart 2 envcfg_job USR2 envcfg_start
