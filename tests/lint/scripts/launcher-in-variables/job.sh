#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1          # one for each node
#SBATCH --cpus-per-task=96
#SBATCH --gres=gpu:8

GPUS_PER_NODE=8
NNODES=$SLURM_NNODES
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
MASTER_PORT=6000
LAUNCHER="python -u -m accelerate.commands.launch \
    --num_processes $((NNODES * GPUS_PER_NODE)) --num_machines $NNODES \
    --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT \
    --tee 3"
LAUNCHER+=" --machine_rank $SLURM_PROCID" #: EC101
PROGRAM="train.py"
CMD="$LAUNCHER $PROGRAM"
SRUN_ARGS="--wait=60 --kill-on-bad-exit=1"
srun $SRUN_ARGS bash -c "$CMD" 2>&1 | tee main.log #: EC734
echo "END TIME: $(date)"
