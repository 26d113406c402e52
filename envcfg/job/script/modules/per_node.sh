# shellcheck shell=bash # per_node 2: the number of ranks per node if the scheduler does not report it
# reads: ENVCFG_GPUS ENVCFG_RANKS
envcfg_per_node() { # set envcfg_ranks: how many on each node, where the scheduler does not tell
  envcfg_ranks=${ENVCFG_RANKS:-$ENVCFG_GPUS}
  if [[ -n $envcfg_ranks ]]; then return; fi
  envcfg_error 'how many ranks per node? the profile has no GPUs' 'give --ranks N'
  return 2
}
