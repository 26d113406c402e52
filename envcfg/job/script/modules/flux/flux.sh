# shellcheck shell=bash # flux 4: Flux: read the allocation and the task's rank
# ranks: RANK FLUX_TASK_RANK, LOCAL_RANK FLUX_TASK_LOCAL_ID, WORLD_SIZE FLUX_JOB_SIZE, MASTER_ADDR the first node of "flux hostlist instance", cores its share of the node by "-o cpu-affinity=per-task"
# reads: ENVCFG_SUFFIX
ENVCFG_TASK_NAMES=FLUX_TASK_RANK:FLUX_JOB_SIZE ENVCFG_NODE_NAME='read -r envcfg_host </proc/sys/kernel/hostname'

envcfg_survey() { # what the allocation is: an instance of Flux, with a broker on each node
  ENVCFG_NODES=1 ENVCFG_HOSTS=() ENVCFG_FLUX=() ENVCFG_MASTER_ADDR=''
  if [[ -z ${FLUX_URI-} ]]; then
    envcfg_fault 'this is not a Flux allocation: FLUX_URI is not set' \
      'use it in a script of flux batch or under flux alloc, or choose --launcher local'
  elif [[ -n ${FLUX_TASK_RANK-} ]] && ! envcfg_is_leftover; then # such a step would wait for its own nodes
    envcfg_fault 'this is a task of flux run, not the allocation around it' \
      'use it in a script of flux batch or under flux alloc'
  elif ! type -P flux >/dev/null; then
    envcfg_fault 'flux is not on PATH' "load Flux's module, or add its folder to PATH"
  else
    read -r -a ENVCFG_HOSTS < <(flux hostlist --expand instance </dev/null) || :
    ENVCFG_NODES=${#ENVCFG_HOSTS[@]}
    ENVCFG_MASTER_ADDR=${ENVCFG_HOSTS[0]-}
    if ((ENVCFG_NODES == 0)); then
      envcfg_fault 'flux hostlist names no node of this allocation' \
        "see what 'flux hostlist instance' says here; old versions of Flux lack it"
    fi
  fi
}

envcfg_option() { ENVCFG_FLUX+=("$1"); } # WORD: of the program that starts the tasks

envcfg_name_job() { # set ENVCFG_JOB, by which the files of this job differ from all others
  ENVCFG_JOB=$(flux getattr jobid 2>/dev/null) || ENVCFG_JOB=local
  ENVCFG_JOB=${ENVCFG_JOB#ƒ} # as Flux marks its ids; what is not an id of Flux may have slashes
  ENVCFG_JOB=${ENVCFG_JOB//\//-}
}

envcfg_gpus() { :; } # Flux does not tell how many the allocation has

envcfg_overlap() { # a node has one step at a time
  envcfg_fault 'Flux runs no second step on the same nodes: --overlap' \
    'let the steps have different nodes (--on), or start both in one'
}

envcfg_host() { flux exec --noinput --dir=/ "$@"; } # COMMAND...: run it once on each node, whatever else runs there

envcfg_in_rank <<'ENVCFG_TEXT'
read -r envcfg_host </proc/sys/kernel/hostname # Flux does not tell
# Who this task is, as Flux says; not which node it is on. That follows, as each node has
# the same number of tasks (flux run -N -n), numbered node by node (its default task map).
envcfg_need FLUX_TASK_RANK "${FLUX_TASK_RANK-}" FLUX_TASK_LOCAL_ID "${FLUX_TASK_LOCAL_ID-}" \
  FLUX_JOB_SIZE "${FLUX_JOB_SIZE-}" FLUX_JOB_NNODES "${FLUX_JOB_NNODES-}"
export RANK="$FLUX_TASK_RANK" LOCAL_RANK="$FLUX_TASK_LOCAL_ID" WORLD_SIZE="$FLUX_JOB_SIZE"
export LOCAL_WORLD_SIZE="$((FLUX_JOB_SIZE / FLUX_JOB_NNODES))"
export NODE_RANK="$((RANK / LOCAL_WORLD_SIZE))"
envcfg_nodes=$FLUX_JOB_NNODES
[ "$LOCAL_RANK" -eq "$((RANK % LOCAL_WORLD_SIZE))" ] || envcfg_fail \
  "task $RANK is number $LOCAL_RANK on its node, so tasks are not numbered node by node" \
  'envcfg needs the task map block, which is what Flux takes by itself'
envcfg_number=0
if ! envcfg_is_preset MASTER_PORT; then # below the ephemeral range, from the step's own id
  envcfg_need FLUX_JOB_ID "${FLUX_JOB_ID-}"
  envcfg_rest=$FLUX_JOB_ID
  while [ -n "$envcfg_rest" ]; do # the id is a number to base 58; taken modulo a prime
    envcfg_digit=${envcfg_rest%"${envcfg_rest#?}"}
    envcfg_rest=${envcfg_rest#?}
    envcfg_lower=123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ
    envcfg_lower=${envcfg_lower%%"$envcfg_digit"*}
    envcfg_number=$(((envcfg_number * 58 + ${#envcfg_lower}) % 19997))
  done
fi
envcfg_meet "$ENVCFG_MASTER_ADDR$ENVCFG_SUFFIX" "$((10000 + envcfg_number))"
ENVCFG_TEXT
