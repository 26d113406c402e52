# shellcheck shell=bash # local 2: this machine: ranks are child processes of the shell
# ranks: RANK the number of its process, LOCAL_RANK as RANK, WORLD_SIZE --ranks or 1, MASTER_ADDR this machine, cores all of the machine
# defines: envcfg_chosen; adds: SHAPE=envcfg_is_all
ENVCFG_TASK_NAMES='SLURM_PROCID:SLURM_STEP_NUM_TASKS FLUX_TASK_RANK:FLUX_JOB_SIZE PALS_RANKID:PMI_SIZE
  PMI_RANK:PMI_SIZE OMPI_COMM_WORLD_RANK:OMPI_COMM_WORLD_SIZE PMIX_RANK:OMPI_COMM_WORLD_SIZE'
ENVCFG_NODE_NAME='envcfg_host=local'

envcfg_survey() { # this machine is the job
  ENVCFG_NODES=1 ENVCFG_JOB_NODES=''
  envcfg_around
}

envcfg_around() { # set ENVCFG_JOB_NODES: how many nodes the job has in which this runs, whoever gave it
  local envcfg_name
  local -A envcfg_seen=()
  if [[ -n ${SLURM_JOB_ID-} ]]; then
    ENVCFG_JOB_NODES=${SLURM_NNODES:-${SLURM_JOB_NUM_NODES-}}
  elif [[ -n ${PBS_JOBID-} && -r ${PBS_NODEFILE-} ]]; then
    while read -r envcfg_name; do
      if [[ -n $envcfg_name ]]; then envcfg_seen[$envcfg_name]=yes; fi
    done <"$PBS_NODEFILE"
    ENVCFG_JOB_NODES=${#envcfg_seen[@]}
  elif [[ -n ${FLUX_URI-} ]]; then
    ENVCFG_JOB_NODES=$(flux getattr size 2>/dev/null </dev/null) || :
  fi
  if [[ -z $ENVCFG_JOB_NODES || $ENVCFG_JOB_NODES == *[!0-9]* ]]; then ENVCFG_JOB_NODES=1; fi
  ENVCFG_JOB_NODES=$((10#$ENVCFG_JOB_NODES))
}

envcfg_is_all() { # whether this machine is all that the job has
  if ((ENVCFG_JOB_NODES > 1)); then
    envcfg_misplaced nodes "the job has $ENVCFG_JOB_NODES nodes, but --launcher local starts ranks on this one only" \
      'make the script with a launcher that uses all nodes, as --launcher srun'
  fi
}

envcfg_name_job() { # set ENVCFG_JOB, by which the files of this run differ from all others
  builtin printf -v ENVCFG_JOB 'local-%(%Y%m%dT%H%M%S)T-%d' -1 "$BASHPID"
}

envcfg_gpus() { :; } # nobody has asked for any here

envcfg_chosen() { :; } # there is one node only

envcfg_overlap() { :; } # all steps here may

envcfg_host() { "$@"; } # COMMAND...: run it on this machine

envcfg_port() { # set MASTER_PORT to a free port below the ephemeral range
  local envcfg_port=$((10000 + BASHPID % 20000))
  while (: </dev/tcp/127.0.0.1/"$envcfg_port") 2>/dev/null; do envcfg_port=$((envcfg_port + 1)); done
  MASTER_PORT=$envcfg_port
}

envcfg_hand_on() { # what masks GPUs here, as arguments where the runtime keeps it from the program
  local envcfg_name
  local -a envcfg_given=()
  if [[ -z $ENVCFG_HIDES ]] || ! envcfg_is_clean; then return; fi
  for envcfg_name in ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
    if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
  done
  ENVCFG_ARGS=("${envcfg_given[@]}" "ENVCFG_GIVEN=${envcfg_given[*]%%=*}" "${ENVCFG_ARGS[@]}") # settings win
}

envcfg_in_rank <<'ENVCFG_TEXT'
envcfg_host=local
envcfg_nodes=1
envcfg_id=local-$MASTER_PORT
envcfg_address=127.0.0.1
ENVCFG_TEXT
