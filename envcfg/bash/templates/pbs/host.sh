# shellcheck shell=bash

envcfg_survey() { # what the job is: the nodes that PBS names, and whose mpiexec starts tasks there
  local envcfg_name
  local -A envcfg_seen=()
  ENVCFG_NODES=1 ENVCFG_HOSTS=() ENVCFG_MPIEXEC=() ENVCFG_MASTER_ADDR=''
  if [[ -z ${PBS_JOBID-} || -z ${PBS_NODEFILE-} ]]; then
    envcfg_fault 'this is no PBS job: PBS_JOBID or PBS_NODEFILE is not set' \
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
  if type -P mpiexec >/dev/null; then
    envcfg_said=$(mpiexec --version 2>&1 </dev/null) || :
  fi
  case $envcfg_said in
    *'mpiexec version '[0-9]*) ENVCFG_DIALECT=pals ;;
    *HYDRA*) ENVCFG_DIALECT=hydra ;;
    *OpenRTE* | *'Open MPI'*) ENVCFG_DIALECT=openmpi ;;
    '') envcfg_fault 'mpiexec is not on PATH, or says nothing' "load the module of the system's MPI" ;;
    *) envcfg_fault "this mpiexec is none that is known: '${envcfg_said%%$'\n'*}'" \
      'load the module of PALS, of MPICH or of Open MPI' ;;
  esac
}

envcfg_name_job() { # set ENVCFG_JOB, by which the files of this job differ from all others
  ENVCFG_JOB=${PBS_JOBID-}
  ENVCFG_JOB=${ENVCFG_JOB%%.*}              # without the server
  ENVCFG_JOB=${ENVCFG_JOB//[!A-Za-z0-9_]/-} # 123[4], of an array
  ENVCFG_JOB=${ENVCFG_JOB%-}
  ENVCFG_JOB=${ENVCFG_JOB:-none}
}

envcfg_gpus() { # PBS does not tell how many the job has
  :
}

envcfg_overlap() { # mpiexec lets steps run side by side
  :
}

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

envcfg_host() { # COMMAND...: run it once on each node, beside whatever runs there
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
