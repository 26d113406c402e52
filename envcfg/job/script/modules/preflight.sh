# shellcheck shell=bash # preflight 2: test nodes and network before any rank starts
# needs: share before; adds: READY=envcfg_preflight
envcfg_look() { # become the preflight, which is to see what the ranks will
  envcfg_share
  envcfg_run_preflight >&2 # stdout is the program's
}

envcfg_preflight() { # look at nodes and network; what is bad ends the step before any rank starts
  local envcfg_code=0
  if ! type -P envcfg >/dev/null; then
    envcfg_error "--preflight needs envcfg on ${HOSTNAME:-this host}, and it is not on PATH" \
      'load its module or activate its environment in the job, or leave out --preflight'
    return 4
  fi
  envcfg_before envcfg_look || envcfg_code=$?
  if ((envcfg_code == 3)); then
    envcfg_note 'the preflight could not see all; the program starts, as nothing is known to be bad'
    return
  elif ((envcfg_code != 0)); then
    envcfg_error "the preflight has ended with code $envcfg_code, and no rank was started" \
      'start again without the nodes that failed: sbatch --exclude=NODES'
    return "$envcfg_code"
  fi
}
