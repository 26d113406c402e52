#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=standard-g
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=1:00:00
#SBATCH --output=train-$MODEL.out
srun --ntasks-per-node=8 --cpus-per-task=7 python train.py
