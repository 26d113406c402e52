# shellcheck shell=bash # core 16: one step, from its checks to its exit code
# reads: ENVCFG_AS_SAID ENVCFG_SUFFIX
ENVCFG_STEP=envcfg_step ENVCFG_GROUPS='' ENVCFG_MANY='' ENVCFG_AGENT='' ENVCFG_CORE='' ENVCFG_TASK='' ENVCFG_HIDES=''
ENVCFG_RANK=ENVCFG_SUFFIX=${ENVCFG_SUFFIX@Q}$'\n' # what each rank does first, in the container

# A converted pipeline has its own file for notes. It is in an array, and thus not from the environment.
ENVCFG_NOTES=${ENVCFG_NOTES[1]-2}

# In a POSIX shell's own commands only. No process is started but the program's, except to make
# the caches once on each node.
envcfg_in_rank() { # [worker]: add the text of the input to the rank part, and to that of an agent's ranks
  builtin local envcfg_text
  envcfg_text=''
  IFS= builtin read -r -d '' envcfg_text || builtin : # until the text ends
  ENVCFG_RANK+=$envcfg_text
  if (($# > 0)); then ENVCFG_CORE+=$envcfg_text; fi
}

envcfg_error() { # MESSAGE [HINT]
  printf '%s\n' "envcfg: error: $1" ${2:+"  hint: $2"} >&"$ENVCFG_NOTES"
}

envcfg_fault() { # MESSAGE [HINT]: an error; the step will not start, but the checks go on
  envcfg_error "$@"
  ENVCFG_FAULTS=$((ENVCFG_FAULTS + 1))
}

envcfg_note() { # MESSAGE
  printf 'envcfg: note: %s\n' "$1" >&"$ENVCFG_NOTES"
}

envcfg_own_code() { # PROGRAM CODE [REASON]: a note that the step's code is that of the program which starts ranks
  envcfg_note "exit code $2 is that of $1, and ${3:-may be of a rank that was ended after another had failed}"
}

# Settings become arguments of the rank part. Nothing is set in the shell that starts the ranks.
envcfg_set() { # NAME VALUE | -u NAME: what the job has set already wins
  local envcfg_name=${1/#-u/"$2"}
  envcfg_differs 'your environment' "$1" "$2"
  if [[ -n ${!envcfg_name+set} ]]; then set -- "$envcfg_name" "${!envcfg_name}"; fi
  if [[ $1 == -u ]]; then ENVCFG_ARGS+=(-u "$2"); else ENVCFG_ARGS+=("$1=$2"); fi
}

envcfg_keep_exported() { # {DEFAULT | quietly} NAME...: what the job has set already wins over the rank part, which has DEFAULT
  local envcfg_name envcfg_first=${ENVCFG_MASTER_ADDR:-${SLURMD_NODENAME-}}
  for envcfg_name in "${@:2}"; do
    if [[ -z ${!envcfg_name+set} ]]; then continue; fi
    ENVCFG_ARGS+=("$envcfg_name=${!envcfg_name}")
    ENVCFG_PRESET+="$envcfg_name "
    if [[ $1 != quietly && ($envcfg_name != MASTER_ADDR || -z $envcfg_first || $MASTER_ADDR. != "$envcfg_first"[!0-9]*) ]]; then
      envcfg_from 'your environment' "$envcfg_name" "=${!envcfg_name}" "$1"
    fi
  done
}

envcfg_lengths() { # WORD...: Linux must be able to start a program with them
  local LC_ALL=C envcfg_word envcfg_shown envcfg_sum=0 envcfg_hint='put long texts into a file that the program reads'
  for envcfg_word; do
    envcfg_sum=$((envcfg_sum + ${#envcfg_word}))
    if ((${#envcfg_word} <= 131071)); then continue; fi
    envcfg_show "${envcfg_word%%=*}" "$envcfg_word"
    envcfg_fault "$envcfg_shown has ${#envcfg_word} bytes, and an argument can have 131071" "$envcfg_hint"
  done
  if ((ENVCFG_FAULTS > 0 || envcfg_sum < 100000)) || ! type -P true >/dev/null; then return; fi
  printf -v envcfg_word '%16384s' '' # room for what launchers add
  "$(type -P true)" "$@" "$envcfg_word" 2>/dev/null \
    || envcfg_fault "command and settings have $envcfg_sum bytes, too many together with the job's environment" "$envcfg_hint"
}

envcfg_step() { # COMMAND...
  local envcfg_do
  if (($# == 0)); then
    envcfg_error 'no command' 'give it, as in envcfg_run python train.py'
    return 2
  fi
  for envcfg_do in $ENVCFG_BEFORE envcfg_survey envcfg_where envcfg_name_job; do "$envcfg_do"; done
  for envcfg_do in $ENVCFG_SHAPE; do "$envcfg_do" || return "$ENVCFG_CODE"; done
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then
    for envcfg_do in envcfg_settings $ENVCFG_SET envcfg_inherited envcfg_meeting; do "$envcfg_do"; done
  fi
  for envcfg_do in envcfg_lengths $ENVCFG_WORDS; do
    "$envcfg_do" "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" "$@"
  done
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET" "ENVCFG_NODES=$ENVCFG_NODES")
  envcfg_listen
  for envcfg_do in $ENVCFG_READY; do "$envcfg_do" || return $?; done
  envcfg_launch "$@" || ENVCFG_CODE=$?
  for envcfg_do in $ENVCFG_AFTER; do "$envcfg_do"; done
  return "$ENVCFG_CODE"
}

envcfg_plain() { # in a shell of envcfg's own: undo what the job's shell has made of bash itself
  IFS=$' \t\n'
  builtin shopt -u expand_aliases nocasematch # bash reads "$(...)" once more as it comes there
  builtin unset -f . : '[' break cd command compgen continue declare echo eval exec exit export false jobs kill local \
    mapfile printf read readonly return set shift source test trap true type umask unset wait
  set +k
  if [[ -z ${PWD-} ]]; then PWD=$(builtin pwd); fi
  if [[ -z ${PATH+set} ]]; then # what the step starts has none either, and finds programs in the same folders
    PATH=/usr/local/bin:/usr/bin:/bin
    builtin export -n PATH
  fi
}

envcfg_apart() { # COMMAND...: one step and its end, in a shell of envcfg's own
  envcfg_plain
  local envcfg_do
  local -A ENVCFG_FROM=()
  exec {ENVCFG_TIE}>&-
  # A signal that has a trap here is no news: else bash prints its own lines on a rank that it has ended.
  # shellcheck disable=SC2173 # nothing is meant to catch it
  trap : ILL TRAP ABRT BUS FPE KILL SEGV SYS XCPU XFSZ
  # Without a trap bash forgets an INT that comes while it waits for a program.
  if [[ " ${ENVCFG_HEARD[*]-} " == *' INT '* ]]; then trap 'exit 130' INT; fi
  ENVCFG_FAULTS=0 ENVCFG_CODE=0 ENVCFG_ARGS=() ENVCFG_PRESET=' ' ENVCFG_NODES_WANTED='' ENVCFG_CHOSEN=()
  ENVCFG_JOB_NODES=1 ENVCFG_MASTER_ADDR=''
  "$ENVCFG_STEP" "$@" || ENVCFG_CODE=$?
  for envcfg_do in $ENVCFG_END; do "$envcfg_do" || :; done
  return "$ENVCFG_CODE"
}

# The job's shell waits for a child in the background, as signals interrupt only that. Signals
# that it has a trap for, or ignores, are its own business. With job control, only what is in
# the foreground has the terminal.
envcfg_run() { # [OPTIONS] COMMAND...: run one step; its exit code is the program's
  # ENVCFG_APART: whether what is started leads process groups
  builtin local envcfg_signal envcfg_traps envcfg_own envcfg_code ENVCFG_IGNORED ENVCFG_PIPE ENVCFG_TIE ENVCFG_LIFE ENVCFG_APART
  builtin local -a ENVCFG_PIDS ENVCFG_LED ENVCFG_HELD ENVCFG_HEARD
  ENVCFG_APART='' envcfg_code=0 ENVCFG_IGNORED='' # under "set -k" local takes no values
  builtin local -
  builtin set +ET
  envcfg_quiet
  if [[ -n $ENVCFG_GROUPS ]] && ! envcfg_has_terminal; then ENVCFG_APART=yes; fi
  if [[ $- == *m* ]]; then
    envcfg_tie
    (envcfg_apart "$@") || envcfg_code=$?
    case $envcfg_code in
      14[789] | 150) ;; # it is stopped, and may go on
      *) envcfg_close "$ENVCFG_TIE" "$ENVCFG_LIFE" ;;
    esac
    envcfg_heed
    builtin return "$envcfg_code"
  fi
  envcfg_traps=$(\builtin trap -p)$'\n' envcfg_own=''
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
  envcfg_heed
  if [[ " ${FUNCNAME[*]} " == *' exec_with_envcfg '* ]] || envcfg_is_script; then builtin return "$envcfg_code"; fi
  for envcfg_signal in HUP TERM INT ${ENVCFG_AS_SAID:+USR1 USR2}; do # what would have ended the job's shell does so now
    if [[ $BASHPID == "$$" && " $ENVCFG_CAUGHT" == *" $envcfg_signal "* && ($envcfg_signal != INT || $envcfg_code == 130) ]]; then
      builtin kill -s "$envcfg_signal" "$$"
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

envcfg_in_rank worker <<'ENVCFG_TEXT'
envcfg_fail() { # MESSAGE [HINT]
  printf '%s\n' "envcfg: error: $1" ${2:+"  hint: $2"} >&2
  exit 4
}

envcfg_need() { # {NAME VALUE}...: what the task's launcher must have told it
  while [ "$#" -gt 0 ]; do
    [ -n "$2" ] || envcfg_fail "$1 is not set in this task, or empty" \
      'the launcher sets it: check whether a command in between unsets it'
    shift 2
  done
}

envcfg_is_preset() { # NAME: whether the job has set it, so that its value stays
  case $ENVCFG_PRESET in *" $1 "*) return 0 ;; esac
  return 1
}

envcfg_meet() { # ADDRESS PORT: where ranks meet, unless the job has said it
  envcfg_is_preset MASTER_ADDR || export MASTER_ADDR="$1"
  envcfg_is_preset MASTER_PORT || export MASTER_PORT="$2"
  envcfg_need MASTER_ADDR "${MASTER_ADDR-unset}" MASTER_PORT "${MASTER_PORT-unset}"
}

envcfg_force() { # NAME VALUE | -u NAME
  if [ "$1" = -u ]; then unset -v "$2"; else export "$1=$2"; fi
}

envcfg_set() { # NAME VALUE | -u NAME: what the job has set already wins
  envcfg_name=$1
  [ "$1" != -u ] || envcfg_name=$2
  envcfg_is_preset "$envcfg_name" || envcfg_force "$@"
}
ENVCFG_TEXT
