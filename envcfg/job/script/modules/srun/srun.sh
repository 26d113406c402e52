# shellcheck shell=bash # srun 8: Slurm: read the job, run commands on each node, and read the task's rank
# ranks: RANK SLURM_PROCID, LOCAL_RANK SLURM_LOCALID, WORLD_SIZE SLURM_STEP_NUM_TASKS, MASTER_ADDR the first node of SLURM_STEP_NODELIST, cores as srun binds them
# reads: ENVCFG_COMPONENTS ENVCFG_RANK_SHELL ENVCFG_SUFFIX
# launch: srun --kill-on-bad-exit=1 --export=ALL OPTIONS "${ENVCFG_SRUN[@]}" ENTER SHELL -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- COMMAND
ENVCFG_TASK_NAMES=SLURM_PROCID:SLURM_STEP_NUM_TASKS ENVCFG_NODE_NAME='envcfg_host=${SLURMD_NODENAME:-local}'

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

envcfg_recall() { # the size of the job, if a tool has removed it from the environment, as Snakemake does
  local envcfg_job envcfg_nodes envcfg_tasks envcfg_cores envcfg_list
  while read -r envcfg_job envcfg_nodes envcfg_tasks envcfg_cores envcfg_list; do # an array has several jobs
    if [[ $envcfg_job == "$SLURM_JOB_ID" ]]; then break; fi
  done < <(squeue --noheader --jobs="$SLURM_JOB_ID" --Format=JobID,NumNodes,NumTasks,cpus-per-task,NodeList:4096 </dev/null 2>/dev/null)
  if [[ -z $envcfg_nodes ]]; then
    envcfg_fault 'SLURM_NNODES is not set, and squeue does not tell how many nodes the job has' \
      'keep what Slurm sets in the environment, or export SLURM_NNODES and SLURM_NTASKS'
    return
  fi
  envcfg_note "SLURM_NNODES is not set; squeue shows nodes: $envcfg_nodes, tasks: $envcfg_tasks, cores of each: $envcfg_cores"
  export SLURM_NNODES=$envcfg_nodes SLURM_JOB_NODELIST=${SLURM_JOB_NODELIST:-$envcfg_list}
  if [[ -z ${SLURM_NTASKS-}${SLURM_NPROCS-}${SLURM_NTASKS_PER_NODE-} ]]; then export SLURM_NTASKS=$envcfg_tasks; fi
  if [[ -z ${SLURM_CPUS_PER_TASK-} && $envcfg_cores != 1 ]]; then export SLURM_CPUS_PER_TASK=$envcfg_cores; fi
}

envcfg_option() { ENVCFG_SRUN+=("$1"); } # WORD: of the program that starts the tasks

envcfg_name_job() { ENVCFG_JOB=${SLURM_JOB_ID:-none}; } # by it the files of this job differ from all others

envcfg_gpus() { # print how many GPUs per node the job asked for ("4", "a100:2,h100:2"), else has
  local envcfg_item envcfg_sum='' envcfg_by=1 envcfg_text=${SLURM_GPUS_PER_NODE:-${SLURM_GPUS_ON_NODE-}}
  local -a envcfg_items
  if [[ -z $envcfg_text && -n ${SLURM_GPUS-} ]]; then # on all nodes; where one has more than another, those are left
    envcfg_text=$SLURM_GPUS envcfg_by=$ENVCFG_JOB_NODES
  fi
  IFS=, read -r -a envcfg_items <<<"${envcfg_text:-${SLURM_JOB_GPUS-}}"
  for envcfg_item in "${envcfg_items[@]}"; do
    envcfg_item=${envcfg_item##*:}
    if [[ -z $envcfg_text && $envcfg_item =~ ^([0-9]+)-([0-9]+)$ ]]; then # numbers of this node's: "0,2-3"
      envcfg_item=$((10#${BASH_REMATCH[2]} - 10#${BASH_REMATCH[1]} + 1))
    elif [[ -z $envcfg_text || $envcfg_item == *[!0-9]* || -z $envcfg_item ]]; then
      envcfg_item=1 # "mi250x" is one
    fi
    envcfg_sum=$((envcfg_sum + 10#$envcfg_item))
  done
  printf '%s' "${envcfg_sum:+$((envcfg_sum / envcfg_by))}"
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
    if [[ -n $ENVCFG_COMPONENTS ]]; then envcfg_components_host "$@"; fi
    # --mem=0: whatever memory a step holds, or did not give back yet
    exec srun --overlap --mem=0 --nodes="$ENVCFG_JOB_NODES" --ntasks="$ENVCFG_JOB_NODES" \
      --ntasks-per-node=1 --export=ALL "$@" </dev/null
  )
}

envcfg_srun() { # COMMAND...: run the step; return the code of the task that failed first
  local envcfg_code=0 envcfg_first='' envcfg_lines='' envcfg_told='' envcfg_reader='' envcfg_late=0 envcfg_start=''
  local -a envcfg_task=()
  if [[ -n $ENVCFG_HIDES ]] && envcfg_is_clean; then # tell it how many words come before the rank part's arguments
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task $((${#ENVCFG_ENTER[@]} + 4)))
  fi
  if [[ -n $ENVCFG_NODES_WANTED ]]; then
    ENVCFG_SRUN+=(--nodes="$ENVCFG_NODES")
    unset -v SLURM_GPUS # how many the job has on all its nodes
  fi
  envcfg_tap
  if [[ -n $envcfg_lines ]]; then
    envcfg_start_tasks "$@" 2>&"$envcfg_lines"
  else
    envcfg_start_tasks "$@"
  fi
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  if [[ -n $envcfg_lines ]]; then
    printf '%s\n' "$ENVCFG_LAST_LINE" >&"$envcfg_lines" # what srun has started may hold the pipe, too
    read -r -t 10 -u "$envcfg_told" envcfg_first || envcfg_late=$?
    if ((envcfg_late > 128)); then kill -s KILL "$envcfg_reader"; fi # it has been stopped
    envcfg_close "$envcfg_lines" "$envcfg_told"
  elif [[ -n $envcfg_start && $envcfg_code != 0 ]]; then
    envcfg_first=$(tail -c "+$((envcfg_start + 1))" </dev/fd/2 2>/dev/null | grep -a '^srun: ' 2>/dev/null | envcfg_first_code 2>/dev/null)
  fi
  if ((envcfg_code != 0 && envcfg_first == 0)); then
    envcfg_own_code srun "$envcfg_code" "${envcfg_first:+the step was ended before any rank failed}"
  fi
  return $((envcfg_code == 0 || envcfg_first == 0 ? envcfg_code : envcfg_first))
}

envcfg_start_tasks() { # COMMAND...
  envcfg_spawn exec srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
}

# srun ends with the highest code of its tasks, and a task that it ends has 143. The task that failed
# first is named in srun's own lines alone. So these come through a pipe. The ranks' stderr does not:
# by --error srun opens this shell's stderr for it once more, which is the same if that is a pipe, a
# device, or a file that is written at its end. Of another file, the new part is read afterwards.
envcfg_tap() { # set envcfg_lines and envcfg_told: srun's lines, and the code in them; else envcfg_start, or nothing
  local envcfg_stderr envcfg_word envcfg_value envcfg_files=${SLURM_STDOUTMODE-}${SLURM_STDERRMODE-}${SRUN_OUTPUT-}${SRUN_ERROR-}
  for envcfg_word in "${ENVCFG_SRUN[@]}"; do
    if [[ $envcfg_word == --pt* ]]; then return; fi
    if [[ $envcfg_word == @(--ou*|--er*|-*([EhkKlOqQsuvVXZ])[oe]*) ]]; then envcfg_files=yes; fi # the user's own files
  done
  if [[ ! -e /dev/fd/2 ]]; then return; fi
  if [[ -z $envcfg_files ]]; then
    while read -r envcfg_word envcfg_value; do
      if [[ $envcfg_word == pos: ]]; then envcfg_start=$envcfg_value; fi
      if [[ $envcfg_word == flags: && -f /dev/fd/2 ]] && ! ((8#$envcfg_value & 8#2000)); then return; fi # not O_APPEND
    done </proc/self/fdinfo/2
    envcfg_start=''
    if [[ -p /dev/fd/2 ]] && read -r -t 0 -u 2; then return; fi # its reader is gone: to open it would wait for one
    exec {envcfg_stderr}>&2
    if ! { : >>"/dev/fd/$envcfg_stderr"; } 2>/dev/null; then return; fi # a socket
    ENVCFG_SRUN+=("--error=/dev/fd/$envcfg_stderr" --open-mode=append)
  fi
  : {envcfg_lines}<> <(:)
  exec {envcfg_told}< <(
    trap '' HUP INT QUIT PIPE TERM USR1 USR2
    exec <"/dev/fd/$envcfg_lines"
    envcfg_close "$ENVCFG_PIPE" "$ENVCFG_LIFE" "$envcfg_lines"
    envcfg_first_code
  )
  envcfg_reader=$!
}

ENVCFG_LAST_LINE='envcfg: srun has ended'

envcfg_first_code() { # of srun's lines, copy all to stderr; print the code of the task that failed first, if they tell
  local envcfg_line envcfg_told='' envcfg_number envcfg_form=' error: [^ ]+: tasks? [][0-9,-]+: (.*)$'
  local envcfg_ends='Job step aborted|forcing job termination|sending Ctrl-C|Node failure on|[Ll]aunch.* failed|[Aa]borting|Force Terminated'
  local -a envcfg_signals=('' Hangup Interrupt Quit 'Illegal instruction' 'Trace/breakpoint trap' Aborted 'Bus error'
    'Floating point exception' Killed 'User defined signal 1' 'Segmentation fault' 'User defined signal 2' 'Broken pipe'
    'Alarm clock' Terminated [24]='CPU time limit exceeded' [25]='File size limit exceeded' [31]='Bad system call')
  while IFS= read -r envcfg_line; do
    if [[ $envcfg_line == *"$ENVCFG_LAST_LINE" ]]; then
      printf '%s' "${envcfg_line%"$ENVCFG_LAST_LINE"}" >&2
      break
    fi
    printf '%s\n' "$envcfg_line" >&2 || : # a disk may be full
    if [[ -n $envcfg_told || $envcfg_line != srun:* ]]; then continue; fi
    if [[ $envcfg_line =~ $envcfg_form ]]; then
      envcfg_line=${BASH_REMATCH[1]% (core dumped)} envcfg_told=unknown
      case $envcfg_line in
        'Exited with exit code '*) envcfg_told=${envcfg_line##* } ;;
        'Real-time signal '*) envcfg_told=$((162 + ${envcfg_line##* })) ;;
        'Out Of Memory') envcfg_told=137 ;; # by the kernel's SIGKILL; srun itself ends with 1
        *)
          for envcfg_number in "${!envcfg_signals[@]}"; do
            if [[ $envcfg_line == "${envcfg_signals[envcfg_number]}" ]]; then envcfg_told=$((128 + envcfg_number)); fi
          done
          ;;
      esac
    elif [[ $envcfg_line =~ $envcfg_ends ]]; then # all tasks end, and none has failed before
      envcfg_told=0
    fi
  done
  if [[ $envcfg_told != *[!0-9]* ]]; then printf '%s\n' "$envcfg_told"; fi
}

envcfg_in_rank <<'ENVCFG_TEXT'
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
case ${SLURM_TRES_PER_TASK-} in
  *gres/gpu*) # as Slurm 23.11 and newer gives them: cpu=7,gres/gpu:a100=2
    envcfg_own=${SLURM_TRES_PER_TASK##*gres/gpu}
    envcfg_own=${envcfg_own%%,*}
    envcfg_own=${envcfg_own##*[:=]}
    ;;
esac
if ! envcfg_is_preset MASTER_ADDR; then
  envcfg_need SLURM_STEP_NODELIST "${SLURM_STEP_NODELIST-}"
  envcfg_first_node "$SLURM_STEP_NODELIST" || envcfg_fail \
    "SLURM_STEP_NODELIST is not a list of nodes: '$SLURM_STEP_NODELIST'" 'set MASTER_ADDR'
fi
envcfg_meet "${envcfg_node-}$ENVCFG_SUFFIX" "$((10000 + (SLURM_JOB_ID * 101 + SLURM_STEP_ID) % 20000))"
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
