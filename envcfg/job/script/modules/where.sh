# shellcheck shell=bash # where 4: refuse a wrong place: a task, another cluster, or addresses that ranks cannot reach
# reads: ENVCFG_ALLOWED ENVCFG_CLUSTERS
# By the addresses and interfaces in these, ranks on different nodes find each other.
ENVCFG_MEETING='MASTER_ADDR NCCL_SOCKET_IFNAME NCCL_OOB_NET_IFNAME NCCL_COMM_ID GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME
  UCX_NET_DEVICES JAX_COORDINATOR_ADDRESS HOROVOD_GLOO_IFACE HOROVOD_GLOO_RENDEZVOUS_ADDR'

envcfg_misplaced() { # WORD MESSAGE HINT: a fault, unless the user allows it by this word
  local envcfg_allows=" $ENVCFG_ALLOWED ${ENVCFG_ALLOW-} "
  if [[ ${envcfg_allows//,/ } != *" $1 "* ]]; then
    envcfg_fault "$2" "$3; if this is meant, export ENVCFG_ALLOW=$1, or make the script with --allow $1"
  fi
}

envcfg_where() { # is this the job and none of its tasks, and the right cluster?
  local envcfg_pair envcfg_name envcfg_count
  # Each of several tasks would start the whole step once more. By the first name of a pair a task
  # knows its number, by the second how many there are.
  for envcfg_pair in $ENVCFG_TASK_NAMES; do
    envcfg_name=${envcfg_pair%:*} envcfg_count=${envcfg_pair#*:}
    envcfg_count=${!envcfg_count-}
    # Of a batch script and a shell of salloc, Slurm's number of the step is a very high one.
    if [[ -z ${!envcfg_name-} || ${!envcfg_name}$envcfg_count == *[!0-9]* ]] \
      || [[ $envcfg_name == SLURM_* && ${SLURM_STEP_ID-} == 42949672?? ]] \
      || [[ ${!envcfg_name} != *[1-9]* && $envcfg_count != [1-9]?* && $envcfg_count != [2-9] ]]; then
      continue
    elif ((ENVCFG_FAULTS == 0)) && ! envcfg_is_leftover; then
      envcfg_misplaced tasks "this is one of ${envcfg_count:-several} tasks ($envcfg_name=${!envcfg_name}), and each would start all ranks" \
        'start the script once, without srun or mpiexec in front of it'
    fi
    break
  done
  if [[ -n ${SLURM_CLUSTER_NAME-} && -n $ENVCFG_CLUSTERS && $SLURM_CLUSTER_NAME != @(${ENVCFG_CLUSTERS// /|}) ]]; then
    envcfg_show SLURM_CLUSTER_NAME "$SLURM_CLUSTER_NAME"
    envcfg_misplaced cluster "this is the cluster $envcfg_shown, but the script was made for $ENVCFG_CLUSTERS" \
      'make the script on this cluster, or with its profile: --profile NAME'
  fi
}

envcfg_is_leftover() { # whether a job began nearer to this shell than any task: then variables of tasks are another job's
  local envcfg_name envcfg_stat envcfg_pid=$BASHPID
  while { IFS= read -r envcfg_name <"/proc/$envcfg_pid/comm"; } 2>/dev/null; do
    case $envcfg_name in
      slurmstepd) # it calls itself "slurmstepd: [JOB.STEP]"
        IFS= read -r -d '' envcfg_name <"/proc/$envcfg_pid/cmdline" || :
        [[ $envcfg_name == *.@(batch|interactive|extern)']' ]]
        return $?
        ;;
      salloc | pbs_mom | flux-broker*) return 0 ;;
      mpiexec* | mpirun | orted | prted | hydra_* | palsd | flux-shell) return 1 ;;
    esac
    IFS= read -r -d '' envcfg_stat <"/proc/$envcfg_pid/stat" || :
    read -r _ envcfg_pid _ <<<"${envcfg_stat##*) }" # behind the name: state, parent
  done
  return 1
}

envcfg_meeting() { # on several nodes: what the ranks get must lead from one node to another
  local envcfg_name envcfg_word
  local -A envcfg_values=()
  if ((ENVCFG_NODES == 1)); then return; fi
  for envcfg_name in $ENVCFG_MEETING; do
    if [[ -n ${!envcfg_name+set} ]]; then envcfg_values[$envcfg_name]=${!envcfg_name}; fi
  done
  for envcfg_word in "${ENVCFG_ARGS[@]}"; do # NAME=VALUE, or -u NAME: its value is then any that leads somewhere
    envcfg_values[${envcfg_word%%=*}]=${envcfg_word#*=}
  done
  for envcfg_name in $ENVCFG_MEETING; do
    envcfg_word=${envcfg_values[$envcfg_name]-^unset}
    envcfg_show "$envcfg_name" "$envcfg_word"
    envcfg_word=${envcfg_word#=}
    case ,${envcfg_word,,}, in
      ,,) envcfg_shown="$envcfg_name is empty" ;;
      ,^*) continue ;; # unset, or all interfaces but these
      *,lo[,:]* | *,localhost[46,:.]* | *,ip6-lo* | *[,:]127.[0-9]* | *,0.0.0.0,* | *,0,* | *,::1,* | *,0:0:0:0:0:0:0:1,* | *,'[::1]'*)
        envcfg_shown="$envcfg_name=$envcfg_shown is the loopback"
        ;;
      *) continue ;;
    esac
    envcfg_misplaced loopback "$envcfg_shown: ranks on $ENVCFG_NODES nodes cannot connect" \
      "unset $envcfg_name before the step, or give the right one: --set $envcfg_name=VALUE"
  done
}
