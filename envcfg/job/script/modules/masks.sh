# shellcheck shell=bash # masks 6: bind ranks to the cores next to their GPUs if the job owns all cores of the node
# ranks: cores those next to its GPU by ENVCFG_CPU_MASKS
# needs: cpu_lists; reads: ENVCFG_CPU_MASKS ENVCFG_CPU_MASKS_UNION
envcfg_has_masks() { # RANKS: whether the profile's masks suffice for so many ranks per node, and their cores are all this job's
  local envcfg_masks=${ENVCFG_CPU_MASKS//[!,]/}
  if ((${1:-0} > ${#envcfg_masks} + 1)); then
    envcfg_note "ranks are not bound to cores: $1 per node, but the profile has masks for $((${#envcfg_masks} + 1))"
    return 1
  fi
  envcfg_owns_cores && return 0
  envcfg_note 'ranks are not bound to the cores next to their GPUs: this job does not own all of these cores'
  return 1
}

envcfg_owns_cores() { # whether this job has all cores of the profile's masks
  local envcfg_key envcfg_all=''
  while IFS=$' :\t' read -r envcfg_key envcfg_all && [[ $envcfg_key != Cpus_allowed ]]; do :; done </proc/self/status
  envcfg_covers "$envcfg_all"
}

envcfg_covers() { # ALLOWED: whether these CPUs hold all masks; both in hex, in groups of 32 bits
  local envcfg_all=00000000${1//,/} envcfg_wanted=${ENVCFG_CPU_MASKS_UNION//,/} envcfg_part envcfg_i
  for ((envcfg_i = 8; envcfg_i <= ${#envcfg_wanted}; envcfg_i += 8)); do
    envcfg_part=$((16#${envcfg_wanted: -envcfg_i:8}))
    ((envcfg_i <= ${#envcfg_all} && (16#${envcfg_all: -envcfg_i:8} & envcfg_part) == envcfg_part)) || return 1
  done
}
