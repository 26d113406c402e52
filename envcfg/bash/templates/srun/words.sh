# shellcheck shell=sh
# In what srun's tasks and hosts differ from those of others: blocks for their templates.

# envcfg:begin host
envcfg_host=${SLURMD_NODENAME:-local}
# envcfg:end host
# envcfg:begin gpus
envcfg_own=${SLURM_GPUS_PER_TASK-} # as the job gives them
# envcfg:end gpus
# envcfg:begin lightning
# Lightning refuses a step whose tasks were asked for by --ntasks alone.
envcfg_in_set SLURM_NTASKS_PER_NODE "$LOCAL_WORLD_SIZE"
# envcfg:end lightning
