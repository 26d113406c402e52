#!/bin/bash
#SBATCH --account=project_465000001
#SBATCH --partition=standard-g
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=7
#SBATCH --time=1:00:00
cat >profile.sh <<'END'
#!/bin/bash
if [ "$SLURM_PROCID" -eq 2 ]; then
  exec rocprof --hip-trace --stats -o "myprofile-$SLURM_PROCID.csv" "$@"
fi
exec "$@"
END
chmod +x profile.sh
srun --cpus-per-task=7 ./profile.sh ./myapp
