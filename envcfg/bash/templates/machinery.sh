# shellcheck shell=bash

# --- Machinery: the same in every script ----------------------------------------------

envcfg_error() { # MESSAGE [HINT]
  printf 'envcfg: error: %s\n' "$1" >&2
  if [[ -n ${2-} ]]; then printf '  hint: %s\n' "$2" >&2; fi
}

envcfg_fault() { # MESSAGE [HINT]: an error; the step will not start, but the checks go on
  envcfg_error "$@"
  ENVCFG_FAULTS=$((ENVCFG_FAULTS + 1))
}

envcfg_note() { # MESSAGE
  printf 'envcfg: note: %s\n' "$1" >&2
}

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

# The settings become arguments of the rank part, NAME=VALUE or -u NAME. Nothing is set
# here, in the shell from which ranks and containers are started.
envcfg_force() { # NAME VALUE [options]: what the job has set does not count
  envcfg_differs "${3-profile}" "$1" "$2"
  ENVCFG_ARGS+=("$1=$2")
}

envcfg_set() { # NAME VALUE: what the job has set already wins
  envcfg_differs job "$1" "$2"
  ENVCFG_ARGS+=("$1=${!1-$2}")
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

envcfg_force_unset() { # NAME [options]
  envcfg_differs "${2-profile}" "$1"
  ENVCFG_ARGS+=(-u "$1")
}

envcfg_unset() { # NAME: what the job has set already wins
  envcfg_differs job "$1"
  if [[ -n ${!1+set} ]]; then ENVCFG_ARGS+=("$1=${!1}"); else ENVCFG_ARGS+=(-u "$1"); fi
}

envcfg_agrees() { # BUNDLE NAME VALUE...: whether the job itself sets none of it otherwise
  local envcfg_bundle=$1
  shift
  while (($# > 0)); do
    if [[ -n ${!1+set} && ${!1} != "$2" ]]; then
      envcfg_show "${!1}"
      envcfg_note "$envcfg_bundle is left out as a whole: the job sets $1=$envcfg_shown, not $2"
      return 1
    fi
    shift 2
  done
}

envcfg_pass() { # NAME...: hand on what the rank part refers to, under a name of its own
  local envcfg_name
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then
      ENVCFG_ARGS+=("ENVCFG_REF_$envcfg_name=${!envcfg_name}")
    fi
  done
}

envcfg_preset() { # NAME...: what the job has set already wins over the rank part
  local envcfg_name
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then
      ENVCFG_ARGS+=("$envcfg_name=${!envcfg_name}")
      ENVCFG_PRESET+="$envcfg_name "
    fi
  done
}

envcfg_size() { # OPTION: of a step that is smaller than the job
  if [[ ${1#*=} == *[!0-9]* || ${1#*=} == '' || ${1#*=} == 0* ]]; then
    envcfg_fault "$1 is no number of ${1%%=*}" 'as in envcfg_run --nodes=1 --ranks=1 -- COMMAND'
  elif [[ $1 == --nodes=* ]]; then
    ENVCFG_NODES_WANTED=${1#*=}
  else
    ENVCFG_RANKS=${1#*=}
  fi
}

envcfg_choose() { # set ENVCFG_CHOSEN, the numbers of this step's nodes in their order, if it was given any
  local envcfg_number envcfg_wanted=' '
  if [[ $ENVCFG_ON == all || $ENVCFG_FAULTS != 0 ]]; then return; fi
  if [[ -n $ENVCFG_NODES_WANTED ]]; then
    envcfg_fault '--on and --nodes exclude each other' '--on says which nodes, and so how many'
    return
  fi
  case $ENVCFG_ON in
    first) ENVCFG_CHOSEN=(0) ;;
    others) for ((envcfg_number = 1; envcfg_number < ENVCFG_NODES; envcfg_number++)); do ENVCFG_CHOSEN+=("$envcfg_number"); done ;;
    *[!0-9,]* | '' | ,* | *, | *,,* | *[0-9][0-9][0-9][0-9][0-9][0-9]*)
      envcfg_fault "--on $ENVCFG_ON names no nodes" 'as in --on first, --on others, --on all, --on 0,2'
      return
      ;;
    *)
      for envcfg_number in ${ENVCFG_ON//,/ }; do
        envcfg_number=$((10#$envcfg_number))
        if ((envcfg_number >= ENVCFG_NODES)); then
          envcfg_fault "--on $ENVCFG_ON: there is no node $envcfg_number" "the job has $ENVCFG_NODES, which are numbered from 0"
          return
        fi
        envcfg_wanted+="$envcfg_number "
      done
      for ((envcfg_number = 0; envcfg_number < ENVCFG_NODES; envcfg_number++)); do
        if [[ $envcfg_wanted == *" $envcfg_number "* ]]; then ENVCFG_CHOSEN+=("$envcfg_number"); fi
      done
      ;;
  esac
  ENVCFG_NODES_WANTED=${#ENVCFG_CHOSEN[@]}
  envcfg_chosen
}

envcfg_shrink() { # to the nodes of this step, if it was given a number
  if [[ -z $ENVCFG_NODES_WANTED || $ENVCFG_NODES_WANTED == "$ENVCFG_NODES" ]]; then
    return
  elif ((ENVCFG_NODES_WANTED > ENVCFG_NODES)); then
    envcfg_fault "a step of $ENVCFG_NODES_WANTED nodes, but the job has $ENVCFG_NODES" 'give fewer: --nodes=N'
  # envcfg:begin stated
  elif [[ $ENVCFG_NODES_WANTED != "$ENVCFG_NODES_STATED" ]]; then
    envcfg_fault "a step of $ENVCFG_NODES_WANTED nodes, but this was made for $ENVCFG_NODES_STATED" \
      'leave out --fact nodes=..., then each step decides'
  # envcfg:end stated
  fi
  ENVCFG_NODES=$ENVCFG_NODES_WANTED
}

envcfg_per_node() { # set envcfg_ranks: how many on each node, where the scheduler does not tell
  envcfg_ranks=${ENVCFG_RANKS:-$ENVCFG_GPUS}
  if [[ -n $envcfg_ranks ]]; then return; fi
  envcfg_error 'how many ranks per node? the profile has no GPUs' 'give --ranks N'
  return 2
}

envcfg_stated() { # whether the job has the nodes for which this was made
  if [[ $ENVCFG_NODES_STATED != "$ENVCFG_NODES" ]]; then
    envcfg_fault "made for $ENVCFG_NODES_STATED nodes, but the job has $ENVCFG_NODES" \
      'leave out --fact nodes=..., then the job decides'
  fi
}

envcfg_lengths() { # WORD...: Linux must be able to start a program with them
  local LC_ALL=C envcfg_word envcfg_sum=0
  for envcfg_word; do
    envcfg_sum=$((envcfg_sum + ${#envcfg_word}))
    if ((${#envcfg_word} > 131071)); then
      envcfg_fault "'${envcfg_word:0:60}...' has ${#envcfg_word} bytes, and an argument can have 131071" \
        'put long texts into a file that the program reads'
    fi
  done
  if ((ENVCFG_FAULTS > 0 || envcfg_sum < 100000)) || ! type -P true >/dev/null; then return; fi
  printf -v envcfg_word '%16384s' '' # room for what launchers add
  if ! "$(type -P true)" "$@" "$envcfg_word" 2>/dev/null; then
    envcfg_fault "command and settings have $envcfg_sum bytes, too many beside the job's environment" \
      'put long texts into a file that the program reads'
  fi
}

envcfg_step() { # COMMAND...: one step of the job, from the checks to the exit code
  ENVCFG_FAULTS=0 ENVCFG_CODE=0 ENVCFG_ARGS=() ENVCFG_PRESET=' ' ENVCFG_JOB_NODES=1
  # shellcheck disable=SC2034 # not all that is started meets
  ENVCFG_MASTER_ADDR=''
  ENVCFG_FROM_JOB='' ENVCFG_FROM_PROFILE='' ENVCFG_FROM_OPTIONS=''
  # envcfg:begin modular
  ENVCFG_UNLOADED=()
  # envcfg:end modular
  # envcfg:begin size
  local ENVCFG_RANKS=$ENVCFG_RANKS ENVCFG_NODES_WANTED='' ENVCFG_ON=all ENVCFG_OVERLAP=''
  local -a ENVCFG_CHOSEN=()
  while :; do
    case ${1-} in
      --nodes=* | --ranks=*) envcfg_size "$1" ;;
      --on=*) ENVCFG_ON=${1#*=} ;;
      --on)
        set -- "--on=${2-}" "${@:3}"
        continue
        ;;
      --overlap) ENVCFG_OVERLAP=yes ;;
      *) break ;;
    esac
    shift
  done
  if [[ ${1-} == -- ]]; then
    shift
  elif [[ ${1-} == -* ]]; then
    envcfg_error "unknown option $1" 'as in envcfg_run --on first --ranks=1 -- COMMAND'
    return 2
  fi
  # envcfg:end size
  if (($# == 0)); then
    envcfg_error 'no command' 'give it, as in envcfg_run python train.py'
    return 2
  fi
  # envcfg:begin modules
  envcfg_modules
  # envcfg:end modules
  envcfg_survey
  envcfg_where
  # envcfg:begin stated
  envcfg_stated
  # envcfg:end stated
  # envcfg:begin shrink
  if [[ $ENVCFG_ON == others && $ENVCFG_NODES == 1 && $ENVCFG_FAULTS == 0 ]]; then
    envcfg_note 'nothing to do on others: the job has one node'
    return 0
  fi
  envcfg_choose
  envcfg_shrink
  if [[ -n $ENVCFG_OVERLAP ]]; then envcfg_overlap; fi
  # envcfg:end shrink
  # envcfg:begin tested-modules
  envcfg_tested_modules
  # envcfg:end tested-modules
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then
    envcfg_settings
    envcfg_inherited
    envcfg_meeting
  fi
  envcfg_lengths "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" "$@"
  # envcfg:begin text
  envcfg_texts "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" "$@"
  # envcfg:end text
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  # envcfg:begin smoke
  envcfg_smoke || return
  # envcfg:end smoke
  envcfg_listen
  # envcfg:begin preflight
  envcfg_preflight || return
  # envcfg:end preflight
  envcfg_launch "$@" || ENVCFG_CODE=$?
  # envcfg:begin leave
  envcfg_leave
  # envcfg:end leave
  # envcfg:begin log
  if ((ENVCFG_CODE == 0)); then envcfg_log_end; fi
  # envcfg:end log
  return "$ENVCFG_CODE"
}

envcfg_plain() { # in a shell of envcfg's own: undo what the job's shell has made of bash itself
  IFS=$' \t\n'
  builtin shopt -u expand_aliases nocasematch # bash reads "$(...)" once more as it comes there
  builtin unset -f . : '[' break cd command compgen continue declare echo eval exec exit export false jobs kill local \
    mapfile printf read readonly return set shift source test trap true type umask unset wait
  set +k
}

envcfg_apart() { # COMMAND...: one step and its end, in a shell of envcfg's own
  envcfg_plain
  exec {ENVCFG_TIE}>&-
  # Without a trap bash forgets an INT that comes while it waits for a program.
  if [[ " ${ENVCFG_HEARD[*]-} " == *' INT '* ]]; then trap 'exit 130' INT; fi
  ENVCFG_CODE=0
  # envcfg:begin written
  builtin trap envcfg_unplace EXIT # also where a signal ends this before there are ranks to pass it to
  # envcfg:end written
  envcfg_step "$@" || ENVCFG_CODE=$?
  # envcfg:begin end
  # The job's own shell does it at its end, if there is one and it is still there.
  if envcfg_is_script || envcfg_is_alone; then envcfg_end; fi
  # envcfg:end end
  return "$ENVCFG_CODE"
}

# The job's shell waits for a child in the background, as signals interrupt only that. Those
# that it has a trap for, or ignores, are its own business. With job control, only what is in
# the foreground has the terminal.
envcfg_run() { # [--on NODES | --nodes=N] [--ranks=N] [--overlap] [--] COMMAND...: run one step; its exit code is the program's
  builtin local envcfg_signal envcfg_traps envcfg_own envcfg_code ENVCFG_IGNORED ENVCFG_PIPE ENVCFG_TIE ENVCFG_LIFE
  builtin local ENVCFG_APART='' # whether what is started leads process groups
  builtin local -a ENVCFG_PIDS ENVCFG_LED ENVCFG_HELD ENVCFG_HEARD
  if [[ -n $ENVCFG_GROUPS ]] && ! envcfg_has_terminal; then ENVCFG_APART=yes; fi
  envcfg_code=0
  if [[ $- == *m* ]]; then
    envcfg_tie
    (envcfg_apart "$@") || envcfg_code=$?
    case $envcfg_code in
      14[789] | 150) ;; # it is stopped, and may go on
      *) envcfg_close "$ENVCFG_TIE" "$ENVCFG_LIFE" ;;
    esac
    builtin return "$envcfg_code"
  fi
  envcfg_traps=$(builtin trap -p)$'\n' ENVCFG_IGNORED='' envcfg_own=''
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    if [[ $envcfg_traps == *"trap -- '' SIG$envcfg_signal"$'\n'* ]]; then
      ENVCFG_IGNORED+=" $envcfg_signal "
    elif [[ $BASHPID == "$$" && $envcfg_traps == *"' SIG$envcfg_signal"$'\n'* ]]; then # a subshell shows its parent's
      envcfg_own+=" $envcfg_signal "
    fi
  done
  envcfg_listen "$envcfg_own"
  envcfg_tie
  envcfg_spawn envcfg_apart "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  for envcfg_signal in "${ENVCFG_HEARD[@]}"; do builtin trap - "$envcfg_signal"; done
  envcfg_close "$ENVCFG_PIPE" "$ENVCFG_TIE" "$ENVCFG_LIFE"
  if envcfg_is_script; then builtin return "$envcfg_code"; fi
  for envcfg_signal in HUP TERM INT; do # what would have ended the job's shell does so now
    if [[ $BASHPID == "$$" && " $ENVCFG_CAUGHT" == *" $envcfg_signal "* ]]; then
      if [[ $envcfg_signal != INT || $envcfg_code == 130 ]]; then builtin kill -s "$envcfg_signal" "$$"; fi
    fi
  done
  builtin return "$envcfg_code"
}

envcfg_is_script() { # whether this text is being run as a file, not sourced or evaluated
  builtin local envcfg_line
  [[ -f $0 && -r $0 ]] || builtin return 1
  while IFS= builtin read -r envcfg_line && [[ $envcfg_line == '#'* ]]; do
    if [[ $envcfg_line == '# envcfg:script '* ]]; then builtin return 0; fi
  done <"$0"
  builtin return 1
}
