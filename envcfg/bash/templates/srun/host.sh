# shellcheck shell=bash

envcfg_survey() { # what the allocation is
  if [[ -z ${SLURM_JOB_ID-} ]]; then
    envcfg_fault 'this is no Slurm job: SLURM_JOB_ID is not set' \
      'use it in an sbatch script or under salloc, or choose --launcher local'
  elif ! type -P srun >/dev/null; then
    envcfg_fault 'srun is not on PATH' "load Slurm's module"
  elif [[ -z ${SLURM_NNODES-}${SLURM_JOB_NUM_NODES-} ]]; then
    envcfg_recall
  fi
  envcfg_numbers SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_NTASKS SLURM_NPROCS SLURM_CPUS_PER_TASK
  ENVCFG_SRUN=()
  # shellcheck disable=SC2034 # bundles add to it
  ENVCFG_NETWORK=${SLURM_NETWORK-}
  # envcfg:begin size
  ENVCFG_HOSTS=()
  # envcfg:end size
  ENVCFG_JOB_NODES=${SLURM_NNODES:-${SLURM_JOB_NUM_NODES:-1}} # a step may have fewer
  # envcfg:begin components
  envcfg_components
  # envcfg:end components
  ENVCFG_NODES=$ENVCFG_JOB_NODES
}

envcfg_recall() { # the size of the job, which somebody has taken out of its environment
  local envcfg_job envcfg_nodes envcfg_tasks envcfg_cores envcfg_list
  while read -r envcfg_job envcfg_nodes envcfg_tasks envcfg_cores envcfg_list; do # an array has several jobs
    if [[ $envcfg_job == "$SLURM_JOB_ID" ]]; then break; fi
  done < <(squeue --noheader --jobs="$SLURM_JOB_ID" \
    --Format=JobID,NumNodes,NumTasks,cpus-per-task,NodeList:4096 </dev/null 2>/dev/null)
  if [[ -z $envcfg_nodes ]]; then
    envcfg_fault 'SLURM_NNODES is not set, and squeue does not tell how many nodes the job has' \
      'keep what Slurm sets in the environment, or export SLURM_NNODES and SLURM_NTASKS'
    return
  fi
  envcfg_note "SLURM_NNODES is not set; by squeue the job has nodes: $envcfg_nodes, tasks: $envcfg_tasks, cores of each: $envcfg_cores"
  export SLURM_NNODES=$envcfg_nodes SLURM_JOB_NODELIST=${SLURM_JOB_NODELIST:-$envcfg_list}
  if [[ -z ${SLURM_NTASKS-}${SLURM_NPROCS-}${SLURM_NTASKS_PER_NODE-} ]]; then export SLURM_NTASKS=$envcfg_tasks; fi
  if [[ -z ${SLURM_CPUS_PER_TASK-} && $envcfg_cores != 1 ]]; then export SLURM_CPUS_PER_TASK=$envcfg_cores; fi
}

envcfg_name_job() { # set ENVCFG_JOB, by which the files of this job differ from all others
  ENVCFG_JOB=${SLURM_JOB_ID:-none}
}

envcfg_numbers() { # NAME...: without zeros in front, by which arithmetic would take them for octal
  local envcfg_name
  for envcfg_name; do
    if [[ ${!envcfg_name-} == *[!0-9]* ]]; then
      envcfg_fault "$envcfg_name=${!envcfg_name} is no number" 'unset it, or set what the job has'
    elif [[ ${!envcfg_name-} == 0* ]]; then
      printf -v "$envcfg_name" '%d' "$((10#${!envcfg_name}))"
    fi
  done
}

envcfg_gpus() { # print how many GPUs per node the job asked for ("4", "a100:2,h100:2"), else has
  local envcfg_sum=''
  if [[ -n ${SLURM_GPUS_PER_NODE:-${SLURM_GPUS_ON_NODE-}} ]]; then
    envcfg_add "${SLURM_GPUS_PER_NODE:-$SLURM_GPUS_ON_NODE}"
  elif [[ -n ${SLURM_GPUS-} ]]; then # on all nodes; where one has more than another, those are left
    envcfg_add "$SLURM_GPUS"
    envcfg_sum=$((envcfg_sum / ENVCFG_JOB_NODES))
  elif [[ -n ${SLURM_JOB_GPUS-} ]]; then # the numbers of those of this node: "0,2-3"
    envcfg_add_numbers "$SLURM_JOB_GPUS"
  fi
  printf '%s' "$envcfg_sum"
}

envcfg_add() { # COUNTS: set envcfg_sum
  local envcfg_item
  local -a envcfg_items
  IFS=, read -r -a envcfg_items <<<"$1"
  for envcfg_item in "${envcfg_items[@]}"; do
    envcfg_item=${envcfg_item##*:}
    if [[ $envcfg_item == *[!0-9]* || -z $envcfg_item ]]; then envcfg_item=1; fi # "mi250x" is one
    envcfg_sum=$((envcfg_sum + 10#$envcfg_item))
  done
}

envcfg_add_numbers() { # NUMBERS: set envcfg_sum
  local envcfg_item
  local -a envcfg_items
  IFS=, read -r -a envcfg_items <<<"$1"
  for envcfg_item in "${envcfg_items[@]}"; do
    if [[ $envcfg_item == [0-9]*-*[0-9] && $envcfg_item != *[!0-9-]* && $envcfg_item != *-*-* ]]; then
      envcfg_sum=$((envcfg_sum + 10#${envcfg_item#*-} - 10#${envcfg_item%-*}))
    fi
    envcfg_sum=$((envcfg_sum + 1))
  done
}

envcfg_tasks() { # print how many tasks per node the job asked for, if it did
  local envcfg_tasks=${SLURM_NTASKS:-${SLURM_NPROCS-}}
  if [[ -n ${SLURM_NTASKS_PER_NODE-} ]]; then
    envcfg_tasks=${SLURM_NTASKS_PER_NODE%%[!0-9]*}
    printf '%d' "$((10#${envcfg_tasks:-1}))"
  elif [[ -n $envcfg_tasks ]]; then
    printf '%d' $(((envcfg_tasks + ENVCFG_JOB_NODES - 1) / ENVCFG_JOB_NODES))
  fi
}

envcfg_whole() { # a task that has a node to itself takes all GPUs: what the job said of each rank's goes
  unset -v SLURM_GPUS_PER_TASK SLURM_TRES_PER_TASK SLURM_NTASKS_PER_GPU SLURM_GPU_BIND SLURM_TRES_BIND
}

envcfg_alone() { # one task per node, which gets the GPUs and the cores of all
  local envcfg_tasks
  ENVCFG_SRUN+=(--ntasks="$ENVCFG_NODES" --ntasks-per-node=1)
  envcfg_whole
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    envcfg_tasks=$(envcfg_tasks)
    ENVCFG_SRUN+=(--cpus-per-task=$((SLURM_CPUS_PER_TASK * ${envcfg_tasks:-1})))
  fi
}

envcfg_chosen() { # the step's nodes are these of the job's
  local envcfg_name
  local -a envcfg_names=()
  while read -r envcfg_name; do
    envcfg_names+=("$envcfg_name")
  done < <(scontrol show hostnames "${SLURM_JOB_NODELIST-}" </dev/null)
  if ((${#envcfg_names[@]} != ENVCFG_JOB_NODES)); then
    envcfg_fault "scontrol names ${#envcfg_names[@]} nodes in '${SLURM_JOB_NODELIST-}', but the job has $ENVCFG_JOB_NODES" \
      'leave out --on, then the step has all nodes'
    return
  fi
  for envcfg_name in "${ENVCFG_CHOSEN[@]}"; do ENVCFG_HOSTS+=("${envcfg_names[envcfg_name]}"); done
  ENVCFG_SRUN+=("--nodelist=$(IFS=, && printf '%s' "${ENVCFG_HOSTS[*]}")")
}

envcfg_overlap() { # the step runs beside others on the same nodes, with what they hold
  ENVCFG_SRUN+=(--overlap --mem=0)
}

envcfg_host() { # COMMAND...: run it once on each node, outside the container
  # envcfg:begin here
  if [[ $ENVCFG_JOB_NODES == 1 && -n ${SLURMD_NODENAME-} ]]; then
    "$@" # this is the node
    return
  fi
  # envcfg:end here
  (
    unset -v SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE \
      SLURM_CPUS_PER_TASK SLURM_CPU_BIND SLURM_DISTRIBUTION "${!PYXIS_@}"
    envcfg_whole
    # envcfg:begin components
    if [[ -n $ENVCFG_COMPONENTS ]]; then
      envcfg_components_host "$@"
      exit
    fi
    # envcfg:end components
    # --mem=0: beside the memory that a step holds, or has not given back yet
    exec srun --overlap --mem=0 --nodes="$ENVCFG_JOB_NODES" --ntasks="$ENVCFG_JOB_NODES" \
      --ntasks-per-node=1 --export=ALL "$@" </dev/null
  )
}

envcfg_network() { # VALUE: with what the job has asked for, as srun takes all by one option
  case ",$ENVCFG_NETWORK," in
    *",$1,"*) ;;
    *) ENVCFG_NETWORK=${ENVCFG_NETWORK:+$ENVCFG_NETWORK,}$1 ;;
  esac
  ENVCFG_SRUN+=("--network=$ENVCFG_NETWORK") # of several, the last counts
}
