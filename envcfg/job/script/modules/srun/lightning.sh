# shellcheck shell=bash # srun/lightning 2: Slurm: a variable that Lightning needs in each step
# sets: SLURM_NTASKS_PER_NODE
envcfg_in_rank <<'ENVCFG_TEXT'
envcfg_set SLURM_NTASKS_PER_NODE "$LOCAL_WORLD_SIZE"
ENVCFG_TEXT
