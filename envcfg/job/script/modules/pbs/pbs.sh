# shellcheck shell=bash # pbs 6: PBS: read the job, use its mpiexec, and read the task's rank
# ranks: RANK PALS_RANKID or PMI_RANK or OMPI_COMM_WORLD_RANK, LOCAL_RANK PALS_LOCAL_RANKID or MPI_LOCALRANKID or OMPI_COMM_WORLD_LOCAL_RANK, WORLD_SIZE nodes x ranks per node, MASTER_ADDR the first node of PBS_NODEFILE, cores all of the job
# needs: pbs/task; reads: ENVCFG_RANK_SHELL ENVCFG_SUFFIX
# launch: mpiexec "${ENVCFG_SIZED[@]}" OPTIONS "${ENVCFG_MPIEXEC[@]}" ENTER SHELL -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- COMMAND
ENVCFG_TASK_NAMES='PALS_RANKID:PMI_SIZE PMI_RANK:PMI_SIZE OMPI_COMM_WORLD_RANK:OMPI_COMM_WORLD_SIZE'
ENVCFG_NODE_NAME='read -r envcfg_host </proc/sys/kernel/hostname'

envcfg_survey() { # what the job is: the nodes that PBS names, and whose mpiexec starts tasks there
  local envcfg_name
  local -A envcfg_seen=()
  ENVCFG_NODES=1 ENVCFG_HOSTS=() ENVCFG_MPIEXEC=() ENVCFG_MASTER_ADDR=''
  if [[ -z ${PBS_JOBID-} || -z ${PBS_NODEFILE-} ]]; then
    envcfg_fault 'this is not a PBS job: PBS_JOBID or PBS_NODEFILE is not set' \
      'use it in a script of qsub or under qsub -I, or choose --launcher local'
    return
  elif [[ -n ${PALS_RANKID-}${PMI_RANK-}${OMPI_COMM_WORLD_RANK-} ]] && ! envcfg_is_leftover; then
    envcfg_fault 'this is a task of mpiexec, not the job around it' \
      'use it in a script of qsub or under qsub -I'
    return
  elif [[ ! -r $PBS_NODEFILE ]]; then
    envcfg_fault "PBS_NODEFILE=$PBS_NODEFILE cannot be read here" \
      'PBS keeps it on the first node of the job: run this there'
    return
  fi
  while read -r envcfg_name || [[ -n $envcfg_name ]]; do # a node stands there once for each of its slots
    if [[ $envcfg_name == *[!A-Za-z0-9_.-]* ]]; then
      envcfg_fault "PBS_NODEFILE=$PBS_NODEFILE names no node by '$envcfg_name'" 'it has one name in each line'
    elif [[ -n $envcfg_name && -z ${envcfg_seen[$envcfg_name]-} ]]; then
      envcfg_seen[$envcfg_name]=yes
      ENVCFG_HOSTS+=("$envcfg_name")
    fi
  done <"$PBS_NODEFILE"
  ENVCFG_NODES=${#ENVCFG_HOSTS[@]}
  ENVCFG_MASTER_ADDR=${ENVCFG_HOSTS[0]-}
  if ((ENVCFG_NODES == 0)); then
    envcfg_fault "PBS_NODEFILE=$PBS_NODEFILE names no node" 'see what qstat -f says of this job'
  fi
  envcfg_dialect
}

envcfg_dialect() { # set ENVCFG_DIALECT: options and the variables of a task are each mpiexec's own
  local envcfg_said=''
  if type -P mpiexec >/dev/null; then envcfg_said=$(mpiexec --version 2>&1 </dev/null) || :; fi
  case $envcfg_said in
    *'mpiexec version '[0-9]*) ENVCFG_DIALECT=pals ;;
    *HYDRA*) ENVCFG_DIALECT=hydra ;;
    *OpenRTE* | *'Open MPI'*) ENVCFG_DIALECT=openmpi ;;
    '') envcfg_fault 'mpiexec is not on PATH, or says nothing' "load the module of the system's MPI" ;;
    *) envcfg_fault "this mpiexec is none that is known: '${envcfg_said%%$'\n'*}'" \
      'load the module of PALS, of MPICH or of Open MPI' ;;
  esac
}

envcfg_option() { ENVCFG_MPIEXEC+=("$1"); } # WORD: of the program that starts the tasks

envcfg_name_job() { # set ENVCFG_JOB, by which the files of this job differ from all others
  ENVCFG_JOB=${PBS_JOBID-}
  ENVCFG_JOB=${ENVCFG_JOB%%.*}              # without the server
  ENVCFG_JOB=${ENVCFG_JOB//[!A-Za-z0-9_]/-} # 123[4], of an array
  ENVCFG_JOB=${ENVCFG_JOB%-}
  ENVCFG_JOB=${ENVCFG_JOB:-none}
}

envcfg_gpus() { :; } # PBS does not tell how many the job has

envcfg_overlap() { :; } # mpiexec lets steps run side by side

envcfg_is_here() { # NODE: whether this is that node
  local envcfg_name
  read -r envcfg_name </proc/sys/kernel/hostname
  [[ ${envcfg_name%%.*} == "${1%%.*}" ]]
}

envcfg_sized() { # TASKS: set ENVCFG_SIZED, mpiexec's words for so many on each node of the step
  local envcfg_each=$1 envcfg_hosts envcfg_name
  printf -v envcfg_hosts ',%s' "${ENVCFG_HOSTS[@]:0:ENVCFG_NODES}"
  case $ENVCFG_DIALECT in
    pals) ENVCFG_SIZED=(--np $((envcfg_each * ENVCFG_NODES)) --ppn "$envcfg_each" --hosts "${envcfg_hosts:1}") ;;
    hydra) ENVCFG_SIZED=(-n $((envcfg_each * ENVCFG_NODES)) -ppn "$envcfg_each" -hosts "${envcfg_hosts:1}") ;;
    openmpi)
      envcfg_hosts=${envcfg_hosts//,/":$envcfg_each,"}:$envcfg_each
      # oversubscribe: where it asks PBS itself, a node has as many slots as lines in PBS_NODEFILE
      ENVCFG_SIZED=(-n $((envcfg_each * ENVCFG_NODES)) --host "${envcfg_hosts#*,}" --map-by "ppr:$envcfg_each:node:oversubscribe")
      while read -r envcfg_name; do # the others pass the job's environment by themselves
        case $envcfg_name in
          OMPI_* | PMIX_* | HOSTNAME | PWD | OLDPWD | SHLVL | _) ;;
          *) ENVCFG_SIZED+=(-x "$envcfg_name") ;;
        esac
      done < <(compgen -e)
      ;;
  esac
}

envcfg_host() { # COMMAND...: run it once on each node, whatever else runs there
  if ((${#ENVCFG_HOSTS[@]} == 1)) && envcfg_is_here "${ENVCFG_HOSTS[0]}"; then
    "$@"
    return
  fi
  (
    ENVCFG_NODES=${#ENVCFG_HOSTS[@]}
    envcfg_sized 1
    exec mpiexec "${ENVCFG_SIZED[@]}" "$@" </dev/null
  )
}

envcfg_mpiexec() { # TASKS COMMAND...: the step itself, with so many tasks on each node
  local envcfg_number=${PBS_JOBID%%[!0-9]*} envcfg_behind=0 envcfg_code=0 envcfg_tasks=$((${1:-2} * ENVCFG_NODES))
  local -a envcfg_task=()
  # The port is the job's and the step's own, below the ephemeral range.
  ENVCFG_ARGS+=("ENVCFG_DIALECT=$ENVCFG_DIALECT" "ENVCFG_TASKS=$1" "ENVCFG_STEP_NODES=$ENVCFG_NODES"
    "ENVCFG_STEP=${PBS_JOBID%%.*}.$BASHPID" "ENVCFG_MASTER_ADDR=$ENVCFG_MASTER_ADDR"
    "ENVCFG_MASTER_PORT=$((10000 + (10#${envcfg_number:-0} * 101 + BASHPID) % 20000))")
  shift
  if [[ -n $ENVCFG_HIDES ]] && envcfg_is_clean; then envcfg_behind=$((${#ENVCFG_ENTER[@]} + 4)); fi # the rank part's name
  if ((envcfg_behind > 0)) || [[ $ENVCFG_DIALECT == hydra ]]; then
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task "$envcfg_behind")
  fi
  envcfg_spawn exec mpiexec "${ENVCFG_SIZED[@]}" "${ENVCFG_MPIEXEC[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  # Those of MPICH and of Open MPI end with the code of the task that failed first.
  if ((envcfg_code != 0 && envcfg_tasks > 1)) && [[ $ENVCFG_DIALECT == pals ]]; then envcfg_own_code mpiexec "$envcfg_code"; fi
  return "$envcfg_code"
}

envcfg_is_bound() { # whether the user has chosen a binding
  [[ -n ${PALS_CPU_BIND-} || " ${ENVCFG_MPIEXEC[*]-}" == *' -'*bind* ]]
}

envcfg_unbind() { # a task has all cores of the job; some mpiexec would give it one
  if envcfg_is_bound; then return; fi
  case $ENVCFG_DIALECT in
    pals) ENVCFG_SIZED+=(--cpu-bind none) ;;
    openmpi) ENVCFG_SIZED+=(--bind-to none) ;;
  esac
}

envcfg_in_rank <<'ENVCFG_TEXT'
read -r envcfg_host </proc/sys/kernel/hostname # mpiexec does not tell
# Who this task is, as its mpiexec says; not which node it is on. That follows, as each node
# has the same number of tasks, numbered node by node.
case $ENVCFG_DIALECT in
  pals)
    envcfg_need PALS_RANKID "${PALS_RANKID-}" PALS_LOCAL_RANKID "${PALS_LOCAL_RANKID-}"
    export RANK="$PALS_RANKID" LOCAL_RANK="$PALS_LOCAL_RANKID"
    ;;
  hydra)
    envcfg_need PMI_RANK "${PMI_RANK-}" MPI_LOCALRANKID "${MPI_LOCALRANKID-}"
    export RANK="$PMI_RANK" LOCAL_RANK="$MPI_LOCALRANKID"
    ;;
  openmpi)
    envcfg_need OMPI_COMM_WORLD_RANK "${OMPI_COMM_WORLD_RANK-}" OMPI_COMM_WORLD_LOCAL_RANK "${OMPI_COMM_WORLD_LOCAL_RANK-}"
    export RANK="$OMPI_COMM_WORLD_RANK" LOCAL_RANK="$OMPI_COMM_WORLD_LOCAL_RANK"
    ;;
esac
if [ -z "$ENVCFG_TASKS" ]; then # as a line says that mpiexec alone reads
  ENVCFG_TASKS=${MPI_LOCALNRANKS:-${OMPI_COMM_WORLD_LOCAL_SIZE:-1}}
  ENVCFG_STEP_NODES=$((${PMI_SIZE:-${OMPI_COMM_WORLD_SIZE:-1}} / ENVCFG_TASKS))
fi
export LOCAL_WORLD_SIZE="$ENVCFG_TASKS" WORLD_SIZE="$((ENVCFG_TASKS * ENVCFG_STEP_NODES))"
export NODE_RANK="$((RANK / LOCAL_WORLD_SIZE))"
envcfg_nodes=$ENVCFG_STEP_NODES
envcfg_id=$ENVCFG_STEP # of what this step starts together
[ "$LOCAL_RANK" -eq "$((RANK % LOCAL_WORLD_SIZE))" ] || envcfg_fail \
  "task $RANK is number $LOCAL_RANK on its node, so tasks are not numbered node by node" \
  'has an option or a variable told mpiexec to place them otherwise?'
envcfg_meet "$ENVCFG_MASTER_ADDR$ENVCFG_SUFFIX" "$ENVCFG_MASTER_PORT"
envcfg_rest=${ENVCFG_HOSTS-}
envcfg_skip=$NODE_RANK
while [ "$envcfg_skip" -gt 0 ]; do
  envcfg_rest=${envcfg_rest#*,}
  envcfg_skip=$((envcfg_skip - 1))
done
envcfg_address=${envcfg_rest%%,*}$ENVCFG_SUFFIX # of this node, for its agent
unset -v ENVCFG_DIALECT ENVCFG_TASKS ENVCFG_STEP_NODES ENVCFG_STEP ENVCFG_MASTER_PORT \
  ENVCFG_HOSTS
ENVCFG_TEXT
