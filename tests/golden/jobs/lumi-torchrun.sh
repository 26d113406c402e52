#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034 # as meant
# envcfg 0.1.0, profile lumi-g (sha256 HASH)
# made by: envcfg sbatch --profile lumi-g --account project_465000001 --partition standard-g --nodes 2 --time 15 --launcher torchrun --container none -- python3 dump.py out 'a b'
# Submit it by: sbatch FILE
# Who says so, and since when: envcfg profiles show lumi-g

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#SBATCH --job-name=dump

# time is granted to projects, so Slurm takes no job without one
#SBATCH --account=project_465000001

# whole nodes, which the CPU masks need
#SBATCH --partition=standard-g

# 8 GPUs on each node
#SBATCH --nodes=2

# GPUs that are asked for by node stay in one group of devices, so that those of a node
# reach each other's memory
#SBATCH --gpus-per-node=8

# one task, in which torchrun starts the ranks
#SBATCH --ntasks-per-node=1

# a GCD is a GPU to Slurm and HIP; of 64 cores the first of each CCD is reserved, and of
# 512 GiB some is the system's, /tmp included
#SBATCH --cpus-per-task=56

# 60G for each GPU
#SBATCH --mem=480G

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

# srun goes by the number of tasks that it finds in the environment
export SLURM_NTASKS_PER_NODE="${SLURM_NTASKS_PER_NODE:-1}"

# srun of Slurm 22.05 to 23.02 does not take it over from the batch job
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-56}"

# --- The step -----------------------------------------------------------------------

if ! command -v envcfg >/dev/null; then
  printf 'envcfg: error: envcfg is not on PATH in the job\n' >&2
  printf '  hint: put it there, or make this script with --inline\n' >&2
  exit 127
fi
# shellcheck disable=SC1090 # envcfg writes it
source <(envcfg wrap --no-default all --profile lumi-g --container none --launcher torchrun --verify -- python3 dump.py out 'a b' || echo exit $?)
