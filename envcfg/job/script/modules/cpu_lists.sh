# shellcheck shell=bash # cpu_lists 2: read lists of CPUs, and give OpenMP one thread for each core of a rank
# reads: ENVCFG_CPU_LISTS ENVCFG_CPU_MASKS ENVCFG_CPU_MASKS_UNION
envcfg_numbers() { # LIST: set envcfg_cpus to the CPUs of a list of the kernel: "0-3,64"
  local envcfg_part envcfg_i
  local -a envcfg_parts
  envcfg_cpus=()
  IFS=, read -r -a envcfg_parts <<<"$1"
  for envcfg_part in "${envcfg_parts[@]}"; do
    if [[ ! $envcfg_part =~ ^([0-9]{1,4})(-([0-9]{1,4}))?$ ]]; then return 1; fi
    for ((envcfg_i = 10#${BASH_REMATCH[1]}; envcfg_i <= 10#${BASH_REMATCH[3]:-${BASH_REMATCH[1]}}; envcfg_i++)); do
      envcfg_cpus+=("$envcfg_i")
    done
  done
}

envcfg_line() { # FILE: set envcfg_text to its first line; fail if it cannot be read
  envcfg_text=''
  { read -r envcfg_text <"$1"; } 2>/dev/null || [[ -n $envcfg_text ]]
}

envcfg_may_pin() { # RANKS: whether so many ranks per node can be bound, by the profile's masks or the node's shares
  if [[ -n $ENVCFG_CPU_MASKS && -n $ENVCFG_CPU_MASKS_UNION ]]; then
    envcfg_has_masks "$1"
  else
    envcfg_has_shares "$1"
  fi
}

envcfg_set_threads() { # set OMP_NUM_THREADS to the cores of the first rank, unless the user or a setting does
  local envcfg_cpu envcfg_text
  local -a envcfg_cpus=()
  local -A envcfg_cores=()
  if [[ -n ${OMP_NUM_THREADS+set} || " ${ENVCFG_ARGS[*]} " == *' OMP_NUM_THREADS'[=\ ]* ]]; then return; fi
  envcfg_numbers "${ENVCFG_CPU_LISTS%%:*}" || return 0
  for envcfg_cpu in "${envcfg_cpus[@]}"; do # the threads of a core have the same list
    envcfg_line "/sys/devices/system/cpu/cpu$envcfg_cpu/topology/thread_siblings_list" || return 0
    envcfg_cores[$envcfg_text]=yes
  done
  if ((${#envcfg_cores[@]} > 0)); then ENVCFG_ARGS+=("OMP_NUM_THREADS=${#envcfg_cores[@]}"); fi
}
