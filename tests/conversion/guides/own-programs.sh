#!/bin/sh
# --line 8 --line 9 --line 10 --line 11 --line 12 --line 15
#SBATCH --nodes=1
#SBATCH --gpus-per-node=2
set -e
export OMP_NUM_THREADS=7
DATA=$PWD/data
cd "$PWD" && python train.py --data "$DATA" "$@"
time python train.py '$DATA' "a b" >out.txt
numactl --cpunodebind=0 python train.py --part 0 | cat
A=1 timeout 50 python train.py <<<"text of $OMP_NUM_THREADS"
python3 -u train.py || echo failed
python -c 'print(1)'
for seed in 1 2; do
  python train.py --seed "$seed" &
  wait
done
echo "code $?"
