# shellcheck shell=bash

envcfg_survey() { # what the allocation is: an instance of Flux, with a broker on each node
  local -a envcfg_hosts=()
  ENVCFG_NODES=1
  ENVCFG_MASTER_ADDR=''
  if [[ -z ${FLUX_URI-} ]]; then
    envcfg_fault 'this is no Flux allocation: FLUX_URI is not set' \
      'use it in a script of flux batch or under flux alloc, or choose --launcher local'
  elif [[ -n ${FLUX_TASK_RANK-} ]]; then # such a step would wait for its own nodes
    envcfg_fault 'this is a task of flux run, not the allocation around it' \
      'use it in a script of flux batch or under flux alloc'
  elif ! type -P flux >/dev/null; then
    envcfg_fault 'flux is not on PATH' "load Flux's module, or add its folder to PATH"
  else
    read -r -a envcfg_hosts < <(flux hostlist --expand instance </dev/null) || :
    ENVCFG_NODES=${#envcfg_hosts[@]}
    ENVCFG_MASTER_ADDR=${envcfg_hosts[0]-}
    if ((ENVCFG_NODES == 0)); then
      envcfg_fault 'flux hostlist names no node of this allocation' \
        "see what 'flux hostlist instance' says here; old versions of Flux lack it"
    elif [[ -n $ENVCFG_NODES_STATED && $ENVCFG_NODES_STATED != "$ENVCFG_NODES" ]]; then
      envcfg_fault "made for $ENVCFG_NODES_STATED nodes, but the allocation has $ENVCFG_NODES" \
        'leave out --fact nodes=..., then the allocation decides'
    fi
  fi
}

envcfg_name_job() { # set ENVCFG_JOB, by which the files of this job differ from all others
  ENVCFG_JOB=$(flux getattr jobid 2>/dev/null) || ENVCFG_JOB=local
  ENVCFG_JOB=${ENVCFG_JOB#ƒ} # as Flux marks its ids; what is no id of Flux may have slashes
  ENVCFG_JOB=${ENVCFG_JOB//\//-}
}

envcfg_gpus() { # Flux does not tell how many the allocation has
  :
}

envcfg_host() { # COMMAND...: run it once on each node, beside whatever runs there
  flux exec --noinput --dir=/ "$@"
}

envcfg_keeps() { # WORD...: whether Flux passes them as they are; it fills in {{templates}}
  local envcfg_word
  for envcfg_word; do
    if [[ $envcfg_word == *'{{'*'}}'* ]]; then
      envcfg_error "Flux would take {{...}} for a template of its own in: ${envcfg_word:0:200}" \
        'put the text into a file or a script of yours'
      return 1
    fi
  done
}

envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks=${ENVCFG_RANKS:-$ENVCFG_GPUS}
  local -a envcfg_task=()
  if [[ -z $envcfg_ranks ]]; then
    envcfg_error 'how many ranks per node? the profile has no GPUs' 'give --ranks N'
    return 2
  fi
  ENVCFG_ARGS+=("ENVCFG_MASTER_ADDR=$ENVCFG_MASTER_ADDR")
  envcfg_keeps "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" "$@" || return 2
  if envcfg_is_clean; then
    # The words up to the rank part's name, then what Flux told this task, then the rest.
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task $((${#ENVCFG_ENTER[@]} + 4)))
  fi
  # exit-timeout: else Flux ends the ranks that are busy 30 s after the first is done.
  # mpibind, LLNL's plugin, and gpu-affinity would each hide GPUs; LOCAL_RANK counts all.
  ENVCFG_FLUX=(-N "$ENVCFG_NODES" -n $((envcfg_ranks * ENVCFG_NODES)) -o exit-on-error -o exit-timeout=none
    -o mpibind=off -o gpu-affinity=off -o cpu-affinity=per-task)
  envcfg_spawn exec flux run --exclusive "${ENVCFG_FLUX[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}"
}
