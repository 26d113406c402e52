#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=56
#SBATCH --gpus-per-node=8
#SBATCH --output=logs/%x-%j.out

# if run without sbatch, submit it
if [ -z "$SLURM_JOB_ID" ]; then
  mkdir -p logs
  sbatch "$0"
  exit
fi
module load LUMI/24.03
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
export NCCL_SOCKET_IFNAME=hsn
if [ "$DEBUG" = 1 ]; then
  export NCCL_DEBUG=INFO CUDA_LAUNCH_BLOCKING=1
fi
args=(--nnodes="$SLURM_JOB_NUM_NODES" --nproc_per_node=8)
args+=(--rdzv_id="$SLURM_JOB_ID" --rdzv_backend=c10d --rdzv_endpoint="$MASTER_ADDR:$MASTER_PORT")
echo "nodes: $SLURM_JOB_NODELIST, this is $(hostname)"
srun ./node.sh torchrun "${args[@]}" train.py "$@"
