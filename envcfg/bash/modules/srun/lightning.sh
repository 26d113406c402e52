# shellcheck shell=bash
# envcfg module srun/lightning 1
# Lightning refuses a step of srun whose tasks were asked for by --ntasks alone.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
envcfg_in_set SLURM_NTASKS_PER_NODE "$LOCAL_WORLD_SIZE"
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART
