#!/bin/sh
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2
SIF=$PWD/x.sif
export SINGULARITYENV_PREPEND_PATH=/user-software/bin
export SINGULARITY_BIND=/usr,/etc
export MASTER_PORT=1234$(echo "$SLURM_JOB_ID" | cut -c1)
c="fe"
binding="mask_cpu:0x${c}000000000000,0x${c}00000000000000"
time srun -N "$SLURM_JOB_NUM_NODES" --cpu-bind="$binding" singularity run "$SIF" python train.py \
  --job "$SLURM_JOB_ID" '$HOME' "a b"
singularity run "$SIF" --summary "$1"
