#!/bin/bash
#SBATCH --partition=standard-g --nodes=1 --ntasks=1 --gpus-per-node=8 --account=project_465000000
torchrun --standalone --nproc_per_node=8 train.py
