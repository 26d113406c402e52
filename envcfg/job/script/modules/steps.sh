# shellcheck shell=bash # steps 4: several steps in one job, each with its own nodes or number of ranks
# adds: SHAPE=envcfg_choose SHAPE=envcfg_shrink; reads: ENVCFG_NODES_STATED ENVCFG_RANKS
ENVCFG_MANY=yes ENVCFG_NEXT=$ENVCFG_STEP ENVCFG_STEP=envcfg_sized_step

envcfg_sized_step() { # [--on NODES | --nodes=N] [--ranks=N] [--overlap] [--] COMMAND...
  local ENVCFG_RANKS=$ENVCFG_RANKS ENVCFG_ON=all ENVCFG_OVERLAP=''
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
  "$ENVCFG_NEXT" "$@"
}

envcfg_size() { # OPTION: of a step that is smaller than the job
  if [[ ${1#*=} == *[!0-9]* || ${1#*=} == '' || ${1#*=} == 0* ]]; then
    envcfg_fault "$1 is not a number of ${1%%=*}" 'as in envcfg_run --nodes=1 --ranks=1 -- COMMAND'
  elif [[ $1 == --nodes=* ]]; then
    ENVCFG_NODES_WANTED=${1#*=}
  else
    ENVCFG_RANKS=${1#*=}
  fi
}

envcfg_choose() { # set ENVCFG_CHOSEN, the numbers of this step's nodes in their order, if it was given any
  local envcfg_number envcfg_wanted=' '
  if [[ $ENVCFG_ON == all || $ENVCFG_FAULTS != 0 ]]; then return; fi
  if [[ $ENVCFG_ON == others && $ENVCFG_NODES == 1 ]]; then
    envcfg_note 'nothing to do on others: the job has one node'
    return 1 # with code 0
  fi
  if [[ -n $ENVCFG_NODES_WANTED ]]; then
    envcfg_fault '--on and --nodes exclude each other' '--on says which nodes, and so how many'
    return
  fi
  case $ENVCFG_ON in
    first) ENVCFG_ON=0 ;;
    others) ;;
    *[!0-9,]* | '' | ,* | *, | *,,* | *[0-9][0-9][0-9][0-9][0-9][0-9]*)
      envcfg_fault "--on $ENVCFG_ON names no nodes" 'as in --on first, --on others, --on all, --on 0,2'
      return
      ;;
  esac
  for envcfg_number in ${ENVCFG_ON//[!0-9]/ }; do
    envcfg_wanted+="$((10#$envcfg_number)) "
    if ((10#$envcfg_number >= ENVCFG_NODES)); then
      envcfg_fault "--on $ENVCFG_ON: there is no node $((10#$envcfg_number))" "the job has $ENVCFG_NODES, which are numbered from 0"
      return
    fi
  done
  for ((envcfg_number = 0; envcfg_number < ENVCFG_NODES; envcfg_number++)); do
    if [[ $ENVCFG_ON == others && $envcfg_number != 0 || $envcfg_wanted == *" $envcfg_number "* ]]; then
      ENVCFG_CHOSEN+=("$envcfg_number")
    fi
  done
  ENVCFG_NODES_WANTED=${#ENVCFG_CHOSEN[@]}
  envcfg_chosen
}

envcfg_shrink() { # to the nodes of this step, if it was given a number
  if [[ -n $ENVCFG_NODES_WANTED && $ENVCFG_NODES_WANTED != "$ENVCFG_NODES" ]]; then
    if ((ENVCFG_NODES_WANTED > ENVCFG_NODES)); then
      envcfg_fault "a step of $ENVCFG_NODES_WANTED nodes, but the job has $ENVCFG_NODES" 'give fewer: --nodes=N'
    elif [[ -n $ENVCFG_NODES_STATED && $ENVCFG_NODES_WANTED != "$ENVCFG_NODES_STATED" ]]; then
      envcfg_fault "a step of $ENVCFG_NODES_WANTED nodes, but this was made for $ENVCFG_NODES_STATED" \
        'leave out --fact nodes=..., then each step decides'
    fi
    ENVCFG_NODES=$ENVCFG_NODES_WANTED
  fi
  if [[ -n $ENVCFG_OVERLAP ]]; then envcfg_overlap; fi
}

envcfg_begin() { # ARGUMENT...: run as a file, they are the command; else the caches go when this shell does
  if envcfg_is_script; then
    envcfg_run "$@"
  elif [[ -n $ENVCFG_END && ${ENVCFG_TRAPPED-} != "$BASHPID" ]]; then
    # In a subshell trap -p shows what is not its own, and a subshell's own EXIT trap is
    # rarer than a cache that stays.
    envcfg_quiet
    if [[ $BASHPID == "$$" && -n $(\builtin trap -p EXIT) ]]; then
      envcfg_note 'this shell has its own EXIT trap: call envcfg_end in it to remove the caches'
    else
      builtin trap envcfg_end EXIT
    fi
    ENVCFG_TRAPPED=$BASHPID
    envcfg_heed
  fi
}
