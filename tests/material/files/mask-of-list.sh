#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=standard-g
#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=8
#SBATCH --time=1:00:00 --mem=480G
GPUS=(4 5 2 3 6 7 0 1)
export HIP_VISIBLE_DEVICES=${GPUS[$SLURM_LOCALID]}
srun python train.py
