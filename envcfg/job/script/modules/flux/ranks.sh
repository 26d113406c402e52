# shellcheck shell=bash # flux/ranks 6: Flux: start one task for each rank
# needs: per_node; reads: ENVCFG_AS_SAID ENVCFG_RANK_SHELL
# launch: flux run OPTIONS "${ENVCFG_FLUX[@]}" ENTER SHELL -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- COMMAND
envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks envcfg_code=0
  local -a envcfg_task=()
  if [[ -z $ENVCFG_AS_SAID ]]; then envcfg_per_node || return $?; fi
  ENVCFG_ARGS+=("ENVCFG_MASTER_ADDR=$ENVCFG_MASTER_ADDR")
  envcfg_keeps "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" || return 2
  if [[ -z $ENVCFG_AS_SAID ]]; then envcfg_keeps "${ENVCFG_ENTER[@]}" "$@" || return 2; fi # else templates are its own
  if [[ -n $ENVCFG_HIDES ]] && envcfg_is_clean; then
    # The words up to the rank part's name, then what Flux told this task, then the rest.
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task $((${#ENVCFG_ENTER[@]} + 4)))
  fi
  # exit-timeout: else Flux ends the ranks that are busy 30 s after the first is done.
  # mpibind, LLNL's plugin, and gpu-affinity would each hide GPUs; LOCAL_RANK counts all.
  if [[ -z $ENVCFG_AS_SAID ]]; then
    ENVCFG_FLUX=(--exclusive -N "$ENVCFG_NODES" -n $((envcfg_ranks * ENVCFG_NODES)) -o exit-on-error -o exit-timeout=none
      -o mpibind=off -o gpu-affinity=off -o cpu-affinity=per-task "${ENVCFG_FLUX[@]}")
  fi
  if ((${#ENVCFG_CHOSEN[@]} > 0)); then
    ENVCFG_FLUX+=("--requires=host:$(IFS=, && printf '%s' "${ENVCFG_HOSTS[*]}")")
  fi
  envcfg_spawn exec flux run "${ENVCFG_FLUX[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  # Before 0.84 it is the highest of all, and a rank that Flux ends has 143.
  if ((envcfg_code != 0 && ${envcfg_ranks:-2} * ENVCFG_NODES > 1)); then envcfg_own_code 'flux run' "$envcfg_code"; fi
  return "$envcfg_code"
}

envcfg_keeps() { # WORD...: whether Flux passes them as they are; it fills in {{templates}}
  local envcfg_word
  for envcfg_word; do
    if [[ $envcfg_word == *'{{'*'}}'* ]]; then
      envcfg_error "Flux would take {{...}} for one of its templates in: ${envcfg_word:0:200}" \
        'put the text into a file or a script of yours'
      return 1
    fi
  done
}

ENVCFG_RANK+=$(\builtin declare -f envcfg_rank_settings)$'\nenvcfg_rank_settings\n'
