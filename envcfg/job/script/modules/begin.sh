# shellcheck shell=bash # begin 6: refuse a shell in which bash would stop halfway and report success
ENVCFG_READONLY=$'\n'$(\builtin readonly -p && \builtin declare -F)
ENVCFG_TRY=$'*\ndeclare -*([a-z])r*([a-z]) @(ENVCFG|envcfg|IFS)[_=\n]*' # "readonly" of a name of envcfg
# shellcheck disable=SC2053 # it is a pattern
if [[ $- == *r* || ${FUNCNEST-} == [1-9] || ${FUNCNEST-} == [1-9][0-9] || $ENVCFG_READONLY == $ENVCFG_TRY ]]; then
  \builtin printf 'envcfg: error: this shell is restricted, has a low FUNCNEST, or a readonly name that envcfg needs (ENVCFG_*, envcfg_*, IFS)\n' >&2
  \builtin printf '  hint: start the step in a shell without these: bash job.sh\n' >&2
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
fi
