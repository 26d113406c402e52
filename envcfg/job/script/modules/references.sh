# shellcheck shell=bash # references 3: values that refer to variables of the job, which may be unset
# defines: envcfg_lacks envcfg_needed envcfg_pass
envcfg_missing() { # USER NAME REMEDY
  envcfg_fault "$1 refers to $2, which is not set in this job" "export $2 before the step, or $3"
}

envcfg_needed() { # USER NAME...: whether the variables of the job are set to which it refers, and not empty
  local envcfg_name
  for envcfg_name in "${@:2}"; do
    if [[ -z ${!envcfg_name-} ]]; then
      envcfg_missing "$1" "$envcfg_name" 'change the profile'
      return 1
    fi
  done
}

envcfg_lacks() { # NAME PLACE {REFERENCE SET}...: whether its value refers to what is not set, which is a fault
  local envcfg_name=$1 envcfg_place=$2
  while (($# > 2)); do
    if [[ -z $4 ]]; then
      envcfg_missing "$envcfg_name ($envcfg_place)" "$3" "give a value of your own: --set $envcfg_name=VALUE"
      return 0
    fi
    shift 2
  done
  return 1
}

envcfg_pass() { # NAME...: hand on what the rank part refers to, under another name
  local envcfg_name
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then
      ENVCFG_ARGS+=("ENVCFG_REF_$envcfg_name=${!envcfg_name}")
    else
      ENVCFG_ARGS+=(-u "ENVCFG_REF_$envcfg_name")
    fi
  done
}

envcfg_in_rank worker <<'ENVCFG_TEXT'
envcfg_lacks() { # NAME PLACE {REFERENCE SET}...: fail if its value refers to what is not set
  envcfg_name="$1 ($2)"
  while [ "$#" -gt 2 ]; do
    [ -n "$4" ] || envcfg_fail "$envcfg_name refers to ${3#ENVCFG_REF_}, which is not set in this task" \
      "export it before the step, or give a value of your own: --set ${envcfg_name%% *}=VALUE"
    shift 2
  done
  unset -v envcfg_name
  return 1
}
ENVCFG_TEXT
