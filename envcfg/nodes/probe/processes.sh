# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # gpus.sh stands above it, and the probes below
# The processes of a job on this node, and the program of each rank, from /proc. envcfg_find
# sets envcfg_ours and envcfg_mains, which are process numbers, and what it has read of each.
declare -A envcfg_of=() envcfg_parent=() envcfg_rank=()
envcfg_ours=() envcfg_mains=()

envcfg_stat() { # PID: its state, parent, time of processors and beginning
  local envcfg_line
  IFS= read -r -d '' envcfg_line <"/proc/$1/stat"
  envcfg_line=${envcfg_line##*') '} # a name may hold anything
  read -ra envcfg_fields <<<"$envcfg_line"
  ((${#envcfg_fields[@]} > 19))
} 2>/dev/null

envcfg_environ() { # PID: what counts of the environment that it was started with
  local envcfg_entry
  local -a envcfg_all=()
  mapfile -d '' -t envcfg_all <"/proc/$1/environ"
  for envcfg_entry in "${envcfg_all[@]}"; do
    case $envcfg_entry in
      SLURM_JOB_ID=* | SLURM_STEP_ID=* | SLURM_PROCID=* | SLURM_LOCALID=* | SLURMD_NODENAME=* | \
        RANK=* | LOCAL_RANK=* | WORLD_SIZE=* | MASTER_PORT=* | PATH=* | NCCL_RAS_ADDR=* | NCCL_RAS_ENABLE=* | \
        PYTHONFAULTHANDLER=* | *_VISIBLE_DEVICES=* | \
        TORCH_NCCL_DEBUG_INFO_PIPE_FILE=* | TORCH_NCCL_DEBUG_INFO_TEMP_FILE=* | \
        TORCH_FR_DUMP_TEMP_FILE=*)
        envcfg_of[${1}_${envcfg_entry%%=*}]=${envcfg_entry#*=}
        ;;
    esac
  done
} 2>/dev/null

envcfg_inherit() { # PID NAME: its own value, or that of the nearest process above it
  local envcfg_at=$1 envcfg_depth=0
  while ((envcfg_at > 1 && envcfg_depth++ < 64)); do
    envcfg_value=${envcfg_of[${envcfg_at}_$2]-}
    [[ -z $envcfg_value ]] || return 0
    envcfg_at=${envcfg_parent[$envcfg_at]-0}
  done
  return 1
}

# A container may start without Slurm's variables: what is above it has them.
envcfg_is_of_job() { # PID
  envcfg_inherit "$1" SLURM_JOB_ID && [[ $envcfg_value == "$envcfg_job" ]] || return 1
  ! envcfg_inherit "$1" SLURMD_NODENAME || [[ $envcfg_value == "$envcfg_host" ]] || return 1
  ! envcfg_inherit "$1" SLURM_STEP_ID || [[ $envcfg_value != "${SLURM_STEP_ID-}" ]]
}

envcfg_is_wrapper() { # PID: it only holds the program that it has started
  local envcfg_name=
  IFS= read -r -d '' envcfg_name <"/proc/$1/comm"
  envcfg_name=${envcfg_name%$'\n'}
  case $envcfg_name in
    sh | bash | dash | env | tini | srun | time | timeout | numactl | starter* | apptainer* | \
      Apptainer* | singularity* | Singularity* | podman* | conmon | crun | runc | ch-run | \
      shifter* | enroot* | bwrap) ;;
    *) return 1 ;;
  esac
} 2>/dev/null

envcfg_find() { # the processes of the job, and of each rank the one that is its program
  local envcfg_path envcfg_pid envcfg_name envcfg_has_rank=
  local -a envcfg_pids=()
  envcfg_ray= # its workers that are not idle; empty without Ray
  for envcfg_path in /proc/[0-9]*; do
    envcfg_pid=${envcfg_path##*/}
    [[ -O $envcfg_path && $envcfg_pid != "$$" ]] || continue
    envcfg_stat "$envcfg_pid" || continue
    envcfg_parent[$envcfg_pid]=${envcfg_fields[1]}
    envcfg_environ "$envcfg_pid"
    envcfg_pids+=("$envcfg_pid")
  done
  for envcfg_pid in "${envcfg_pids[@]}"; do
    envcfg_is_of_job "$envcfg_pid" || continue
    envcfg_ours+=("$envcfg_pid")
    envcfg_name=
    { IFS= read -r envcfg_name <"/proc/$envcfg_pid/comm"; } 2>/dev/null
    case $envcfg_name in
      raylet | ray::IDLE) : "${envcfg_ray:=0}" ;;
      ray::*) envcfg_ray=$((envcfg_ray + 1)) ;;
    esac
    envcfg_value=${envcfg_of[${envcfg_pid}_RANK]-}
    [[ $envcfg_value =~ ^[0-9]{1,7}$ ]] || continue
    envcfg_rank[$envcfg_pid]=$envcfg_value
    envcfg_has_rank=yes
  done
  # A task of a program of MPI is a rank, and that of a cluster of Ray only starts it.
  if [[ -z $envcfg_has_rank$envcfg_ray ]]; then
    for envcfg_pid in "${envcfg_ours[@]}"; do
      envcfg_inherit "$envcfg_pid" SLURM_STEP_ID || continue # the batch script is none
      [[ $envcfg_value != 42949672?? ]] || continue          # nor is the shell of salloc
      envcfg_inherit "$envcfg_pid" SLURM_PROCID && envcfg_rank[$envcfg_pid]=$envcfg_value
    done
  fi
  envcfg_choose "${envcfg_ours[@]}"
}

# A rank's program is the topmost of its processes that is not a wrapper; those below it, as
# workers that load data, are started by it.
envcfg_choose() { # PID...
  local envcfg_pid envcfg_at envcfg_depth envcfg_is_main
  local -A envcfg_is_held=()
  for envcfg_pid; do
    ! envcfg_is_wrapper "$envcfg_pid" || envcfg_is_held[$envcfg_pid]=yes
  done
  for envcfg_pid; do
    [[ -n ${envcfg_rank[$envcfg_pid]-} && -z ${envcfg_is_held[$envcfg_pid]-} ]] || continue
    envcfg_at=${envcfg_parent[$envcfg_pid]} envcfg_depth=0 envcfg_is_main=yes
    while ((envcfg_at > 1 && envcfg_depth++ < 64)); do
      if [[ ${envcfg_rank[$envcfg_at]-} == "${envcfg_rank[$envcfg_pid]}" &&
        -z ${envcfg_is_held[$envcfg_at]-} ]]; then
        envcfg_is_main=
        break
      fi
      envcfg_at=${envcfg_parent[$envcfg_at]-0}
    done
    [[ -z $envcfg_is_main ]] || envcfg_mains+=("$envcfg_pid")
  done
}
