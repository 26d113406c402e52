#!/bin/bash
# A job script as many are copied: it has faults that `envcfg lint` names.
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=8
#SBATCH --time=1:00:00
export MASTER_ADDR=localhost
export NCCL_SOCKET_IFNAM=hsn
export RANK=$SLURM_PROCID
srun singularity exec pytorch.sif python train.py
