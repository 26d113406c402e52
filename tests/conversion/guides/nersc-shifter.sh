#!/bin/bash
#SBATCH --image=docker:me/pytorch:24.06.01
#SBATCH --module=gpu,nccl-plugin
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2
export MASTER_ADDR=$(echo "$SLURM_JOB_NODELIST" | cut -d, -f1)
export MASTER_PORT=29507
args="--epochs 2 --name ${SLURM_JOB_NAME}"
set -x
srun -l -u shifter bash -c "
    export LOCAL=\$SLURM_LOCALID
    python train.py ${args}
"
