# shellcheck shell=bash
# envcfg module srun 3
# Slurm: what the job has, what runs once on each node, and who a task is.

envcfg_survey() { # what the allocation is
  local envcfg_name
  if [[ -z ${SLURM_JOB_ID-} ]]; then
    envcfg_fault 'this is not a Slurm job: SLURM_JOB_ID is not set' \
      'use it in an sbatch script or under salloc, or choose --launcher local'
  elif ! type -P srun >/dev/null; then
    envcfg_fault 'srun is not on PATH' "load Slurm's module"
  elif [[ -z ${SLURM_NNODES-}${SLURM_JOB_NUM_NODES-} ]]; then
    envcfg_recall
  fi
  for envcfg_name in SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_NTASKS SLURM_NPROCS SLURM_CPUS_PER_TASK; do
    if [[ ${!envcfg_name-} == *[!0-9]* ]]; then
      envcfg_fault "$envcfg_name=${!envcfg_name} is not a number" 'unset it, or set what the job has'
    elif [[ ${!envcfg_name-} == 0* ]]; then # arithmetic would take it for octal
      printf -v "$envcfg_name" '%d' "$((10#${!envcfg_name}))"
    fi
  done
  ENVCFG_SRUN=() ENVCFG_HOSTS=() ENVCFG_NETWORK=${SLURM_NETWORK-}
  ENVCFG_JOB_NODES=${SLURM_NNODES:-${SLURM_JOB_NUM_NODES:-1}} # a step may have fewer
  ENVCFG_NODES=$ENVCFG_JOB_NODES
  if [[ -n $ENVCFG_COMPONENTS ]]; then envcfg_components; fi
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

envcfg_gpus() { # print how many GPUs per node the job asked for ("4", "a100:2,h100:2"), else has
  local envcfg_item envcfg_sum='' envcfg_by=1 envcfg_text=${SLURM_GPUS_PER_NODE:-${SLURM_GPUS_ON_NODE-}}
  local -a envcfg_items
  if [[ -z $envcfg_text && -n ${SLURM_GPUS-} ]]; then # on all nodes; where one has more than another, those are left
    envcfg_text=$SLURM_GPUS envcfg_by=$ENVCFG_JOB_NODES
  elif [[ -z $envcfg_text ]]; then # the numbers of those of this node: "0,2-3"
    envcfg_text=${SLURM_JOB_GPUS-} envcfg_by=''
  fi
  IFS=, read -r -a envcfg_items <<<"$envcfg_text"
  for envcfg_item in "${envcfg_items[@]}"; do
    envcfg_item=${envcfg_item##*:}
    if [[ -z $envcfg_by && $envcfg_item =~ ^([0-9]+)-([0-9]+)$ ]]; then
      envcfg_item=$((10#${BASH_REMATCH[2]} - 10#${BASH_REMATCH[1]} + 1))
    elif [[ -z $envcfg_by || $envcfg_item == *[!0-9]* || -z $envcfg_item ]]; then
      envcfg_item=1 # "mi250x" is one
    fi
    envcfg_sum=$((envcfg_sum + 10#$envcfg_item))
  done
  printf '%s' "${envcfg_sum:+$((envcfg_sum / ${envcfg_by:-1}))}"
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

envcfg_host() { # COMMAND...: run it once on each node, outside the container
  if [[ $ENVCFG_JOB_NODES == 1 && -n ${SLURMD_NODENAME-} && -z $ENVCFG_COMPONENTS ]]; then
    "$@" # this is the node
    return
  fi
  (
    unset -v SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE \
      SLURM_CPUS_PER_TASK SLURM_CPU_BIND SLURM_DISTRIBUTION "${!PYXIS_@}"
    envcfg_whole
    if [[ -n $ENVCFG_COMPONENTS ]]; then
      envcfg_components_host "$@"
      exit
    fi
    # --mem=0: whatever memory a step holds, or did not give back yet
    exec srun --overlap --mem=0 --nodes="$ENVCFG_JOB_NODES" --ntasks="$ENVCFG_JOB_NODES" \
      --ntasks-per-node=1 --export=ALL "$@" </dev/null
  )
}

envcfg_srun() { # COMMAND...: the step itself
  local -a envcfg_task=()
  if envcfg_is_clean; then # tell it how many words come before the rank part's arguments
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task $((${#ENVCFG_ENTER[@]} + 4)))
  fi
  if [[ -n $ENVCFG_NODES_WANTED ]]; then
    ENVCFG_SRUN+=(--nodes="$ENVCFG_NODES")
    unset -v SLURM_GPUS # how many the job has on all its nodes
  fi
  envcfg_spawn exec srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}"
}

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
envcfg_first_node() { # LIST: set envcfg_node to the first host of a Slurm node list; fail if it is none
  envcfg_node=''
  envcfg_rest=$1
  while :; do
    envcfg_item=${envcfg_rest%%[[,]*} # what stands before the next bracket or comma
    case $envcfg_item in *[!A-Za-z0-9_.-]*) return 1 ;; esac
    envcfg_node=$envcfg_node$envcfg_item
    envcfg_rest=${envcfg_rest#"$envcfg_item"}
    case $envcfg_rest in '' | ,*) break ;; *']'*) ;; *) return 1 ;; esac
    envcfg_item=${envcfg_rest%%]*} # of a bracket, what stands before its first comma or dash
    envcfg_item=${envcfg_item#?}
    envcfg_rest=${envcfg_rest#*]}
    case ,$envcfg_item, in *[!0-9,-]* | *[,-][,-]*) return 1 ;; esac
    case ${envcfg_item%%,*} in *-*-*) return 1 ;; esac
    envcfg_node=$envcfg_node${envcfg_item%%[,-]*}
  done
  [ -n "$envcfg_node" ]
}

# Who this task is, as srun says. The step's first node is found here because only the
# step has its list; the port is the job's and the step's own, below the ephemeral range.
envcfg_need SLURM_PROCID "${SLURM_PROCID-}" SLURM_LOCALID "${SLURM_LOCALID-}" \
  SLURM_NODEID "${SLURM_NODEID-}" SLURM_STEP_NUM_NODES "${SLURM_STEP_NUM_NODES-}" \
  SLURM_STEP_NUM_TASKS "${SLURM_STEP_NUM_TASKS-}" SLURM_JOB_ID "${SLURM_JOB_ID-}" \
  SLURM_STEP_TASKS_PER_NODE "${SLURM_STEP_TASKS_PER_NODE-}" SLURM_STEP_ID "${SLURM_STEP_ID-}"
envcfg_host=${SLURMD_NODENAME:-local}
envcfg_nodes=$SLURM_STEP_NUM_NODES
envcfg_id=$SLURM_JOB_ID.$SLURM_STEP_ID                            # of what this step starts together
envcfg_own=${SLURM_GPUS_PER_TASK-}                                # as the job gives them
envcfg_address=${SLURMD_NODENAME:+$SLURMD_NODENAME$ENVCFG_SUFFIX} # of this node, for its agent
if ! envcfg_is_preset MASTER_ADDR; then
  envcfg_need SLURM_STEP_NODELIST "${SLURM_STEP_NODELIST-}"
  envcfg_first_node "$SLURM_STEP_NODELIST" || envcfg_fail \
    "SLURM_STEP_NODELIST is not a list of nodes: '$SLURM_STEP_NODELIST'" 'set MASTER_ADDR'
  export MASTER_ADDR="$envcfg_node$ENVCFG_SUFFIX"
fi
if ! envcfg_is_preset MASTER_PORT; then
  export MASTER_PORT="$((10000 + (SLURM_JOB_ID * 101 + SLURM_STEP_ID) % 20000))"
fi
envcfg_need MASTER_ADDR "${MASTER_ADDR-unset}" MASTER_PORT "${MASTER_PORT-unset}" # the job's own, maybe
# "4(x2),3": four tasks on two nodes, three on the next. How many are on this one?
envcfg_rest=$SLURM_STEP_TASKS_PER_NODE
envcfg_skip=$SLURM_NODEID
while :; do
  envcfg_item=${envcfg_rest%%,*}
  envcfg_count=1
  case $envcfg_item in *x*) envcfg_count=${envcfg_item#*x} ;; esac
  envcfg_skip=$((envcfg_skip - ${envcfg_count%%[!0-9]*}))
  if [ "$envcfg_skip" -lt 0 ] || [ "$envcfg_rest" = "$envcfg_item" ]; then break; fi
  envcfg_rest=${envcfg_rest#*,}
done
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" NODE_RANK="$SLURM_NODEID"
export WORLD_SIZE="$SLURM_STEP_NUM_TASKS" LOCAL_WORLD_SIZE="${envcfg_item%%(*}"
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART
ENVCFG_NODE_NAME='envcfg_host=${SLURMD_NODENAME:-local}'
