#!/bin/bash
#SBATCH --account=project_123456
#SBATCH --partition=small-g
#SBATCH --nodes=1
#SBATCH --gpus-per-node=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=14
#SBATCH --mem=120G
#SBATCH --time=1:00:00

srun singularity exec $CONTAINER torchrun --standalone --nnodes=1 --nproc-per-node=${SLURM_GPUS_PER_NODE} train.py
