# shellcheck shell=bash
# envcfg module srun/whole 1
# One task of srun per node, which has all of it.

envcfg_launch() { # COMMAND...: one task per node, which has all of it
  envcfg_alone
  envcfg_srun "$@"
}

ENVCFG_RANK+=$'envcfg_inside\n'
