#!/usr/bin/env bash
# envcfg:script 0859193cb842e911d996e917d2bcb17e75794de812f2076096e58a7ca8ee1e91
# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand
# envcfg 0.1.0, profile aws-p5 (sha256 700257b6e556f7c0)
# made by: envcfg wrap --profile aws-p5 --runtime pyxis --container /images/pytorch.sqsh --bind /data:/mnt/data:ro -- python3 dump.py out 'a b'
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# It needs bash 4.4 and, on the compute nodes, neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL --cpu-bind=none "${ENVCFG_SRUN[@]}" \
#     --container-image /images/pytorch.sqsh --no-container-entrypoint \
#     --container-workdir "$PWD" --container-mounts "$ENVCFG_MOUNTS" /bin/sh -c \
#     "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'

case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac

# Aliases of the job's shell are not to change what follows; they are back before the step.
ENVCFG_BASHOPTS=$BASHOPTS
\builtin shopt -u expand_aliases

# --- What this job needs ------------------------------------------------------------

ENVCFG_RANKS=''
ENVCFG_GROUPS=''
ENVCFG_IMAGE='/images/pytorch.sqsh'
ENVCFG_SHELL='/bin/sh'
ENVCFG_CLUSTERS=''
ENVCFG_ALLOWED=''

envcfg_mounts() {
  # without it Enroot puts no driver into an image that is not based on NVIDIA's
  # [profiles/efa.yaml:79]
  envcfg_export NVIDIA_VISIBLE_DEVICES all
  # of the driver, Enroot by itself brings what nvidia-smi needs, and no CUDA
  # [profiles/efa.yaml:85]
  envcfg_export NVIDIA_DRIVER_CAPABILITIES compute,utility
  envcfg_bind /data /data:/mnt/data:ro
}

envcfg_settings() {
  # names of interfaces differ by instance and image (ens6, enp40s0), so it is said which
  # cannot reach another node [profiles/efa.yaml:102]
  envcfg_set NCCL_SOCKET_IFNAME '^docker,lo,veth'
  envcfg_preset_meeting
  envcfg_preset MASTER_PORT
  # the node is the job's, so ranks may use all of its cores, not the few of srun's choice
  # [profiles/efa.yaml:44]
  ENVCFG_SRUN+=(--cpu-bind=none)
}

# --- How it is started --------------------------------------------------------------

envcfg_fits() { # RANKS GPUS, per node: what is sure to fail ends here, what is idle is said
  if [[ -z $1 || -z $2 || $2 == 0 || $1 == "$2" ]]; then
    return 0
  elif (($1 < $2)); then
    envcfg_note "$1 ranks per node, but $2 GPUs: the others idle, unless a rank takes several"
  elif [[ -z $ENVCFG_RANKS ]]; then
    envcfg_error "$1 tasks per node, but $2 GPUs: no two ranks can share one in NCCL or RCCL" \
      "ask for --ntasks-per-node=$2, or give --ranks $1 if that is meant"
    return 2
  fi
}

envcfg_is_sized() { # whether options of the user say how many tasks there are
  [[ " ${ENVCFG_SRUN[*]}" == *' --ntasks'* || " ${ENVCFG_SRUN[*]}" == *' -n'* ]]
}

envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks=$ENVCFG_RANKS envcfg_gpus envcfg_tasks=''
  envcfg_gpus=$(envcfg_gpus)
  if ! envcfg_is_sized; then
    envcfg_tasks=$(envcfg_tasks)
    if [[ -z $envcfg_ranks && -z ${SLURM_NTASKS:-${SLURM_NPROCS-}} ]]; then
      # By tasks per node alone srun may start one. Where nobody said: one per GPU.
      envcfg_ranks=${envcfg_tasks:-${envcfg_gpus#0}}
    fi
  fi
  if [[ -n $envcfg_ranks ]]; then
    ENVCFG_SRUN+=(--ntasks=$((envcfg_ranks * ENVCFG_NODES)) --ntasks-per-node="$envcfg_ranks")
  fi
  envcfg_fits "${envcfg_ranks:-$envcfg_tasks}" "$envcfg_gpus" || return
  envcfg_pin
  envcfg_srun "$@"
}

envcfg_srun() { # COMMAND...: the step itself
  local -a envcfg_task=()
  if envcfg_is_clean; then
    # The words up to the rank part's name, then what srun told this task, then the rest.
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task $((${#ENVCFG_ENTER[@]} + 4)))
  fi
  envcfg_spawn exec srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}"
}

envcfg_pin() { # the profile has no CPU masks: srun's own binding, with the job's cores
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    ENVCFG_SRUN+=(--cpus-per-task="$SLURM_CPUS_PER_TASK") # some versions do not inherit it
  fi
}

envcfg_find_image() { # set envcfg_image, a path: absolute, and there
  if [[ $envcfg_image != /* ]]; then envcfg_image=$PWD/$envcfg_image; fi
  if [[ ! -e $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image does not exist on ${HOSTNAME:-this host}" \
      'give the path as the compute nodes see it'
  elif [[ ! -r $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image cannot be read" 'check its permissions'
  fi
}

envcfg_find_source() { # SOURCE [SPEC]: of a bind
  if [[ ! -e $1 ]]; then
    envcfg_fault "bind source $1 does not exist on ${HOSTNAME:-this host}" "correct or drop the bind '${2-$1}'"
  fi
}

envcfg_export() { # NAME VALUE: hooks read it before there is a container; what the job has set wins
  envcfg_differs job "$1" "$2"
  export "$1=${!1-$2}"
}

# Where a plug-in of Slurm's makes the container, which adds options to srun.

envcfg_find_option() { # OPTION NAME: of srun, if NAME is installed
  if [[ $(srun --help </dev/null 2>&1) != *"$1"[=[:space:]]* ]]; then
    envcfg_fault "srun has no option $1: $2 is not installed on ${HOSTNAME:-this host}" \
      'name the runtime that is there with --runtime'
  fi
}

envcfg_bind_here() { # words with a relative path mean in the container what they mean here
  if [[ $PWD == *[,:\$\`\"]* ]]; then
    envcfg_fault "the container cannot have the folder of the job: ${PWD@Q}" \
      'start it in one whose path has none of , : $ ` "'
  elif [[ $PWD != / ]]; then
    envcfg_bind "$PWD"
  fi
}

envcfg_bind() { # SOURCE [SPEC]: mount it, at the same place or as SPEC says
  envcfg_find_source "$@"
  ENVCFG_MOUNTS+=",${2-$1}"
}

envcfg_enter() { # set ENVCFG_ENTER: the options by which tasks enter the container
  local envcfg_image=$ENVCFG_IMAGE
  envcfg_find_option --container-image Pyxis
  envcfg_find_image
  ENVCFG_ENTER=(--container-image "$envcfg_image" --no-container-entrypoint --container-workdir "$PWD")
  ENVCFG_MOUNTS=''
  envcfg_bind_here
  envcfg_mounts
  ENVCFG_MOUNTS=${ENVCFG_MOUNTS#,} # in one option, as of several the last alone counts
  if [[ -n $ENVCFG_MOUNTS ]]; then ENVCFG_ENTER+=(--container-mounts "$ENVCFG_MOUNTS"); fi
}

envcfg_is_clean() { # the task's variables reach the program, where the image has no other value
  return 1
}

# --- What each rank does first, inside the container --------------------------------

IFS= builtin read -r -d '' ENVCFG_RANK <<'ENVCFG_TEXT' || builtin : # until the text ends
# A POSIX shell's own commands only: no process is started but the program's, except to
# make the caches once on each node.

envcfg_fail() { # MESSAGE [HINT]
  printf 'envcfg: error: %s\n' "$1" >&2
  [ -z "${2-}" ] || printf '  hint: %s\n' "$2" >&2
  exit 4
}

envcfg_need() { # NAME VALUE: what the task's launcher must have told it
  [ -n "$2" ] || envcfg_fail "$1 is not set in this task, or empty" \
    'what starts tasks sets it: does something between that and here take it away?'
}

envcfg_is_preset() { # NAME: whether the job has set it, so that its value stays
  case $ENVCFG_PRESET in *" $1 "*) return 0 ;; esac
  return 1
}

while [ "$#" -gt 0 ]; do # NAME=VALUE | -u NAME, then -- COMMAND
  case $1 in
    --)
      shift
      break
      ;;
    -u)
      unset -v "$2"
      shift
      ;;
    *) export "${1?}" ;;
  esac
  shift
done

envcfg_first_node() { # LIST: set envcfg_node to the first host of a Slurm node list; fail if it is none
  envcfg_node=''
  envcfg_rest=$1
  while :; do
    case $envcfg_rest in
      '' | ,*) break ;;
      \[*']'*) # of a bracket, what stands before its first comma or dash
        envcfg_item=${envcfg_rest%%]*}
        envcfg_item=${envcfg_item#?}
        envcfg_rest=${envcfg_rest#*]}
        case ,$envcfg_item, in *[!0-9,-]* | *[,-][,-]*) return 1 ;; esac
        case ${envcfg_item%%,*} in *-*-*) return 1 ;; esac
        envcfg_node=$envcfg_node${envcfg_item%%[,-]*}
        ;;
      *)
        envcfg_item=${envcfg_rest%%[[,]*}
        envcfg_rest=${envcfg_rest#"$envcfg_item"}
        case $envcfg_item in '' | *[!A-Za-z0-9_.-]*) return 1 ;; esac
        envcfg_node=$envcfg_node$envcfg_item
        ;;
    esac
  done
  [ -n "$envcfg_node" ]
}

envcfg_suffix='' # behind a node's name, in its address

# Who this task is, as srun says. The step's first node is found here because only the
# step has its list; the port is the job's and the step's own, below the ephemeral range.
envcfg_need SLURM_PROCID "${SLURM_PROCID-}"
envcfg_need SLURM_NODEID "${SLURM_NODEID-}"
export NODE_RANK="$SLURM_NODEID"
if ! envcfg_is_preset MASTER_ADDR; then
  envcfg_need SLURM_STEP_NODELIST "${SLURM_STEP_NODELIST-}"
  envcfg_first_node "$SLURM_STEP_NODELIST" || envcfg_fail \
    "SLURM_STEP_NODELIST is no list of nodes: '$SLURM_STEP_NODELIST'" 'set MASTER_ADDR'
  export MASTER_ADDR="$envcfg_node$envcfg_suffix"
fi
if ! envcfg_is_preset MASTER_PORT; then
  envcfg_need SLURM_JOB_ID "${SLURM_JOB_ID-}"
  envcfg_need SLURM_STEP_ID "${SLURM_STEP_ID-}"
  export MASTER_PORT="$((10000 + (SLURM_JOB_ID * 101 + SLURM_STEP_ID) % 20000))"
fi
envcfg_need MASTER_ADDR "${MASTER_ADDR-unset}" # the job's own, maybe
envcfg_need MASTER_PORT "${MASTER_PORT-unset}"

# "4(x2),3": four tasks on two nodes, three on the next. How many are on this one?
envcfg_need SLURM_STEP_TASKS_PER_NODE "${SLURM_STEP_TASKS_PER_NODE-}"
envcfg_rest=$SLURM_STEP_TASKS_PER_NODE
envcfg_skip=$SLURM_NODEID
while :; do
  envcfg_item=${envcfg_rest%%,*}
  case $envcfg_item in
    *'(x'*)
      envcfg_count=${envcfg_item#*(x}
      envcfg_count=${envcfg_count%)}
      ;;
    *) envcfg_count=1 ;;
  esac
  if [ "$envcfg_skip" -lt "$envcfg_count" ] || [ "$envcfg_rest" = "$envcfg_item" ]; then
    break
  fi
  envcfg_skip=$((envcfg_skip - envcfg_count))
  envcfg_rest=${envcfg_rest#*,}
done
envcfg_need SLURM_LOCALID "${SLURM_LOCALID-}"
envcfg_need SLURM_STEP_NUM_TASKS "${SLURM_STEP_NUM_TASKS-}"
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID"
export WORLD_SIZE="$SLURM_STEP_NUM_TASKS" LOCAL_WORLD_SIZE="${envcfg_item%%(*}"

unset -v ENVCFG_PRESET ENVCFG_NODES ENVCFG_CACHE_BASE ENVCFG_LOCAL_RANKS \
  ENVCFG_MASTER_NODE ENVCFG_MASTER_ADDR ENVCFG_JOB
exec "$@"
ENVCFG_TEXT

IFS= builtin read -r -d '' ENVCFG_TASK <<'ENVCFG_TEXT' || builtin : # until the text ends
ENVCFG_MASKING=(ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK)

envcfg_collect() { # NAME...: set envcfg_given to those that are set, as arguments
  local envcfg_name
  envcfg_given=()
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
  done
}

# In each task, outside the container: hand on what srun told it, as arguments.
envcfg_collect "${!SLURM@}" "${!PMI@}" "${ENVCFG_MASKING[@]}"
exec "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
ENVCFG_TEXT

# --- Machinery: the same in every script ----------------------------------------------

envcfg_error() { # MESSAGE [HINT]
  printf 'envcfg: error: %s\n' "$1" >&2
  if [[ -n ${2-} ]]; then printf '  hint: %s\n' "$2" >&2; fi
}

envcfg_fault() { # MESSAGE [HINT]: an error; the step will not start, but the checks go on
  envcfg_error "$@"
  ENVCFG_FAULTS=$((ENVCFG_FAULTS + 1))
}

envcfg_note() { # MESSAGE
  printf 'envcfg: note: %s\n' "$1" >&2
}

envcfg_set() { # NAME VALUE: what the job has set already wins
  envcfg_differs job "$1" "$2"
  ENVCFG_ARGS+=("$1=${!1-$2}")
}

envcfg_preset() { # NAME...: what the job has set already wins over the rank part
  local envcfg_name
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then
      ENVCFG_ARGS+=("$envcfg_name=${!envcfg_name}")
      ENVCFG_PRESET+="$envcfg_name "
    fi
  done
}

envcfg_lengths() { # WORD...: Linux must be able to start a program with them
  local LC_ALL=C envcfg_word envcfg_sum=0
  for envcfg_word; do
    envcfg_sum=$((envcfg_sum + ${#envcfg_word}))
    if ((${#envcfg_word} > 131071)); then
      envcfg_fault "'${envcfg_word:0:60}...' has ${#envcfg_word} bytes, and an argument can have 131071" \
        'put long texts into a file that the program reads'
    fi
  done
  if ((ENVCFG_FAULTS > 0 || envcfg_sum < 100000)) || ! type -P true >/dev/null; then return; fi
  printf -v envcfg_word '%16384s' '' # room for what launchers add
  if ! "$(type -P true)" "$@" "$envcfg_word" 2>/dev/null; then
    envcfg_fault "command and settings have $envcfg_sum bytes, too many beside the job's environment" \
      'put long texts into a file that the program reads'
  fi
}

envcfg_step() { # COMMAND...: one step of the job, from the checks to the exit code
  ENVCFG_FAULTS=0 ENVCFG_CODE=0 ENVCFG_ARGS=() ENVCFG_PRESET=' ' ENVCFG_JOB_NODES=1
  # shellcheck disable=SC2034 # not all that is started meets
  ENVCFG_MASTER_ADDR=''
  ENVCFG_FROM_JOB='' ENVCFG_FROM_PROFILE='' ENVCFG_FROM_OPTIONS=''
  if (($# == 0)); then
    envcfg_error 'no command' 'give it, as in envcfg_run python train.py'
    return 2
  fi
  envcfg_survey
  envcfg_where
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then
    envcfg_settings
    envcfg_inherited
    envcfg_meeting
  fi
  envcfg_lengths "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" "$@"
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  envcfg_listen
  envcfg_launch "$@" || ENVCFG_CODE=$?
  return "$ENVCFG_CODE"
}

envcfg_plain() { # in a shell of envcfg's own: undo what the job's shell has made of bash itself
  IFS=$' \t\n'
  builtin shopt -u expand_aliases nocasematch # bash reads "$(...)" once more as it comes there
  builtin unset -f . : '[' break cd command compgen continue declare echo eval exec exit export false jobs kill local \
    mapfile printf read readonly return set shift source test trap true type umask unset wait
  set +k
}

envcfg_apart() { # COMMAND...: one step and its end, in a shell of envcfg's own
  envcfg_plain
  exec {ENVCFG_TIE}>&-
  # Without a trap bash forgets an INT that comes while it waits for a program.
  if [[ " ${ENVCFG_HEARD[*]-} " == *' INT '* ]]; then trap 'exit 130' INT; fi
  ENVCFG_CODE=0
  envcfg_step "$@" || ENVCFG_CODE=$?
  return "$ENVCFG_CODE"
}

# The job's shell waits for a child in the background, as signals interrupt only that. Those
# that it has a trap for, or ignores, are its own business. With job control, only what is in
# the foreground has the terminal.
envcfg_run() { # [--on NODES | --nodes=N] [--ranks=N] [--overlap] [--] COMMAND...: run one step; its exit code is the program's
  builtin local envcfg_signal envcfg_traps envcfg_own envcfg_code ENVCFG_IGNORED ENVCFG_PIPE ENVCFG_TIE ENVCFG_LIFE
  builtin local ENVCFG_APART='' # whether what is started leads process groups
  builtin local -a ENVCFG_PIDS ENVCFG_LED ENVCFG_HELD ENVCFG_HEARD
  if [[ -n $ENVCFG_GROUPS ]] && ! envcfg_has_terminal; then ENVCFG_APART=yes; fi
  envcfg_code=0
  if [[ $- == *m* ]]; then
    envcfg_tie
    (envcfg_apart "$@") || envcfg_code=$?
    case $envcfg_code in
      14[789] | 150) ;; # it is stopped, and may go on
      *) envcfg_close "$ENVCFG_TIE" "$ENVCFG_LIFE" ;;
    esac
    builtin return "$envcfg_code"
  fi
  envcfg_traps=$(builtin trap -p)$'\n' ENVCFG_IGNORED='' envcfg_own=''
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    if [[ $envcfg_traps == *"trap -- '' SIG$envcfg_signal"$'\n'* ]]; then
      ENVCFG_IGNORED+=" $envcfg_signal "
    elif [[ $BASHPID == "$$" && $envcfg_traps == *"' SIG$envcfg_signal"$'\n'* ]]; then # a subshell shows its parent's
      envcfg_own+=" $envcfg_signal "
    fi
  done
  envcfg_listen "$envcfg_own"
  envcfg_tie
  envcfg_spawn envcfg_apart "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  for envcfg_signal in "${ENVCFG_HEARD[@]}"; do builtin trap - "$envcfg_signal"; done
  envcfg_close "$ENVCFG_PIPE" "$ENVCFG_TIE" "$ENVCFG_LIFE"
  if envcfg_is_script; then builtin return "$envcfg_code"; fi
  for envcfg_signal in HUP TERM INT; do # what would have ended the job's shell does so now
    if [[ $BASHPID == "$$" && " $ENVCFG_CAUGHT" == *" $envcfg_signal "* ]]; then
      if [[ $envcfg_signal != INT || $envcfg_code == 130 ]]; then builtin kill -s "$envcfg_signal" "$$"; fi
    fi
  done
  builtin return "$envcfg_code"
}

envcfg_is_script() { # whether this text is being run as a file, not sourced or evaluated
  builtin local envcfg_line
  [[ -f $0 && -r $0 ]] || builtin return 1
  while IFS= builtin read -r envcfg_line && [[ $envcfg_line == '#'* ]]; do
    if [[ $envcfg_line == '# envcfg:script '* ]]; then builtin return 0; fi
  done <"$0"
  builtin return 1
}

# Where this may run. Pairs: by the first name a task knows its number, by the second how many there are.
ENVCFG_TASK_NAMES='SLURM_PROCID:SLURM_STEP_NUM_TASKS FLUX_TASK_RANK:FLUX_JOB_SIZE PALS_RANKID:PMI_SIZE
  PMI_RANK:PMI_SIZE OMPI_COMM_WORLD_RANK:OMPI_COMM_WORLD_SIZE PMIX_RANK:OMPI_COMM_WORLD_SIZE'
# By the addresses and interfaces in these, ranks on different nodes find each other.
ENVCFG_MEETING='MASTER_ADDR NCCL_SOCKET_IFNAME NCCL_OOB_NET_IFNAME NCCL_COMM_ID GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME
  UCX_NET_DEVICES JAX_COORDINATOR_ADDRESS HOROVOD_GLOO_IFACE HOROVOD_GLOO_RENDEZVOUS_ADDR'

envcfg_misplaced() { # WORD MESSAGE HINT: a fault, unless the user allows it by this word
  local envcfg_allows=${ENVCFG_ALLOW-}
  if [[ " $ENVCFG_ALLOWED ${envcfg_allows//,/ } " != *" $1 "* ]]; then
    envcfg_fault "$2" "$3; if this is meant, export ENVCFG_ALLOW=$1, or make the script with --allow $1"
  fi
}

envcfg_where() { # is this the job and none of its tasks, does it use all nodes, is it the right cluster?
  local envcfg_glob
  local -a envcfg_globs
  if ((ENVCFG_FAULTS == 0)); then envcfg_task; fi
  if ((ENVCFG_JOB_NODES > ENVCFG_NODES)); then
    envcfg_misplaced nodes "the job has $ENVCFG_JOB_NODES nodes, but --launcher local starts ranks on this one only" \
      'make the script with a launcher that uses all nodes, as --launcher srun'
  fi
  if [[ -z ${SLURM_CLUSTER_NAME-} || -z $ENVCFG_CLUSTERS ]]; then return; fi
  read -r -a envcfg_globs <<<"$ENVCFG_CLUSTERS"
  for envcfg_glob in "${envcfg_globs[@]}"; do
    # shellcheck disable=SC2053 # it is a pattern
    if [[ $SLURM_CLUSTER_NAME == $envcfg_glob ]]; then return; fi
  done
  envcfg_show "$SLURM_CLUSTER_NAME"
  envcfg_misplaced cluster "this is the cluster $envcfg_shown, but the script was made for $ENVCFG_CLUSTERS" \
    'make the script on this cluster, or with its profile: --profile NAME'
}

envcfg_task() { # each of several tasks would start the whole step once more
  local envcfg_pair envcfg_name envcfg_count
  for envcfg_pair in $ENVCFG_TASK_NAMES; do
    envcfg_name=${envcfg_pair%:*} envcfg_count=${envcfg_pair#*:}
    envcfg_count=${!envcfg_count-}
    # Of a batch script and a shell of salloc, Slurm's number of the step is a very high one.
    if [[ -z ${!envcfg_name-} || ${!envcfg_name}$envcfg_count == *[!0-9]* ]] \
      || [[ $envcfg_name == SLURM_* && ${SLURM_STEP_ID-} == 42949672?? ]] \
      || [[ ${!envcfg_name} != *[1-9]* && $envcfg_count != [1-9]?* && $envcfg_count != [2-9] ]]; then
      continue
    elif ! envcfg_is_leftover; then
      envcfg_misplaced tasks "this is one of ${envcfg_count:-several} tasks ($envcfg_name=${!envcfg_name}), and each would start all ranks" \
        'start the script once, without srun or mpiexec in front of it'
    fi
    return
  done
}

envcfg_is_leftover() { # whether a job began nearer to this shell than any task: then variables of tasks are another job's
  local envcfg_key envcfg_value envcfg_name='' envcfg_pid=$BASHPID
  while [[ -r /proc/$envcfg_pid/status ]]; do
    while IFS=$':\t' read -r envcfg_key envcfg_value; do
      case $envcfg_key in
        Name) envcfg_name=$envcfg_value ;;
        PPid) break ;;
      esac
    done <"/proc/$envcfg_pid/status"
    case $envcfg_name in
      slurmstepd) # it calls itself "slurmstepd: [JOB.STEP]"
        IFS= read -r -d '' envcfg_name <"/proc/$envcfg_pid/cmdline" || :
        [[ $envcfg_name == *.@(batch|interactive|extern)']' ]]
        return
        ;;
      salloc | pbs_mom | flux-broker*) return 0 ;;
      mpiexec* | mpirun | orted | prted | hydra_* | palsd | flux-shell) return 1 ;;
    esac
    envcfg_pid=$envcfg_value
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
    if [[ -z ${envcfg_values[$envcfg_name]+set} ]]; then continue; fi
    envcfg_show "${envcfg_values[$envcfg_name]}"
    envcfg_word=${envcfg_values[$envcfg_name]#=}
    case ,${envcfg_word,,}, in
      ,,) envcfg_shown="$envcfg_name is empty" ;;
      ,^*) continue ;; # all interfaces but these
      *,lo[,:]* | *,localhost[46,:.]* | *,ip6-lo* | *[,:]127.[0-9]* | *,0.0.0.0,* | *,::1,* | *,'[::1]'*)
        envcfg_shown="$envcfg_name=$envcfg_shown is the loopback"
        ;;
      *) continue ;;
    esac
    envcfg_misplaced loopback "$envcfg_shown: ranks on $ENVCFG_NODES nodes cannot connect" \
      "unset $envcfg_name before the step, or give the right one: --set $envcfg_name=VALUE"
  done
}

envcfg_show() { # TEXT: set envcfg_shown to it, cut, and quoted where a terminal could take it for more than text
  local LC_ALL=C
  envcfg_shown=$1
  if ((${#1} > 80)); then envcfg_shown=${1:0:80}...; fi
  if [[ -z $1 || $1 == *[!A-Za-z0-9_./:,=@%+^-]* ]]; then envcfg_shown=${envcfg_shown@Q}; fi
}

envcfg_differs() { # FROM NAME [VALUE]: keep for the note what the job has otherwise than profile or options, and who wins
  local envcfg_shown envcfg_job envcfg_other=' unset'
  if [[ -z ${!2+set} || ($# == 3 && ${!2} == "$3") ]]; then return; fi
  envcfg_show "${!2}"
  envcfg_job=$envcfg_shown
  if (($# == 3)); then
    envcfg_show "$3"
    envcfg_other="=$envcfg_shown"
  fi
  case $1 in
    job) ENVCFG_FROM_JOB+=", $2=$envcfg_job (profile: ${envcfg_other:1})" ;;
    profile) ENVCFG_FROM_PROFILE+=", $2$envcfg_other (your environment: $envcfg_job)" ;;
    options) ENVCFG_FROM_OPTIONS+=", $2$envcfg_other (your environment: $envcfg_job)" ;;
  esac
}

envcfg_keeps_own() { # NAME TEXT: the same, of what the job has set and each task would find out
  local envcfg_shown
  if [[ -z ${!1+set} ]]; then return; fi
  envcfg_show "${!1}"
  ENVCFG_FROM_JOB+=", $1=$envcfg_shown ($2)"
}

envcfg_preset_meeting() { # as envcfg_preset, of where ranks meet
  local envcfg_first=${ENVCFG_MASTER_ADDR:-${SLURMD_NODENAME-}}
  if [[ -z $envcfg_first || ${MASTER_ADDR-}. != "$envcfg_first"[!0-9]* ]]; then
    envcfg_keeps_own MASTER_ADDR "default: the step's first node"
  fi
  envcfg_preset MASTER_ADDR
}

envcfg_inherited() { # say it once, at the start of a step
  local envcfg_said=''
  if [[ -n $ENVCFG_FROM_JOB ]]; then envcfg_said+="; from your environment: ${ENVCFG_FROM_JOB:2}"; fi
  if [[ -n $ENVCFG_FROM_PROFILE ]]; then envcfg_said+="; from the profile: ${ENVCFG_FROM_PROFILE:2}"; fi
  if [[ -n $ENVCFG_FROM_OPTIONS ]]; then envcfg_said+="; from your options: ${ENVCFG_FROM_OPTIONS:2}"; fi
  if [[ -n $envcfg_said ]]; then envcfg_note "${envcfg_said:2}"; fi
}

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
  ENVCFG_JOB_NODES=${SLURM_NNODES:-${SLURM_JOB_NUM_NODES:-1}} # a step may have fewer
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

# --- How signals reach what is spawned, and how it ends --------------------------------
# A forked shell has its parent's traps for a moment, and loses what comes then: so each says
# when it has none any more, and until then signals are held. They are, too, where "read"
# waits with a time limit, which cuts short a trap that waits for something.
# "builtin": these run in the job's own shell, too, which may have functions of such names.

ENVCFG_IGNORED='' # signals that the job's shell ignores, and so its ranks

envcfg_listen() { # [SIGNALS]: from now on, pass on to what is spawned all but these
  builtin local envcfg_signal
  ENVCFG_PIDS=() ENVCFG_LED=() ENVCFG_HEARD=() ENVCFG_CAUGHT='' ENVCFG_HELD=() ENVCFG_HOLDS=''
  ENVCFG_TELL=envcfg_kill                 # what passes a signal on
  builtin : {ENVCFG_PIPE}<> <(\builtin :) # by which children and traps speak; empty, it makes "read" a clock
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    if [[ "$ENVCFG_IGNORED${1-}" == *" $envcfg_signal "* ]]; then builtin continue; fi
    ENVCFG_HEARD+=("$envcfg_signal")
    # shellcheck disable=SC2064 # the name is meant to be written in now
    builtin trap "envcfg_relay $envcfg_signal" "$envcfg_signal"
  done
}

envcfg_relay() { # SIGNAL: pass it on; a terminal has sent its own to everybody already
  ENVCFG_CAUGHT+="$1 "
  if [[ ($1 == INT || $1 == QUIT) && -t 0 && $ENVCFG_HOLDS != spawn ]]; then
    builtin return
  elif [[ -n $ENVCFG_HOLDS ]]; then
    ENVCFG_HELD+=("$1")
    builtin printf '\n' >&"$ENVCFG_PIPE" # let "read" look up
  else
    "$ENVCFG_TELL" "$1"
  fi
}

envcfg_release() { # pass on what has been held
  builtin local envcfg_signal
  ENVCFG_HOLDS=''
  for envcfg_signal in "${ENVCFG_HELD[@]}"; do "$ENVCFG_TELL" "$envcfg_signal"; done
  ENVCFG_HELD=()
}

envcfg_kill() { # SIGNAL: send it to all that was spawned and runs, by bash's own book: a pid can be another's by now
  builtin local envcfg_pid envcfg_running
  envcfg_running=$'\n'$(builtin jobs -pr)$'\n'
  for envcfg_pid in "${ENVCFG_PIDS[@]}"; do
    if [[ $envcfg_running == *$'\n'"$envcfg_pid"$'\n'* ]]; then builtin kill -s "$1" "$envcfg_pid" 2>/dev/null || builtin :; fi
  done
}

envcfg_spawn() { # WORD...: start it with this shell's input; not after a signal, which ends the step
  builtin local envcfg_line
  if [[ -n $ENVCFG_CAUGHT ]]; then builtin return; fi
  ENVCFG_HOLDS=spawn
  if [[ -n $ENVCFG_APART ]]; then builtin set -m; fi # a process group of its own
  (
    # INT and QUIT, too: in the background they are ignored.
    for envcfg_line in "${ENVCFG_HEARD[@]}"; do builtin trap - "$envcfg_line"; done
    builtin printf 'ready\n' >&"$ENVCFG_PIPE"
    envcfg_close "$ENVCFG_PIPE"
    if [[ $1 == exec ]]; then envcfg_close "$ENVCFG_LIFE"; fi
    "$@"
  ) <&0 &
  if [[ -n $ENVCFG_APART ]]; then
    builtin set +m
    ENVCFG_LED+=("$!")
  fi
  ENVCFG_PIDS+=("$!")
  envcfg_line=''
  while [[ $envcfg_line != ready ]] && builtin kill -0 "${ENVCFG_PIDS[-1]}" 2>/dev/null; do
    builtin read -r -t 1 -u "$ENVCFG_PIPE" envcfg_line || builtin :
  done
  envcfg_release
}

envcfg_wait() { # [PID]: return its exit code, however often signals cut the wait short
  builtin local envcfg_code envcfg_later envcfg_ended
  envcfg_code='' envcfg_ended=''
  if (($# == 0)); then builtin return $((128 + $(builtin kill -l "${ENVCFG_CAUGHT%% *}"))); fi # a signal came before it
  for (( ; ; )); do
    envcfg_later=0
    builtin wait "$1" || envcfg_later=$?
    if [[ $envcfg_later != 127 || -z $envcfg_code ]]; then envcfg_code=$envcfg_later; fi # 127: had it already
    if ((envcfg_later <= 128)) || [[ -n $envcfg_ended ]]; then builtin return "$envcfg_code"; fi
    # Its own code, or a signal to this shell? If it has ended by now, the next wait tells.
    if [[ $'\n'$(builtin jobs -pr)$'\n' != *$'\n'"$1"$'\n'* ]]; then envcfg_ended=yes; fi
  done
}

# Two ends of a pipe: who holds the first lives as long as the second gives no end of file.
envcfg_tie() { # open ENVCFG_TIE, for this shell alone, and ENVCFG_LIFE, for what it starts
  builtin local envcfg_pipe
  builtin : {envcfg_pipe}<> <(\builtin :) # such files stay open
  builtin : {ENVCFG_TIE}>/dev/fd/"$envcfg_pipe" {ENVCFG_LIFE}</dev/fd/"$envcfg_pipe"
  envcfg_close "$envcfg_pipe"
}

envcfg_close() { # FILE...: in POSIX mode "exec" is bash's own, whatever function has its name
  builtin local - envcfg_file
  builtin set -o posix
  for envcfg_file; do exec {envcfg_file}>&-; done
}

envcfg_has_terminal() { # whether what is typed can come to this shell: it has or is in front of a terminal
  builtin local envcfg_stat='' envcfg_group
  if [[ -t 0 ]]; then builtin return 0; fi
  IFS= builtin read -r -d '' envcfg_stat 2>/dev/null </proc/self/stat || builtin :
  envcfg_stat=${envcfg_stat##*) } # behind the name: state, parent, group, session, terminal, group in front
  envcfg_stat=${envcfg_stat#* * }
  envcfg_group=${envcfg_stat%% *}
  envcfg_stat=${envcfg_stat#* * * }
  [[ -n $envcfg_group && ${envcfg_stat%% *} == "$envcfg_group" ]]
}

# --- Now do it ----------------------------------------------------------------------

if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then builtin shopt -s expand_aliases; fi

envcfg_run python3 dump.py out 'a b'
