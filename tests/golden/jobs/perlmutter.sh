#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034 # as meant
# envcfg 0.1.0, profile perlmutter (sha256 HASH)
# made by: envcfg sbatch --profile perlmutter --account m1234_g --constraint gpu --nodes 2 --time 15 --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Who says so, and since when: envcfg profiles show perlmutter

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# hours on GPU nodes are booked to a project's second account, with this ending
#SBATCH --account=m1234_g

# whole nodes, as many as there are
#SBATCH --qos=regular

# it chooses GPU nodes; gpu&hbm80g those with 80 GB per GPU
#SBATCH --constraint=gpu

# 4 GPUs on each node
#SBATCH --nodes=2

# binding ranks to cores needs whole nodes; GPUs are numbered against the order of the
# cores that they hang on
#SBATCH --exclusive

# GPUs that are asked for by node stay in one group of devices, so that those of a node
# reach each other's memory
#SBATCH --gpus-per-node=4

# one task for each GPU
#SBATCH --ntasks-per-node=4

# Slurm counts the 128 hardware threads of the 64 cores
#SBATCH --cpus-per-task=32

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

# --- What srun must be told again ---------------------------------------------------

# srun of Slurm 22.05 to 23.02 does not take it over from the batch job
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-32}"

# --- The step -----------------------------------------------------------------------

if ! command -v envcfg >/dev/null; then
  printf 'envcfg: error: envcfg is not on PATH in the job\n' >&2
  printf '  hint: put it there, or make this script with --inline\n' >&2
  exit 127
fi
# shellcheck disable=SC1090 # envcfg writes it
source <(envcfg wrap --no-default all --profile perlmutter --container none --verify -- python3 dump.py out 'a b' || echo exit $?)
