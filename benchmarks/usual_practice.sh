#!/usr/bin/env bash
# What a wrapper in training material commonly does in each task, for comparison:
# a process for each thing to know, and the program as a child.
python=$1
shift
user=$(whoami)
node=$(hostname)
cores=$(taskset -p $$)
printf 'rank %s on %s: %s\n' "$SLURM_PROCID" "$node" "$cores"

MASTER_ADDR=$("$python" "${0%/*}/first_host.py" "$SLURM_STEP_NODELIST")
export MASTER_ADDR
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_STEP_NUM_TASKS

export MIOPEN_USER_DB_PATH="${HOME:?}/$user-miopen-$SLURM_NODEID"
export MIOPEN_CUSTOM_CACHE_DIR=$MIOPEN_USER_DB_PATH
mkdir -p "$MIOPEN_USER_DB_PATH"

"$@"
