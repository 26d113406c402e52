#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
nodes=(node1 node2)
head=${nodes[0]}
for ((i = 0; i < SLURM_NNODES; i++)); do
  node=${nodes[$i]}
  if [[ $i -eq 0 ]]; then
    role=(--head --node-ip-address="$head")
  else
    role=(--address "$head:7639")
  fi
  srun --nodes=1 --ntasks=1 -w "$node" singularity exec --nv -B "$PWD:/w" x.sif \
    python -m cluster "${role[@]}" --index "$i"
done
for node in "${nodes[@]}"; do
  export NODE_RANK=$((rank++)) RANK=7 WORLD_SIZE=9
  srun -N1 -n1 --nodelist="$node" python worker.py --node "$node" &
  wait
done
srun -N1 -n1 -w "$head" python train.py --strategy ddp
