#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=standard-g
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=7
#SBATCH --time=1:00:00
export MASTER_PORT=29500
srun singularity exec pytorch.sif bash -c \
  'export MASTER_ADDR=$(hostname) RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS; python train.py'
