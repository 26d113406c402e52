#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=standard-g
#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=8
#SBATCH --time=1:00:00 --mem=480G
srun --export=ALL,HIP_VISIBLE_DEVICES=0 python train.py
