# shellcheck shell=bash # masks 4: bind ranks to the cores next to their GPUs if the job owns all cores of the node
envcfg_may_pin() { # whether the cores of all masks are this job's
  local envcfg_key envcfg_all=''
  while IFS=$' :\t' read -r envcfg_key envcfg_all && [[ $envcfg_key != Cpus_allowed ]]; do :; done </proc/self/status
  envcfg_covers "$envcfg_all" && return 0
  envcfg_note 'ranks are not bound to the cores next to their GPUs: this job does not own all of these cores'
  return 1
}

envcfg_covers() { # ALLOWED: whether these CPUs hold all masks; both in hex, in groups of 32 bits
  local envcfg_all=00000000${1//,/} envcfg_wanted=${ENVCFG_CPU_MASKS_UNION//,/} envcfg_part envcfg_i
  for ((envcfg_i = 8; envcfg_i <= ${#envcfg_wanted}; envcfg_i += 8)); do
    envcfg_part=$((16#${envcfg_wanted: -envcfg_i:8}))
    ((envcfg_i <= ${#envcfg_all} && (16#${envcfg_all: -envcfg_i:8} & envcfg_part) == envcfg_part)) || return 1
  done
}
