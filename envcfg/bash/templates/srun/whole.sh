# shellcheck shell=bash

envcfg_launch() { # COMMAND...: one task per node, which has all of it
  envcfg_alone
  envcfg_srun "$@"
}
