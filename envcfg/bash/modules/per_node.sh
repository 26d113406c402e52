# shellcheck shell=bash
# envcfg module per_node 1
# How many ranks a node has, where the scheduler does not tell.

envcfg_per_node() { # set envcfg_ranks: how many on each node, where the scheduler does not tell
  envcfg_ranks=${ENVCFG_RANKS:-$ENVCFG_GPUS}
  if [[ -n $envcfg_ranks ]]; then return; fi
  envcfg_error 'how many ranks per node? the profile has no GPUs' 'give --ranks N'
  return 2
}
