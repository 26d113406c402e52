# shellcheck shell=bash
# envcfg module preflight 1
# Nodes and network are looked at before any rank starts.

ENVCFG_READY+=' envcfg_preflight'

envcfg_look() { # become the preflight, which is to see what the ranks will
  envcfg_share
  exec "${ENVCFG_PREFLIGHT[@]}" >&2 # stdout is the program's
}

envcfg_preflight() { # look at nodes and network; what is bad ends the step before any rank starts
  local envcfg_code=0
  if ! type -P "${ENVCFG_PREFLIGHT[0]}" >/dev/null; then
    envcfg_error "--preflight needs ${ENVCFG_PREFLIGHT[0]} on ${HOSTNAME:-this host}, and it is not on PATH" \
      'load its module or activate its environment in the job, or leave out --preflight'
    return 4
  fi
  envcfg_spawn envcfg_look
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  ENVCFG_PIDS=()
  if ((envcfg_code == 3)); then
    envcfg_note 'the preflight could not see all; the program starts, as nothing is known to be bad'
    return
  elif ((envcfg_code != 0)); then
    envcfg_error "the preflight has ended with code $envcfg_code, and no rank was started" \
      'start again without the nodes that failed: sbatch --exclude=NODES'
    return "$envcfg_code"
  fi
}
