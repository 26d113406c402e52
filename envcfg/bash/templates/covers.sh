# shellcheck shell=bash

envcfg_owns_masks() { # whether the job has the cores of all masks: it owns the node
  local envcfg_key envcfg_value envcfg_allowed=''
  while IFS=$': \t' read -r envcfg_key envcfg_value; do
    if [[ $envcfg_key == Cpus_allowed ]]; then envcfg_allowed=$envcfg_value; fi
  done </proc/self/status
  envcfg_covers "$envcfg_allowed"
}

envcfg_covers() { # ALLOWED: whether these CPUs hold all masks; groups of 32 bits, in hex
  local -a envcfg_need envcfg_allowed
  local envcfg_i envcfg_group
  IFS=, read -r -a envcfg_need <<<"$ENVCFG_MASKS_UNION"
  IFS=, read -r -a envcfg_allowed <<<"$1"
  for ((envcfg_i = 1; envcfg_i <= ${#envcfg_need[@]}; envcfg_i++)); do
    envcfg_group=0
    if ((envcfg_i <= ${#envcfg_allowed[@]})); then envcfg_group=${envcfg_allowed[-envcfg_i]}; fi
    if (((16#$envcfg_group & 16#${envcfg_need[-envcfg_i]}) != 16#${envcfg_need[-envcfg_i]})); then return 1; fi
  done
}
