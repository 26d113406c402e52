# shellcheck shell=bash # begin 8: refuse a shell in which bash would stop halfway and report success
# Traps of the job's shell do not run between commands of envcfg: set +ET, and no CHLD trap.
ENVCFG_FLAGS=$-
\builtin set +ET

envcfg_quiet() { # put the CHLD trap aside, in one command: the trap runs after the first child has ended
  ENVCFG_CHLD=''
  # shellcheck disable=SC2064 # the text is meant to be read now
  \builtin trap ": ${ENVCFG_CHLD:=$(\builtin trap -p CHLD)}" CHLD
  \builtin trap - CHLD
}

envcfg_heed() { # give the CHLD trap back; in a subshell it is the parent's
  if [[ ${BASHPID-} == "$$" ]]; then \builtin eval "$ENVCFG_CHLD"; fi
}

envcfg_give_back() { # to the job's shell, what has been changed in it
  if [[ $ENVCFG_FLAGS == *E* ]]; then \builtin set -E; fi
  if [[ $ENVCFG_FLAGS == *T* ]]; then \builtin set -T; fi
  if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then \builtin shopt -s expand_aliases; fi
  envcfg_heed
}

envcfg_quiet
ENVCFG_READONLY=$'\n'$(\builtin readonly -p && \builtin declare -F)
ENVCFG_TRY=$'*\ndeclare -*([a-z])r*([a-z]) @(ENVCFG|envcfg|IFS)[_=\n]*' # "readonly" of a name of envcfg
# shellcheck disable=SC2053 # it is a pattern
if [[ $- == *r* || :$BASHOPTS: == *:extdebug:* || ${FUNCNEST-} == [1-9] || ${FUNCNEST-} == [1-9][0-9] ||
  $ENVCFG_READONLY == $ENVCFG_TRY || $ENVCFG_READONLY != *' BASHOPTS='* ]]; then
  \builtin printf 'envcfg: error: this shell is restricted, has extdebug, a function "builtin", a low FUNCNEST, or a readonly name that envcfg needs (ENVCFG_*, envcfg_*, IFS)\n' >&2
  \builtin printf '  hint: start the step in a shell without these: bash job.sh\n' >&2
  envcfg_give_back
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
  # An expansion still ends the shell if a DEBUG trap skips commands or "builtin" is a function.
  # shellcheck disable=SC2317 # then this is reached
  { :; } <<<"${ENVCFG_REFUSED?envcfg: error: this shell has extdebug or a function "builtin", so nothing is run}"
fi
