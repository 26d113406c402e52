#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=standard-g
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=7
#SBATCH --time=1:00:00
cat >start.sh <<'END'
#!/bin/bash -e
if [ $SLURM_LOCALID -eq 0 ]; then
  rocm-smi
fi
export MIOOPEN_USER_DB_PATH="/tmp/$(whoami)-miopen-cache-$(SLURM_NODEID)"
export MIOOPEN_CUSTOM_CACHE_DIR=${MIOOPEN_USER_DB_PATH}
echo "Rank $SLURM_PROCID --> $(taskset -p $SLURM_PROCID)"
$WITH_CONDA
export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3
export NCCL_NET_GDR_LEVEL=PHB
export MASTER_ADDR=$(python /workdir/get-master.py "$(SLURM_NODELIST)")
export MASTER_PORT=29500
export WORLD_SIZE=$(SLURM_NPROCS)
export RANK=$(SLURM_PROCID)
export HIP_VISIBLE_DEVICES=$(SLURM_LOCALID)
python -u ./myapp
END
chmod +x start.sh
srun singularity exec pytorch.sif ./start.sh
