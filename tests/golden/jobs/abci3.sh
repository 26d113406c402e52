#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034 # as meant
# envcfg 0.1.0, profile abci3 (sha256 HASH)
# made by: envcfg sbatch --profile abci3 --partition rt_HF --request-arg=-P=gaa50000 --nodes 2 --time 15 --container none -- python3 dump.py out 'a b'
# Submit it by: qsub FILE
# Who says so, and since when: envcfg profiles show abci3

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#PBS -N dump

# whole nodes
#PBS -q rt_HF

# 8 GPUs on each node
#PBS -l select=2
#PBS -l place=scatter

# the job is ended after it; the shorter, the sooner
#PBS -l walltime=00:15:00

# stdout and stderr, by name and number of the job
#PBS -j oe

# the group that pays, by PBS' option for projects
#PBS -P gaa50000

# --- guard 1 (sha256 HASH) ----------------------------------------------
# Only bash will do, from 4.4 on.

case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac

cd "${PBS_O_WORKDIR:-.}" || exit # PBS starts a job in the home folder

# --- The step -----------------------------------------------------------------------

if ! command -v envcfg >/dev/null; then
  printf 'envcfg: error: envcfg is not on PATH in the job\n' >&2
  printf '  hint: put it there, or make this script with --inline\n' >&2
  exit 127
fi
# shellcheck disable=SC1090 # envcfg writes it
source <(envcfg wrap --no-default all --profile abci3 --container none --verify -- python3 dump.py out 'a b' || echo exit $?)
