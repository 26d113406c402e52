# shellcheck shell=bash # caches 5: node-local folders of this job: made on each node, removed at the end
# adds: SET=envcfg_name_caches END=envcfg_forget
envcfg_end() { # [BASE...]: remove these caches, or all of this shell, on every node
  (
    builtin trap '' HUP INT QUIT TERM USR1 USR2 # a signal does not cut this short
    envcfg_plain
    if (($# == 0)); then set -- ${ENVCFG_CACHES[@]+"${ENVCFG_CACHES[@]}"}; fi
    ENVCFG_FAULTS=0
    envcfg_survey 2>/dev/null
    if (($# == 0 || ENVCFG_FAULTS > 0)); then exit 0; fi # never a job: nothing was made
    # Not what the ranks have refused: a link, a file, a folder of somebody else.
    # shellcheck disable=SC2016 # to be expanded on the node
    set -- bash -c "$ENVCFG_NODE_NAME"'
      trap "" HUP INT QUIT TERM USR1 USR2
      for cache in "${@/%/-$envcfg_host}"; do
        if [[ $cache == */envcfg-$UID-* && -d $cache && ! -h $cache && -O $cache ]]; then rm -rf -- "$cache" || exit; fi
      done' envcfg-end "$@"
    if ! envcfg_host "$@" 2>/dev/null; then # a job that is cancelled or at its limit starts no step any more
      "$@" || :
      envcfg_note "could not remove the caches ${*:5} on all nodes"
    fi
  )
}

envcfg_forget() { # of several steps, the job's own shell does it at its end, if it is still there
  if [[ -z $ENVCFG_MANY ]]; then
    if ((ENVCFG_FAULTS == 0)); then envcfg_end "$ENVCFG_CACHE_BASE"; fi
  elif envcfg_is_script || envcfg_is_alone; then
    envcfg_end
  fi
}

# Each sourcing has its own caches, so that nothing side by side shares any. They belong to
# the shell that sources. A subshell does not inherit them, and no other program by its environment.
if [[ ${ENVCFG_OWNER-} != "$BASHPID" || ${ENVCFG_OWNER@a} == *x* ]]; then
  ENVCFG_OWNER=$BASHPID ENVCFG_CACHES=() ENVCFG_TRAPPED=''
fi
builtin export -n ENVCFG_OWNER
envcfg_name_job
ENVCFG_CACHE_BASE=$ENVCFG_SCRATCH/envcfg-$UID-${ENVCFG_JOB%%-*}-$BASHPID.${#ENVCFG_CACHES[@]}
ENVCFG_CACHES+=("$ENVCFG_CACHE_BASE")

envcfg_name_caches() { ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE"); } # for the ranks

envcfg_in_rank <<'ENVCFG_TEXT'
# mkdir without -p: what is there already, a link too, is not taken over but checked.
export ENVCFG_CACHE="$ENVCFG_CACHE_BASE-$envcfg_host"
if [ ! -d "$ENVCFG_CACHE" ] && ! envcfg_mkdir -- "$ENVCFG_CACHE" 2>/dev/null; then
  [ -e "$ENVCFG_CACHE" ] || [ -h "$ENVCFG_CACHE" ] || envcfg_fail "cannot make the folder $ENVCFG_CACHE for caches" \
    'check that its parent exists and is writable, and that the image has mkdir'
fi
envcfg_own "$ENVCFG_CACHE"
ENVCFG_TEXT
