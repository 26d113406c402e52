#!/bin/bash
#SBATCH -A ABC123
#SBATCH -N 2
#SBATCH --ntasks-per-node=8

set -euo pipefail
export MIOPEN_USER_DB_PATH="/tmp/my-miopen-cache" #: EC312
export MIOPEN_CUSTOM_CACHE_DIR=${MIOPEN_USER_DB_PATH}
rm -rf ${MIOPEN_USER_DB_PATH}
mkdir -p ${MIOPEN_USER_DB_PATH}
export MASTER_ADDR=$(hostname -i)
export MASTER_PORT=3442
export FI_CXI_RDZV_PROTO=alt_read #: EC524
export FI_MR_CACHE_MONITOR=memhooks #: EC524
export NCCL_SOCKET_IFNAME=hsn0
srun -N 2 -n 16 -c 7 --gpus-per-task=1 --gpu-bind=closest python -u train.py --master_addr=$MASTER_ADDR
