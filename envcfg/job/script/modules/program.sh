# shellcheck shell=bash # program 1: give a program that starts the ranks of its node the job's nodes and ranks
# ranks: cores all of its task
ENVCFG_WORKER='' # the program's ranks run nothing of envcfg
envcfg_in_rank <<'ENVCFG_TEXT'
unset -v ENVCFG_WORKER
envcfg_tell() { # NAME VALUE: set a variable of the program; the job must not have another value
  eval "envcfg_value=\${$1-\$2}"
  [ "$envcfg_value" = "$2" ] || envcfg_fail "the job sets $1=$envcfg_value, but this step has $2" \
    "unset $1; for another number of ranks per node, give --ranks N to envcfg"
  export "$1=$2"
}
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PROGRAM
