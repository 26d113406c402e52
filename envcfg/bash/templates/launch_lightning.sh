# shellcheck shell=sh

# Lightning refuses a step whose tasks were asked for by --ntasks alone.
envcfg_set SLURM_NTASKS_PER_NODE "$LOCAL_WORLD_SIZE"
