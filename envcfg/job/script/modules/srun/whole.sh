# shellcheck shell=bash # srun/whole 2: Slurm: one task per node, with all of the node
# needs: srun/alone
envcfg_launch() { # COMMAND...
  envcfg_alone
  envcfg_srun "$@"
}

ENVCFG_RANK+=$(\builtin declare -f envcfg_rank_settings)$'\nenvcfg_rank_settings\n'
