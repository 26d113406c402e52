# shellcheck shell=sh
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

envcfg_in_lacks() { # NAME PLACE {REFERENCE SET}...: fail if its value refers to what is not set
  envcfg_name="$1 ($2)"
  while [ "$#" -gt 2 ]; do
    [ -n "$4" ] || envcfg_fail "$envcfg_name refers to ${3#ENVCFG_REF_}, which is not set in this task" \
      "export it before the step, or give a value of your own: --set ${envcfg_name%% *}=VALUE"
    shift 2
  done
  unset -v envcfg_name
  return 1
}

envcfg_in_force() { # NAME VALUE
  export "$1=$2"
}

envcfg_in_set() { # NAME VALUE
  envcfg_is_preset "$1" || export "$1=$2"
}

envcfg_in_force_unset() { # NAME
  unset -v "$1"
}

envcfg_in_unset() { # NAME
  envcfg_is_preset "$1" || unset -v "$1"
}
