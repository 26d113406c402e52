# shellcheck shell=bash

envcfg_smoke() { # count the GPUs that answer on each node; a node that lacks one ends the step
  local envcfg_wanted
  envcfg_wanted=$(envcfg_gpus)
  envcfg_wanted=${envcfg_wanted:-${ENVCFG_GPUS:-$ENVCFG_RANKS}}
  if [[ -z $envcfg_wanted || $envcfg_wanted == 0 ]]; then
    envcfg_error 'how many GPUs should each node have? neither the job nor the profile says' \
      'ask for GPUs, or leave out --smoke-test'
    return 4
  fi
  envcfg_host bash -c "$ENVCFG_SMOKE" envcfg-smoke "$envcfg_wanted" && return
  envcfg_error 'the smoke test has failed, and no rank was started' \
    'start again without the nodes that are named above: sbatch --exclude=NODE'
  return 4
}
