#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034 # as meant
# envcfg 0.1.0, profile oci-gb200 (sha256 HASH)
# made by: envcfg sbatch --profile oci-gb200 --nodes 2 --time 15 --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Who says so, and since when: envcfg profiles show oci-gb200

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# 4 GPUs on each node
#SBATCH --nodes=2

# in all of Oracle's scripts; Slurm does not divide the adapters of a node between jobs
#SBATCH --exclusive

# as Oracle's script asks for them
#SBATCH --gpus-per-node=4

# one task for each GPU
#SBATCH --ntasks-per-node=4

# the job is ended after it; the shorter, the sooner
#SBATCH --time=00:15:00

# stdout and stderr, by name and number of the job
#SBATCH --output=%x-%j.out

# --- guard 1 (sha256 HASH) ----------------------------------------------
# Only bash will do, from 4.4 on.

case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac

# --- The step -----------------------------------------------------------------------

if ! command -v envcfg >/dev/null; then
  printf 'envcfg: error: envcfg is not on PATH in the job\n' >&2
  printf '  hint: put it there, or make this script with --inline\n' >&2
  exit 127
fi
# shellcheck disable=SC1090 # envcfg writes it
source <(envcfg wrap --no-default all --profile oci-gb200 --container none --verify -- python3 dump.py out 'a b' || echo exit $?)
