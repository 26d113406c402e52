# shellcheck shell=bash
# shellcheck disable=SC2154 # processes.sh and gpus.sh stand above it
# The ranks of the job on this node, and the cores next to its GPUs: what --verify asks as well.
#
#   rank RANK LOCAL STATE TICKS WORKERS TICKS CORES MASK STEP     ticks so far: its own, its workers'
#   near CORES...                                            a word for each GPU, in PCI order
envcfg_job=${SLURM_JOB_ID-}

envcfg_ranks() {
  local envcfg_pid envcfg_own envcfg_mask envcfg_step envcfg_cores
  local -A envcfg_top=() envcfg_workers=() envcfg_worked=()
  envcfg_of=() envcfg_parent=() envcfg_rank=() envcfg_ours=() envcfg_mains=()
  envcfg_find
  for envcfg_pid in "${envcfg_mains[@]}"; do envcfg_top[$envcfg_pid]=yes; done
  for envcfg_pid in "${envcfg_ours[@]}"; do envcfg_count_worker "$envcfg_pid"; done
  for envcfg_pid in "${envcfg_mains[@]}"; do
    envcfg_stat "$envcfg_pid" || continue
    envcfg_own=$((envcfg_fields[11] + envcfg_fields[12]))
    envcfg_find_cores "$envcfg_pid"
    envcfg_mask=-
    for envcfg_name in ROCR HIP CUDA; do
      ! envcfg_inherit "$envcfg_pid" "${envcfg_name}_VISIBLE_DEVICES" || envcfg_mask=$envcfg_value
      [[ $envcfg_mask == - ]] || break
    done
    envcfg_inherit "$envcfg_pid" SLURM_STEP_ID || envcfg_value=-
    envcfg_step=${envcfg_value//[!0-9-]/?}
    envcfg_inherit "$envcfg_pid" SLURM_LOCALID || envcfg_value=-
    envcfg_say rank "${envcfg_rank[$envcfg_pid]} ${envcfg_of[${envcfg_pid}_LOCAL_RANK]:-$envcfg_value}" \
      "${envcfg_fields[0]} $envcfg_own ${envcfg_workers[$envcfg_pid]:-0} ${envcfg_worked[$envcfg_pid]:-0}" \
      "${envcfg_cores:--} ${envcfg_mask//[!0-9a-zA-Z,-]/?} $envcfg_step"
  done
  envcfg_near
}

envcfg_count_worker() { # PID, if a rank has started it
  local envcfg_at=${envcfg_parent[$1]-0} envcfg_depth=0
  [[ -z ${envcfg_top[$1]-} ]] || return 0
  while [[ -z ${envcfg_top[$envcfg_at]-} ]] && ((envcfg_at > 1 && envcfg_depth++ < 64)); do
    envcfg_at=${envcfg_parent[$envcfg_at]-0}
  done
  [[ -n ${envcfg_top[$envcfg_at]-} ]] && envcfg_stat "$1" || return 0
  ((envcfg_workers[$envcfg_at] += 1, envcfg_worked[$envcfg_at] += envcfg_fields[11] + envcfg_fields[12])) || :
}

envcfg_find_cores() { # PID
  local envcfg_name envcfg_value
  envcfg_cores=
  while read -r envcfg_name envcfg_value; do
    [[ $envcfg_name != Cpus_allowed_list: ]] || envcfg_cores=$envcfg_value
  done <"/proc/$1/status"
} 2>/dev/null

envcfg_near() {
  local envcfg_path envcfg_cores
  local -a envcfg_all=()
  # Only AMD's driver has the second file.
  for envcfg_path in /proc/driver/nvidia/gpus/* /sys/bus/pci/devices/*/gpu_busy_percent; do
    [[ -e $envcfg_path ]] || continue
    envcfg_path=${envcfg_path%/gpu_busy_percent}
    envcfg_cores=
    { read -r envcfg_cores <"/sys/bus/pci/devices/${envcfg_path##*/}/local_cpulist"; } 2>/dev/null
    envcfg_all+=("${envcfg_cores:--}")
  done
  ((${#envcfg_all[@]} == 0)) || envcfg_say near "${envcfg_all[@]}"
}
