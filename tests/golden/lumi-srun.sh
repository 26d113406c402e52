#!/usr/bin/env bash
# envcfg:script 69bdc2123b46c282062a3c936121bfc122954859bb4d82af07f03a3edde65a85
# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand
# envcfg 0.1.0, profile lumi-g (sha256 7c97951f355dbe4e)
# made by: envcfg wrap --profile lumi-g --fact rocm=6.2.4 --container /images/pytorch.sif -- python3 dump.py out 'a b'
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# It needs bash 4.4 and, on the compute nodes, neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" singularity exec --bind \
#     /var/spool/slurmd --bind /opt/cray --bind /usr/lib64/libcxi.so.1 --bind /pfs \
#     --bind /scratch --bind /projappl --bind /project --bind /flash --bind /appl \
#     /images/pytorch.sif /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- \
#     python3 dump.py out 'a b'

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
ENVCFG_IMAGE='/images/pytorch.sif'
ENVCFG_KNOWN='module use /appl/local/containers/ai-modules; module load singularity-AI-bindings'
ENVCFG_VERB='exec'
ENVCFG_SHELL='/bin/sh'
ENVCFG_MASKS='0x00fe000000000000,0xfe00000000000000,0x0000000000fe0000,0x00000000fe000000,0x00000000000000fe,0x000000000000fe00,0x000000fe00000000,0x0000fe0000000000'
ENVCFG_MASKS_UNION='fefefefe,fefefefe'
ENVCFG_CLUSTERS='lumi'
ENVCFG_ALLOWED=''
ENVCFG_RUNTIMES=(singularity) # the first that is on PATH

envcfg_modules() {
  # holds the bindings for images that run on the host's libfabric
  # [profiles/lumi-g.yaml:199]
  envcfg_module use /appl/local/containers/ai-modules
  # binds the file systems, libcxi and the host's libfabric [profiles/lumi-g.yaml:205]
  envcfg_module load singularity-AI-bindings
  envcfg_unloaded
}

envcfg_mounts() {
  # PMI and Slurm clients in the container look here [profiles/lumi-g.yaml:137]
  envcfg_bind_if /var/spool/slurmd /var/spool/slurmd
  # the host's libfabric for the plugin; the newer images bring their own
  # [profiles/lumi-g.yaml:142]
  envcfg_bind_if /opt/cray /opt/cray
  # the host's libfabric needs the host's libcxi [profiles/lumi-g.yaml:148]
  envcfg_bind_if /usr/lib64/libcxi.so.1 /usr/lib64/libcxi.so.1
  # /scratch, /project and others are links into it [profiles/lumi-g.yaml:154]
  envcfg_bind_if /pfs /pfs
  # the project's scratch [profiles/lumi-g.yaml:159]
  envcfg_bind_if /scratch /scratch
  # the project's own software [profiles/lumi-g.yaml:164]
  envcfg_bind_if /projappl /projappl
  # the project's persistent storage [profiles/lumi-g.yaml:169]
  envcfg_bind_if /project /project
  # the project's flash storage [profiles/lumi-g.yaml:174]
  envcfg_bind_if /flash /flash
  # the system's software and its container images [profiles/lumi-g.yaml:179]
  envcfg_bind_if /appl /appl
}

envcfg_settings() {
  # bootstrap and any socket traffic must use the four Slingshot interfaces; left alone, the
  # library takes the management network [profiles/slingshot.yaml:86]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1,hsn2,hsn3
  # gloo reads its own variable, not that of NCCL, and takes exact names, no prefixes
  # [profiles/slingshot.yaml:93]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  # GPU RDMA between GPU and NIC of a NUMA node; said to be the default from ROCm 6.2 on,
  # which RCCL's source does not show, so it stays explicit [profiles/lumi-g.yaml:294]
  envcfg_set NCCL_NET_GDR_LEVEL PHB
  # rocFFT keeps a SQLite cache in the home folder [profiles/slingshot-rocm.yaml:63]
  envcfg_set ROCFFT_RTC_CACHE_PATH /dev/null
  envcfg_preset_settings TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR AITER_JIT_DIR
  envcfg_preset_meeting
  envcfg_preset MASTER_PORT
  ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE")
}

ENVCFG_SCRATCH=/tmp # for node-local caches

IFS= builtin read -r -d '' ENVCFG_INSIDE <<'ENVCFG_TEXT' || builtin : # until the text ends
envcfg_inside() { # what is set in each task, in the container
  # One layer of GPU masking: ROCR_VISIBLE_DEVICES.
  unset -v HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  # the default is in the home folder; on a shared file system many ranks corrupt it
  # [profiles/slingshot.yaml:136]
  envcfg_in_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # compiled extensions default to the home folder, where ranks race for a lock
  # [profiles/slingshot.yaml:142]
  envcfg_in_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default is in /tmp by user name, so jobs that share a node share it
  # [profiles/slingshot.yaml:148]
  envcfg_in_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  # MIOpen keeps SQLite databases, whose locks break on Lustre when many ranks try
  # [profiles/slingshot-rocm.yaml:49]
  envcfg_in_set MIOPEN_USER_DB_PATH "${ENVCFG_CACHE}"/miopen
  # the cache of compiled kernels; on a network file system MIOpen moves it to a shared /tmp
  # by itself, where users clash [profiles/slingshot-rocm.yaml:55]
  envcfg_in_set MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_USER_DB_PATH}"
  # AITER compiles kernels under a lock that Lustre does not keep well
  # [profiles/lumi-g.yaml:325]
  envcfg_in_set AITER_JIT_DIR "${ENVCFG_CACHE}"/aiter
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}" \
    MIOPEN_USER_DB_PATH "${MIOPEN_USER_DB_PATH-}" \
    MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_CUSTOM_CACHE_DIR-}" \
    AITER_JIT_DIR "${AITER_JIT_DIR-}"
}
ENVCFG_TEXT

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

envcfg_pin() { # bind each rank to the cores next to its GPU, if the node is all ours
  # The user's own choice srun reads by itself.
  if [[ -n ${SLURM_CPU_BIND-} ]]; then return; fi
  if envcfg_owns_masks; then
    ENVCFG_SRUN+=("--cpu-bind=mask_cpu:$ENVCFG_MASKS")
    return
  fi
  envcfg_note 'ranks are not bound to the cores next to their GPUs: this job does not own a whole node'
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    ENVCFG_SRUN+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
  fi
}

envcfg_owns_masks() { # whether the job has the cores of all masks: it owns the node
  local envcfg_key envcfg_value envcfg_allowed=''
  while IFS=$': \t' read -r envcfg_key envcfg_value; do
    if [[ $envcfg_key == Cpus_allowed ]]; then envcfg_allowed=$envcfg_value; fi
  done </proc/self/status
  envcfg_covers "$envcfg_allowed"
}

envcfg_covers() { # ALLOWED: whether these CPUs hold all masks; groups of 32 bits, in hex
  local -a envcfg_need envcfg_allowed
  local envcfg_i envcfg_group
  IFS=, read -r -a envcfg_need <<<"$ENVCFG_MASKS_UNION"
  IFS=, read -r -a envcfg_allowed <<<"$1"
  for ((envcfg_i = 1; envcfg_i <= ${#envcfg_need[@]}; envcfg_i++)); do
    envcfg_group=0
    if ((envcfg_i <= ${#envcfg_allowed[@]})); then envcfg_group=${envcfg_allowed[-envcfg_i]}; fi
    if (((16#$envcfg_group & 16#${envcfg_need[-envcfg_i]}) != 16#${envcfg_need[-envcfg_i]})); then return 1; fi
  done
}

envcfg_find() { # set envcfg_name: the first runtime that is on PATH
  for envcfg_name in "${ENVCFG_RUNTIMES[@]}"; do
    if type -P "$envcfg_name" >/dev/null; then return; fi
  done
  envcfg_fault "no container runtime on PATH: tried ${ENVCFG_RUNTIMES[*]}" \
    "load its module before${ENVCFG_KNOWN:+ ($ENVCFG_KNOWN)}, or name it with --runtime"
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

envcfg_bind_if() { # PATH SOURCE [SPEC]: mount it, where PATH exists
  if [[ -e $1 ]]; then envcfg_bind "${@:2}"; fi
}

envcfg_bind() { # SOURCE [SPEC]: mount it, at the same place or as SPEC says
  envcfg_find_source "$@"
  ENVCFG_ENTER+=(--bind "${2-$1}")
}

envcfg_enter() { # set ENVCFG_ENTER: the words that enter the container
  local envcfg_name='' envcfg_image=$ENVCFG_IMAGE
  envcfg_find
  envcfg_find_image
  ENVCFG_ENTER=("$envcfg_name" "$ENVCFG_VERB")
  envcfg_mounts
  ENVCFG_ENTER+=("$envcfg_image")
}

envcfg_is_clean() { # whether the runtime keeps the task's variables from the container
  local envcfg_word
  for envcfg_word in "${ENVCFG_ENTER[@]}"; do
    case $envcfg_word in
      --cleanenv* | --containall* | --compat* | --no-env*) return 0 ;;
      --*) ;;
      -*[eC]*) return 0 ;;
    esac
  done
  [[ -n ${SINGULARITY_CLEANENV-}${SINGULARITY_CONTAINALL-}${SINGULARITY_COMPAT-} ]] \
    || [[ -n ${APPTAINER_CLEANENV-}${APPTAINER_CONTAINALL-}${APPTAINER_COMPAT-} ]] \
    || [[ -n ${APPTAINER_NOENV-}${SINGULARITY_NOENV-} ]]
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

envcfg_in_set() { # NAME VALUE
  envcfg_is_preset "$1" || export "$1=$2"
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

envcfg_own() { # PATH...: what is there must be folders of ours, not links
  for envcfg_folder; do
    if [ -h "$envcfg_folder" ] || [ ! -d "$envcfg_folder" ] || [ ! -O "$envcfg_folder" ]; then
      envcfg_fail "$envcfg_folder is not a folder of yours; it will not be used for caches" \
        'remove it, or ask who made it: a link or a foreign folder there can do harm'
    fi
  done
}

envcfg_mkdir() { # ARGUMENT...: a signal waits for its end, as a folder that came later would stay
  for envcfg_signal in 1 2 3 10 12 15; do
    # shellcheck disable=SC2064 # the number is meant to be written in now
    trap "exit $((128 + envcfg_signal))" "$envcfg_signal"
  done
  envcfg_code=0
  mkdir -m 700 "$@" || envcfg_code=$?
  trap - 1 2 3 10 12 15
  return "$envcfg_code"
}

envcfg_folders() { # NAME PATH...: make those that the job has not set itself; ranks may race
  envcfg_left=$(($# / 2))
  while [ "$envcfg_left" -gt 0 ]; do
    if [ -n "$2" ] && ! envcfg_is_preset "$1"; then set -- "$@" "$2"; fi
    shift 2
    envcfg_left=$((envcfg_left - 1))
  done
  for envcfg_folder; do
    if [ ! -d "$envcfg_folder" ]; then
      envcfg_mkdir -p -- "$@" || envcfg_fail "cannot make the cache folders $*"
      break
    fi
  done
  envcfg_own "$@"
}

# mkdir without -p: what is there already, a link too, is not taken over but checked.
envcfg_host=${SLURMD_NODENAME:-local}
export ENVCFG_CACHE="$ENVCFG_CACHE_BASE-$envcfg_host"
if [ ! -d "$ENVCFG_CACHE" ] && ! envcfg_mkdir -- "$ENVCFG_CACHE" 2>/dev/null; then
  [ -e "$ENVCFG_CACHE" ] || [ -h "$ENVCFG_CACHE" ] || envcfg_fail \
    "cannot make the folder $ENVCFG_CACHE for caches" \
    'is its parent there and yours to write, and mkdir in the image?'
fi
envcfg_own "$ENVCFG_CACHE"

envcfg_inside

unset -v ENVCFG_PRESET ENVCFG_NODES ENVCFG_CACHE_BASE ENVCFG_LOCAL_RANKS \
  ENVCFG_MASTER_NODE ENVCFG_MASTER_ADDR ENVCFG_JOB
exec "$@"
ENVCFG_TEXT
ENVCFG_RANK=$ENVCFG_INSIDE$ENVCFG_RANK

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
  ENVCFG_UNLOADED=()
  if (($# == 0)); then
    envcfg_error 'no command' 'give it, as in envcfg_run python train.py'
    return 2
  fi
  envcfg_modules
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
  if ((ENVCFG_FAULTS == 0)); then envcfg_end "$ENVCFG_CACHE_BASE"; fi
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

envcfg_preset_settings() { # NAME...: as envcfg_preset, of what the profile sets in each task
  local envcfg_name
  for envcfg_name; do envcfg_keeps_own "$envcfg_name" 'profile: set in each task'; done
  envcfg_preset "$@"
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

envcfg_host() { # COMMAND...: run it once on each node, outside the container
  if [[ $ENVCFG_JOB_NODES == 1 && -n ${SLURMD_NODENAME-} ]]; then
    "$@" # this is the node
    return
  fi
  (
    unset -v SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE \
      SLURM_CPUS_PER_TASK SLURM_CPU_BIND SLURM_DISTRIBUTION "${!PYXIS_@}"
    envcfg_whole
    # --mem=0: beside the memory that a step holds, or has not given back yet
    exec srun --overlap --mem=0 --nodes="$ENVCFG_JOB_NODES" --ntasks="$ENVCFG_JOB_NODES" \
      --ntasks-per-node=1 --export=ALL "$@" </dev/null
  )
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

# Modules are loaded in the shell of the step: the job's own stays as it is.
envcfg_has_modules() { # whether there is a module command; if need be its own file defines it
  local - envcfg_folder
  if type -t module >/dev/null; then return; fi
  set +eu
  for envcfg_folder in "${LMOD_PKG-}" "${MODULESHOME-}"; do
    if [[ -n $envcfg_folder && -r $envcfg_folder/init/bash ]]; then
      # shellcheck disable=SC1091 # it is the system's
      builtin source "$envcfg_folder/init/bash" </dev/null >&2
    fi
    if type -t module >/dev/null; then return; fi
  done
  return 1
}

envcfg_is_loaded() { # ACTION NAME: whether that is done already, with any version where none is named
  case $1 in
    load) [[ :${LOADEDMODULES-}: == *":$2:"* || :${LOADEDMODULES-}: == *":$2/"* ]] ;;
    unload) [[ :${LOADEDMODULES-}: != *":$2:"* && :${LOADEDMODULES-}: != *":$2/"* ]] ;;
    use) [[ :${MODULEPATH-}: == *":$2:"* ]] ;;
  esac
}

envcfg_module() { # ACTION NAME [own]: what the profile has may be missing, what the user wants not
  local - envcfg_code=0
  if envcfg_is_loaded "$1" "$2"; then return; fi
  if ! envcfg_has_modules; then
    if [[ -n ${3-} ]]; then
      envcfg_fault "no module command here, so --module $2 is not loaded" \
        'source the file by which the system defines it before, as login shells do'
    else
      ENVCFG_UNLOADED+=("$1 $2")
    fi
    return
  fi
  set +eu +o pipefail # they are not made for it
  module "$1" "$2" </dev/null >&2 || envcfg_code=$?
  envcfg_plain # a module may have brought functions and a separator of its own
  if ((envcfg_code == 0)); then
    return
  elif [[ -n ${3-} ]]; then
    envcfg_fault "module $1 $2 failed" 'module avail shows what there is'
  else
    envcfg_note "module $1 $2, which the profile wants, failed: the step goes on without it"
  fi
}

envcfg_unloaded() { # say what is not loaded where there is no module command, once
  local envcfg_names
  if ((${#ENVCFG_UNLOADED[@]} == 0)); then return; fi
  printf -v envcfg_names ', module %s' "${ENVCFG_UNLOADED[@]}"
  envcfg_note "no module command here, so this is left out: ${envcfg_names:2}"
  ENVCFG_UNLOADED=()
}

envcfg_end() { # [BASE...]: remove these node-local caches, or all of this shell, on every node
  (
    builtin trap '' HUP INT QUIT TERM USR1 USR2 # a signal does not cut this short
    envcfg_plain
    if (($# == 0)); then set -- ${ENVCFG_CACHES[@]+"${ENVCFG_CACHES[@]}"}; fi
    ENVCFG_FAULTS=0
    envcfg_survey 2>/dev/null
    if (($# == 0 || ENVCFG_FAULTS > 0)); then exit 0; fi # never a job: nothing was made
    # Not what the ranks have refused: a link, a file, a folder of somebody else.
    # shellcheck disable=SC2016 # to be expanded on the node
    envcfg_host bash -c 'trap "" HUP INT QUIT TERM USR1 USR2
envcfg_host=${SLURMD_NODENAME:-local}
    for cache in "${@/%/-$envcfg_host}"; do
      if [[ -d $cache && ! -h $cache && -O $cache ]]; then rm -rf -- "$cache" || exit; fi
    done' envcfg-end "$@" || envcfg_note "could not remove the caches $*"
  )
}

# --- Now do it ----------------------------------------------------------------------

if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then builtin shopt -s expand_aliases; fi

# Each sourcing has caches of its own, so that nothing side by side shares any. They belong
# to the shell that sources; a subshell does not inherit them.
if [[ ${ENVCFG_OWNER-} != "$BASHPID" ]]; then
  ENVCFG_OWNER=$BASHPID
  ENVCFG_CACHES=()
fi
envcfg_name_job
ENVCFG_CACHE_BASE=$ENVCFG_SCRATCH/envcfg-$UID-${ENVCFG_JOB%%-*}-$BASHPID.${#ENVCFG_CACHES[@]}
ENVCFG_CACHES+=("$ENVCFG_CACHE_BASE")

envcfg_run python3 dump.py out 'a b'
