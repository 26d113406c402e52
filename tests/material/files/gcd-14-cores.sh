#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=small-g
#SBATCH --nodes=1
#SBATCH --gpus-per-node=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=14
#SBATCH --mem=60G
#SBATCH --time=1:00:00
srun python train.py
