#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=small-g
#SBATCH --nodes=1 --gpus-per-node=1 --ntasks=1 --cpus-per-task=28 --time=1:00:00 --mem=60G
srun python train.py
