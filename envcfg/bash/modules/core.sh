# shellcheck shell=bash
# envcfg module core 1
# A step, from its checks to its exit code. Other modules add to the lists.

ENVCFG_BEFORE=() ENVCFG_SHAPE=() ENVCFG_WORDS=() ENVCFG_READY=() ENVCFG_AFTER=() ENVCFG_END=()
ENVCFG_STEP=envcfg_step ENVCFG_MANY='' ENVCFG_AGENT='' ENVCFG_FOLDERS=''

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

# Settings become arguments of the rank part. Nothing is set in the shell that starts the ranks.
envcfg_force() { # NAME VALUE | -u NAME
  if [[ $1 == -u ]]; then ENVCFG_ARGS+=("$@"); else ENVCFG_ARGS+=("$1=$2"); fi
}

envcfg_set() { # NAME VALUE | -u NAME: what the job has set already wins
  local envcfg_name=${1/#-u/"$2"}
  if [[ -n ${!envcfg_name+set} ]]; then set -- "$envcfg_name" "${!envcfg_name}"; fi
  envcfg_force "$@"
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

envcfg_lengths() { # WORD...: Linux must be able to start a program with them
  local LC_ALL=C envcfg_word envcfg_sum=0
  for envcfg_word; do
    envcfg_sum=$((envcfg_sum + ${#envcfg_word}))
    if ((${#envcfg_word} > 131071)); then
      envcfg_fault "'${envcfg_word:0:60}...' has ${#envcfg_word} bytes, and an argument can have 131071" \
        'put long texts into a file that the program reads'
    fi
  done
  if ((ENVCFG_FAULTS > 0 || envcfg_sum < 100000)); then return; fi
  printf -v envcfg_word '%16384s' '' # room for what launchers add
  if ! "$(type -P true || echo :)" "$@" "$envcfg_word" 2>/dev/null; then
    envcfg_fault "command and settings have $envcfg_sum bytes, too many beside the job's environment" \
      'put long texts into a file that the program reads'
  fi
}

envcfg_step() { # COMMAND...
  local envcfg_do
  if (($# == 0)); then
    envcfg_error 'no command' 'give it, as in envcfg_run python train.py'
    return 2
  fi
  for envcfg_do in "${ENVCFG_BEFORE[@]}" envcfg_survey; do "$envcfg_do"; done
  for envcfg_do in "${ENVCFG_SHAPE[@]}"; do "$envcfg_do" || return "$ENVCFG_CODE"; done
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then envcfg_settings; fi
  for envcfg_do in envcfg_lengths "${ENVCFG_WORDS[@]}"; do
    "$envcfg_do" "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" "$@"
  done
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  envcfg_listen
  for envcfg_do in "${ENVCFG_READY[@]}"; do "$envcfg_do" || return; done
  envcfg_launch "$@" || ENVCFG_CODE=$?
  for envcfg_do in "${ENVCFG_AFTER[@]}"; do "$envcfg_do"; done
  return "$ENVCFG_CODE"
}

envcfg_plain() { # in a shell of envcfg's own: undo what the job's shell has made of bash itself
  IFS=$' \t\n'
  builtin shopt -u expand_aliases nocasematch # bash reads "$(...)" once more as it comes there
  builtin unset -f break compgen continue exec exit export jobs kill local printf read return set shift type unset
  set +k
}

envcfg_apart() { # COMMAND...: one step and its end, in a shell of envcfg's own
  local envcfg_do envcfg_code=0
  envcfg_plain
  ENVCFG_FAULTS=0 ENVCFG_CODE=0 ENVCFG_ARGS=() ENVCFG_PRESET=' ' ENVCFG_NODES_WANTED='' ENVCFG_CHOSEN=()
  "$ENVCFG_STEP" "$@" || envcfg_code=$?
  for envcfg_do in "${ENVCFG_END[@]}"; do "$envcfg_do" || :; done
  return "$envcfg_code"
}

# The job's shell waits for a child in the background, as signals interrupt only that. Signals
# that it has a trap for, or ignores, are its own business. With job control, only what is in
# the foreground has the terminal.
envcfg_run() { # [OPTIONS] COMMAND...: run one step; its exit code is the program's
  if [[ $- == *m* ]]; then
    (envcfg_apart "$@")
    return
  fi
  builtin local envcfg_signal envcfg_traps envcfg_own envcfg_code ENVCFG_IGNORED ENVCFG_PIPE
  builtin local -a ENVCFG_PIDS ENVCFG_HELD ENVCFG_HEARD
  envcfg_traps=$(builtin trap -p)$'\n' ENVCFG_IGNORED='' envcfg_own='' envcfg_code=0
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    if [[ $envcfg_traps == *"trap -- '' SIG$envcfg_signal"$'\n'* ]]; then
      ENVCFG_IGNORED+=" $envcfg_signal "
    elif [[ $BASHPID == "$$" && $envcfg_traps == *"' SIG$envcfg_signal"$'\n'* ]]; then # a subshell shows its parent's
      envcfg_own+=" $envcfg_signal "
    fi
  done
  envcfg_listen "$envcfg_own"
  envcfg_spawn envcfg_apart "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  for envcfg_signal in "${ENVCFG_HEARD[@]}"; do builtin trap - "$envcfg_signal"; done
  builtin exec {ENVCFG_PIPE}>&-
  for envcfg_signal in HUP TERM INT; do # what would have ended the job's shell does so now
    if [[ $BASHPID == "$$" && " $ENVCFG_CAUGHT" == *" $envcfg_signal "* ]]; then
      if [[ $envcfg_signal != INT || $envcfg_code == 130 ]]; then builtin kill -s "$envcfg_signal" "$$"; fi
    fi
  done
  return "$envcfg_code"
}

envcfg_is_script() { # whether this text is being run as a file, not sourced or evaluated
  builtin local envcfg_line
  [[ -f $0 && -r $0 ]] || return 1
  while IFS= builtin read -r envcfg_line && [[ $envcfg_line == '#'* ]]; do
    if [[ $envcfg_line == '# envcfg:script '* ]]; then return 0; fi
  done <"$0"
  return 1
}

envcfg_main() { # COMMAND...: what this text is for; run as a file, its shell is the step's
  if envcfg_is_script; then envcfg_apart "$@"; else envcfg_run "$@"; fi
}

# What each rank does first, inside the container: a POSIX shell's own commands only. No process
# is started but the program's, except to make the caches once on each node.
IFS= builtin read -r -d '' ENVCFG_CORE <<'ENVCFG_TEXT' || : # until the text ends
envcfg_fail() { # MESSAGE [HINT]
  printf 'envcfg: error: %s\n' "$1" >&2
  [ -z "${2-}" ] || printf '  hint: %s\n' "$2" >&2
  exit 4
}

envcfg_need() { # {NAME VALUE}...: what the task's launcher must have told it
  while [ "$#" -gt 0 ]; do
    [ -n "$2" ] || envcfg_fail "$1 is not set in this task, or empty" \
      'what starts tasks sets it: does something between that and here take it away?'
    shift 2
  done
}

envcfg_is_preset() { # NAME: whether the job has set it, so that its value stays
  case $ENVCFG_PRESET in *" $1 "*) return 0 ;; esac
  return 1
}

envcfg_in_force() { # NAME VALUE | -u NAME
  if [ "$1" = -u ]; then unset -v "$2"; else export "$1=$2"; fi
}

envcfg_in_set() { # NAME VALUE | -u NAME: what the job has set already wins
  envcfg_name=$1
  [ "$1" != -u ] || envcfg_name=$2
  envcfg_is_preset "$envcfg_name" || envcfg_in_force "$@"
}
ENVCFG_TEXT
ENVCFG_RANK=$ENVCFG_INSIDE$ENVCFG_CORE
