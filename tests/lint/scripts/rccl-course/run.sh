#!/bin/bash
export MIOOPEN_USER_DB_PATH="/tmp/$(whoami)-miopen-cache-$(SLURM_NODEID)" #: EC104 EC207
export MIOOPEN_CUSTOM_CACHE_DIR=${MIOOPEN_USER_DB_PATH} #: EC207
export MASTER_ADDR=$(python /workdir/get-master.py "$(SLURM_NODELIST)") #: EC104
export MASTER_PORT=29500
export WORLD_SIZE=$(SLURM_NPROCS) #: EC104
export RANK=$(SLURM_PROCID) #: EC104
export HIP_VISIBLE_DEVICES=$(SLURM_LOCALID) #: EC104
exec python -u train.py
