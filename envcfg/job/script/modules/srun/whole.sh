# shellcheck shell=bash # srun/whole 3: Slurm: one task per node, with all of the node
# ranks: cores all of its task
# needs: srun/alone; reads: ENVCFG_CPU_MASKS
envcfg_launch() { # COMMAND...
  envcfg_alone
  if [[ -n $ENVCFG_CPU_MASKS && -z ${SLURM_CPU_BIND-} && " ${ENVCFG_SRUN[*]}" != *' --cpu-bind'* ]]; then envcfg_tell_cores; fi
  envcfg_srun "$@"
}

ENVCFG_RANK+=$(\builtin declare -f envcfg_rank_settings)$'\nenvcfg_rank_settings\n'
