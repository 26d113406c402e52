# shellcheck shell=bash # srun/cores 4: Slurm: bind ranks to cores next to their GPUs, by the files of the job's first node
# ranks: cores those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# needs: cpu_lists; adds: SHAPE=envcfg_find_cores; reads: ENVCFG_CPU_LISTS ENVCFG_CPU_MASKS ENVCFG_CPU_MASKS_UNION ENVCFG_NODE_CORES ENVCFG_UNBOUND
# Used if the profile has no masks, or the job does not own all of their cores. What the kernel shows of this node is
# right for the job if it has one node, or whole nodes. No program is started. Whatever is not certain leaves the ranks
# unbound.
envcfg_find_cores() { # set ENVCFG_CPU_MASKS and ENVCFG_CPU_LISTS: the cores for each GPU, in the order of the GPUs
  if [[ -n $ENVCFG_CPU_MASKS_UNION ]] && { [[ -z ${SLURMD_NODENAME-} ]] || envcfg_owns_cores; }; then return; fi
  ENVCFG_CPU_MASKS='' ENVCFG_CPU_LISTS='' ENVCFG_UNBOUND=''
  if [[ -z ${SLURMD_NODENAME-} ]]; then return; fi # this is not a node of the job
  if envcfg_near_cores ''; then
    ENVCFG_CPU_MASKS_UNION='' # the cores of this job's own GPUs replace the profile's masks
  else
    ENVCFG_CPU_MASKS=''
    if [[ -z $ENVCFG_UNBOUND && -n $ENVCFG_CPU_MASKS_UNION ]]; then ENVCFG_UNBOUND='this job does not own all of these cores'; fi
  fi
}

envcfg_has_shares() { # RANKS: whether the node's shares suit so many ranks per node; a note says why not
  local envcfg_name envcfg_masks=${ENVCFG_CPU_MASKS//[!,]/}
  for envcfg_name in SLURM_GPUS_PER_TASK SLURM_TRES_PER_TASK SLURM_NTASKS_PER_GPU SLURM_GPU_BIND SLURM_TRES_BIND; do
    # Slurm 23.11 and newer sets SLURM_TRES_PER_TASK for cores alone, too.
    if [[ -n ${!envcfg_name-} && $envcfg_name=${!envcfg_name} != SLURM_TRES_PER_TASK=!(*gpu*) ]]; then
      ENVCFG_UNBOUND="$envcfg_name gives each rank its own GPUs"
    fi
  done
  if [[ -z $ENVCFG_CPU_MASKS ]]; then
    : # the reason is known
  elif [[ " ${ENVCFG_SRUN[*]}" == *' --'@(gpus-per-task|tres-per-task|ntasks-per-gpu|gpu-bind|tres-bind)* ]]; then
    ENVCFG_UNBOUND='an option of srun gives each rank its own GPUs'
  elif [[ ${1:-0} != $((${#envcfg_masks} + 1)) ]]; then
    ENVCFG_UNBOUND="${1:-unknown} ranks per node, but $((${#envcfg_masks} + 1)) GPUs"
  fi
  if [[ -z $ENVCFG_UNBOUND ]]; then return 0; fi
  envcfg_note "ranks are not bound to the cores next to their GPUs: $ENVCFG_UNBOUND"
  return 1
}

# NVIDIA: the folder's name is the PCI address; CUDA counts equal GPUs in the order of these addresses. AMD: ROCm
# counts the nodes of its topology that have SIMD units. The devices that a job may not use cannot be read.
envcfg_gpu_places() { # ROOT: set envcfg_addresses to the PCI addresses of the GPUs that this job can use, in their order
  local LC_ALL=C envcfg_file envcfg_key envcfg_value envcfg_kind envcfg_device envcfg_i
  local -A envcfg_facts
  envcfg_addresses=() envcfg_kinds=''
  for envcfg_file in "$1"/proc/driver/nvidia/gpus/*/information; do
    envcfg_device='' envcfg_kind=''
    if [[ ! -r $envcfg_file ]]; then continue; fi
    while IFS=$':' read -r envcfg_key envcfg_value; do
      case $envcfg_key in
        Model) envcfg_kind=${envcfg_value//[!A-Za-z0-9]/} ;;
        'Device Minor') envcfg_device=${envcfg_value//[!0-9]/} ;;
      esac
    done <"$envcfg_file"
    if [[ -n $envcfg_device && -r $1/dev/nvidia$envcfg_device && -w $1/dev/nvidia$envcfg_device ]]; then
      envcfg_file=${envcfg_file%/information}
      envcfg_addresses+=("${envcfg_file##*/}") envcfg_kinds+=" nvidia-$envcfg_kind"
    fi
  done
  for ((envcfg_i = 0; envcfg_i < 256; envcfg_i++)); do
    envcfg_file=$1/sys/class/kfd/kfd/topology/nodes/$envcfg_i/properties
    if [[ ! -e $envcfg_file ]]; then break; fi
    envcfg_facts=()
    while read -r envcfg_key envcfg_value; do
      if [[ -n $envcfg_key && $envcfg_value != *[!0-9]* ]]; then envcfg_facts[$envcfg_key]=$envcfg_value; fi
    done 2>/dev/null <"$envcfg_file" || :
    if ((${envcfg_facts[simd_count]:-0} == 0)); then continue; fi
    envcfg_device=${envcfg_facts[location_id]:-0}
    printf -v envcfg_device '%04x:%02x:%02x.%x' "${envcfg_facts[domain]:-0}" \
      $((envcfg_device >> 8)) $((envcfg_device >> 3 & 31)) $((envcfg_device & 7))
    envcfg_addresses+=("$envcfg_device") envcfg_kinds+=" amd-${envcfg_facts[gfx_target_version]-}"
  done
}

envcfg_job_cores() { # ROOT: set envcfg_text to the list of CPUs that the job has on this node
  local envcfg_key envcfg_value envcfg_path
  while IFS=: read -r _ envcfg_key envcfg_path; do
    if [[ $envcfg_path/ != */job_"$SLURM_JOB_ID"/* ]]; then continue; fi
    envcfg_path=${envcfg_path%"/job_$SLURM_JOB_ID"*}/job_$SLURM_JOB_ID
    case ,$envcfg_key, in
      ,,) envcfg_line "$1/sys/fs/cgroup$envcfg_path/cpuset.cpus.effective" && return ;;
      *,cpuset,*) envcfg_line "$1/sys/fs/cgroup/cpuset$envcfg_path/cpuset.cpus" && return ;;
    esac
  done <"$1/proc/self/cgroup"
  # Slurm has narrowed the tasks of steps, but not the batch script and the shell of salloc.
  if ((${SLURM_STEP_ID:-4294967291} < 4294967290)); then return 1; fi
  while read -r envcfg_key envcfg_text; do
    if [[ $envcfg_key == Cpus_allowed_list: ]]; then return; fi
  done <"$1/proc/self/status"
  return 1
}

envcfg_near_cores() { # ROOT: set ENVCFG_CPU_MASKS; fail if that is not certain, with the reason in ENVCFG_UNBOUND
  local envcfg_text envcfg_addresses envcfg_kinds envcfg_name envcfg_place envcfg_cpu envcfg_other envcfg_list envcfg_part
  local envcfg_share=9999 envcfg_first envcfg_all_gpus='' envcfg_is_single='' envcfg_i
  local -a envcfg_cpus envcfg_units=() envcfg_core_of=() envcfg_listed=() envcfg_near envcfg_chosen
  local -A envcfg_lists=() envcfg_cores=() envcfg_taken=()
  envcfg_gpu_places "$1"
  if ((${#envcfg_addresses[@]} == 0)); then return 1; fi # no GPU of NVIDIA or AMD
  for envcfg_name in $envcfg_kinds; do
    if [[ $envcfg_name != "${envcfg_kinds##* }" ]]; then ENVCFG_UNBOUND='its GPUs are not equal'; fi
  done
  for ((envcfg_i = 0; envcfg_i < ${#envcfg_addresses[@]}; envcfg_i++)); do envcfg_all_gpus+=,$envcfg_i; done
  for envcfg_name in CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES GPU_DEVICE_ORDINAL; do
    if [[ $envcfg_kinds == ' nvidia'* && $envcfg_name != CUDA* ]]; then continue; fi
    if [[ -n ${!envcfg_name-} && ,${!envcfg_name} != "$envcfg_all_gpus" ]]; then
      ENVCFG_UNBOUND="$envcfg_name does not name all GPUs of the job in their order"
    fi
  done
  if ! envcfg_job_cores "$1" || ! envcfg_numbers "$envcfg_text"; then
    ENVCFG_UNBOUND="the job's cores on this node are unknown"
  fi
  if [[ -n $ENVCFG_UNBOUND ]]; then return 1; fi
  # A unit is a core of the job, with those of its threads that the job has.
  for envcfg_cpu in "${envcfg_cpus[@]}"; do envcfg_core_of[envcfg_cpu]=$envcfg_cpu; done
  for envcfg_cpu in "${envcfg_cpus[@]}"; do
    if [[ ${envcfg_core_of[envcfg_cpu]} != "$envcfg_cpu" ]]; then continue; fi
    envcfg_units[envcfg_cpu]=$envcfg_cpu
    if [[ -n $envcfg_is_single ]] || ! envcfg_line "$1/sys/devices/system/cpu/cpu$envcfg_cpu/topology/thread_siblings_list"; then continue; fi
    # If the first core has one thread, all have: hundreds of files need not be read.
    if [[ $envcfg_text == "${envcfg_cpus[0]}" ]]; then envcfg_is_single=yes; fi
    envcfg_numbers "$envcfg_text" || envcfg_cpus=()
    for envcfg_other in "${envcfg_cpus[@]}"; do
      if [[ -n ${envcfg_core_of[envcfg_other]-} && $envcfg_other != "$envcfg_cpu" ]]; then
        envcfg_core_of[envcfg_other]=$envcfg_cpu envcfg_units[envcfg_cpu]+=" $envcfg_other"
      fi
    done
  done
  if ((ENVCFG_JOB_NODES > 1)); then
    if ! envcfg_line "$1/sys/devices/system/cpu/online" || ! envcfg_numbers "$envcfg_text"; then envcfg_cpus=(); fi
    if [[ ! ${SLURM_JOB_CPUS_PER_NODE-} =~ ^[0-9]+(\(x[0-9]+\))?$ ]] \
      || ((${#envcfg_cpus[@]} != ${#envcfg_core_of[@]} && ${#envcfg_units[@]} < ${ENVCFG_NODE_CORES:-99999})); then
      ENVCFG_UNBOUND='the job has several nodes, but not all of their cores'
      return 1
    fi
  fi
  # The cores next to a GPU are those of its PCI device; GPUs with the same list share them in equal parts.
  for envcfg_place in "${envcfg_addresses[@]}"; do
    if ! envcfg_line "$1/sys/bus/pci/devices/${envcfg_place,,}/local_cpulist"; then
      ENVCFG_UNBOUND="the cores next to the GPU $envcfg_place are unknown"
      return 1
    fi
    envcfg_near+=("$envcfg_text")
    envcfg_lists[$envcfg_text]=$((${envcfg_lists[$envcfg_text]-0} + 1))
  done
  for envcfg_list in "${!envcfg_lists[@]}"; do
    envcfg_numbers "$envcfg_list" || envcfg_cpus=()
    for envcfg_cpu in "${envcfg_cpus[@]}"; do
      if [[ -z ${envcfg_units[envcfg_cpu]-} ]]; then continue; fi
      if [[ -n ${envcfg_listed[envcfg_cpu]-} ]]; then
        ENVCFG_UNBOUND='its GPUs are next to overlapping sets of cores'
        return 1
      fi
      envcfg_listed[envcfg_cpu]=yes envcfg_cores[$envcfg_list]+=" $envcfg_cpu"
    done
    read -r -a envcfg_cpus <<<"${envcfg_cores[$envcfg_list]-}"
    envcfg_part=$((${#envcfg_cpus[@]} / ${envcfg_lists[$envcfg_list]}))
    if ((envcfg_part < envcfg_share)); then envcfg_share=$envcfg_part; fi
  done
  # Ranks would lose more by missing cores than they gain by near ones.
  if ((envcfg_share * ${#envcfg_addresses[@]} * 4 < ${#envcfg_units[@]} * 3 || envcfg_share == 0)); then
    ENVCFG_UNBOUND='the job has too few cores next to some of its GPUs'
    return 1
  fi
  for envcfg_list in "${envcfg_near[@]}"; do
    read -r -a envcfg_cpus <<<"${envcfg_cores[$envcfg_list]}"
    # A GPU's own part begins at its place, also where other GPUs have smaller parts.
    envcfg_first=$((${envcfg_taken[$envcfg_list]-0} * (${#envcfg_cpus[@]} / ${envcfg_lists[$envcfg_list]})))
    envcfg_taken[$envcfg_list]=$((${envcfg_taken[$envcfg_list]-0} + 1)) envcfg_chosen=()
    for envcfg_cpu in "${envcfg_cpus[@]:envcfg_first:envcfg_share}"; do
      for envcfg_other in ${envcfg_units[envcfg_cpu]}; do envcfg_chosen[envcfg_other]=yes; done
    done
    envcfg_add_share
  done
}

envcfg_add_share() { # add the CPUs of envcfg_chosen to ENVCFG_CPU_MASKS and ENVCFG_CPU_LISTS
  local envcfg_cpu envcfg_i envcfg_text='' envcfg_list='' envcfg_zeros
  local -a envcfg_digits=()
  for envcfg_cpu in "${!envcfg_chosen[@]}"; do
    envcfg_digits[envcfg_cpu / 4]=$((${envcfg_digits[envcfg_cpu / 4]-0} | 1 << envcfg_cpu % 4))
    if ((envcfg_cpu > 0)) && [[ -n ${envcfg_chosen[envcfg_cpu - 1]-} ]]; then
      envcfg_list=${envcfg_list%-"$((envcfg_cpu - 1))"}-$envcfg_cpu # a longer range
    else
      envcfg_list+=,$envcfg_cpu
    fi
  done
  for envcfg_i in "${!envcfg_digits[@]}"; do # from the lowest digit; those between are 0
    printf -v envcfg_zeros '%*s' $((envcfg_i - ${#envcfg_text})) ''
    printf -v envcfg_text '%x%s' "${envcfg_digits[envcfg_i]}" "${envcfg_zeros// /0}$envcfg_text"
  done
  ENVCFG_CPU_MASKS+=${ENVCFG_CPU_MASKS:+,}0x$envcfg_text
  ENVCFG_CPU_LISTS+=${ENVCFG_CPU_LISTS:+:}${envcfg_list#,}
}

envcfg_tell_cores() { # a note with the cores for each process of a program that starts its own
  local envcfg_list envcfg_text='' envcfg_rank=0
  if [[ $ENVCFG_CPU_LISTS != *:* ]]; then return; fi # one GPU, or unknown
  for envcfg_list in ${ENVCFG_CPU_LISTS//:/ }; do
    envcfg_text+="${envcfg_text:+; }$envcfg_rank: $envcfg_list"
    envcfg_rank=$((envcfg_rank + 1))
  done
  envcfg_note "the program starts its own processes, so envcfg binds them to no cores; next to each GPU (local rank: cores) are $envcfg_text"
}
