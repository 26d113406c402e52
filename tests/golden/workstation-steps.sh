#!/usr/bin/env bash
# envcfg:script 588d861e1547f6125a788054113fa866c898ee1da115d9aca118145e63790bbb
# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand
# envcfg 0.1.0, profile workstation (sha256 c2c25a46465ed4fb)
# made by: envcfg wrap --profile workstation --container none
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# It needs bash 4.4 and, on the compute nodes, neither envcfg nor Python.
# It starts the ranks by:
#   /bin/sh -c "$ENVCFG_RANK" envcfg-rank "MASTER_ADDR=$MASTER_ADDR" \
#     "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" "RANK=$envcfg_rank" \
#     "LOCAL_RANK=$envcfg_rank" "WORLD_SIZE=$envcfg_ranks" \
#     "LOCAL_WORLD_SIZE=$envcfg_ranks" NODE_RANK=0 -- COMMAND...

case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac

# Aliases of the job's shell are not to change what follows; they are back before the step.
ENVCFG_BASHOPTS=$BASHOPTS
\builtin shopt -u expand_aliases

# --- What this job needs ------------------------------------------------------------

ENVCFG_RANKS=''
ENVCFG_GROUPS='yes'
ENVCFG_SHELL='/bin/sh'
ENVCFG_CLUSTERS=''
ENVCFG_ALLOWED=''

envcfg_settings() {
  :
}

# --- How it is started --------------------------------------------------------------

envcfg_rank() { # COMMAND...: start one of the ranks
  envcfg_spawn exec "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank \
    "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" \
    "RANK=$envcfg_rank" "LOCAL_RANK=$envcfg_rank" "WORLD_SIZE=$envcfg_ranks" "LOCAL_WORLD_SIZE=$envcfg_ranks" \
    NODE_RANK=0 -- "$@"
}

envcfg_launch() { # COMMAND...: the ranks are processes of this machine
  local envcfg_rank envcfg_ranks=${ENVCFG_RANKS:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
  local MASTER_PORT=${MASTER_PORT-}
  if [[ -z $MASTER_PORT ]]; then envcfg_port; fi
  ENVCFG_TELL=envcfg_reach
  for ((envcfg_rank = 0; envcfg_rank < envcfg_ranks; envcfg_rank++)); do
    if envcfg_is_alone; then ENVCFG_CAUGHT+='TERM '; fi # then nothing is started any more
    if ((envcfg_rank == 0)); then
      envcfg_rank "$@" # what is typed goes to rank 0
    else
      envcfg_rank "$@" </dev/null
    fi
  done
  envcfg_watch "$envcfg_ranks"
}

# --- What ranks have started ends with them ---------------------------------------------
# Each rank leads a process group, so that a signal reaches what it has started, too. The
# shell that starts the ranks is their watcher: it has its own group and a pipe to the shell
# that the job knows, and when that one is killed, it is still the parent of the ranks.
#
# A group is signalled only while it is certainly the rank's. While the rank is in bash's own
# book its number is taken. Afterwards Linux gives the number to nobody as long as the group
# has a member. So a group that is found empty is forgotten, and so is one whose number is a
# process again. What remains is the time between two looks, 0.3 s at most: in it the rank
# would have to end with all of its group, all other numbers to be given out, and a stranger
# to take this one, to lead a group, and to end before it.
#
# In front of a terminal there are no such groups: what reads a terminal in another group
# than the one in front is stopped. There the ranks stay in the script's group, with all keys.

envcfg_led() { # set ENVCFG_LED to the groups of ranks that have a member, and are certainly theirs
  local envcfg_pid envcfg_running
  local -a envcfg_led=()
  envcfg_running=$'\n'$(jobs -pr)$'\n'
  for envcfg_pid in "${ENVCFG_LED[@]}"; do
    if [[ $envcfg_running == *$'\n'"$envcfg_pid"$'\n'* ]] \
      || { [[ ! -e /proc/$envcfg_pid ]] && kill -0 -- "-$envcfg_pid" 2>/dev/null; }; then
      envcfg_led+=("$envcfg_pid")
    fi
  done
  ENVCFG_LED=("${envcfg_led[@]}")
}

# By parents that live, and by groups: who has left both is nobody's any more.
envcfg_family() { # set ENVCFG_FAMILY to all processes that ranks have started, and that run; ENVCFG_STRAYS: outside of groups
  local envcfg_file envcfg_line envcfg_pid envcfg_more=yes envcfg_own=''
  local -A envcfg_group=() envcfg_parent=() envcfg_session=() envcfg_ours=(["$BASHPID"]=yes)
  ENVCFG_FAMILY=() ENVCFG_STRAYS=()
  for envcfg_file in /proc/[0-9]*/stat; do
    { IFS= read -r -d '' envcfg_line <"$envcfg_file"; } 2>/dev/null || : # it may have ended
    envcfg_line=${envcfg_line##*) }                                      # behind the name: state, parent, group, session
    if [[ $envcfg_line != [!ZX]' '* ]]; then continue; fi
    envcfg_pid=${envcfg_file//[!0-9]/}
    envcfg_line=${envcfg_line#* }
    envcfg_parent[$envcfg_pid]=${envcfg_line%% *}
    envcfg_line=${envcfg_line#* }
    envcfg_group[$envcfg_pid]=${envcfg_line%% *}
    envcfg_line=${envcfg_line#* }
    envcfg_session[$envcfg_pid]=${envcfg_line%% *}
  done
  # The group that this shell is in holds nothing but the step if one of its shells leads it.
  if [[ ${envcfg_group[$BASHPID]-} == "$BASHPID" ]] \
    || { [[ ${envcfg_group[$BASHPID]-} == "$$" ]] && envcfg_is_script; }; then
    envcfg_own=${envcfg_group[$BASHPID]}
  fi
  while [[ -n $envcfg_more ]]; do
    envcfg_more=''
    for envcfg_pid in "${!envcfg_parent[@]}"; do
      if [[ $envcfg_pid == "$$" || -n ${envcfg_ours[$envcfg_pid]-} ]]; then continue; fi
      if [[ -n ${envcfg_ours[${envcfg_parent[$envcfg_pid]}]-} || " ${ENVCFG_LED[*]} " == *" ${envcfg_group[$envcfg_pid]} "* ]] \
        || { # an orphan: its parent by now is one for all sessions
          [[ ${envcfg_group[$envcfg_pid]} == "$envcfg_own" ]] \
            && [[ ${envcfg_session[${envcfg_parent[$envcfg_pid]}]-} != "${envcfg_session[$envcfg_pid]}" ]]
        }; then
        envcfg_ours[$envcfg_pid]=yes envcfg_more=yes
        ENVCFG_FAMILY+=("$envcfg_pid")
        if [[ " ${ENVCFG_LED[*]} " != *" ${envcfg_group[$envcfg_pid]} "* ]]; then ENVCFG_STRAYS+=("$envcfg_pid"); fi
      fi
    done
  done
}

envcfg_reach() { # SIGNAL: send it to all that ranks have started; a warning is for the ranks alone
  local envcfg_pid
  if [[ $1 == USR[12] ]]; then
    envcfg_kill "$1"
    return
  fi
  envcfg_led
  envcfg_family # while their parents live: an agent's ranks, for one, can be in sessions of their own
  for envcfg_pid in "${ENVCFG_STRAYS[@]}"; do kill -s "$1" "$envcfg_pid" 2>/dev/null || :; done
  for envcfg_pid in "${ENVCFG_LED[@]}"; do kill -s "$1" -- "-$envcfg_pid" 2>/dev/null || :; done
}

envcfg_leaves() { # whether ranks have left something that runs
  envcfg_led
  if [[ -n $ENVCFG_APART ]] && ((${#ENVCFG_LED[@]} == 0)); then return 1; fi
  envcfg_family
  ((${#ENVCFG_FAMILY[@]} > 0))
}

# Looks at the ranks in growing intervals, as wait -n forgets children that end early.
envcfg_watch() { # RANKS: wait for all of them; the first that fails ends the others, and the last what is left
  local envcfg_pid envcfg_code envcfg_pause envcfg_wait_ms=10 envcfg_rest_ms=2000 envcfg_grace_ms=10000 envcfg_status=0 envcfg_ends=''
  local -a envcfg_running envcfg_all
  if ((${#ENVCFG_PIDS[@]} < $1)); then # a signal came before the others
    envcfg_wait || envcfg_status=$?
  fi
  while :; do
    ENVCFG_HOLDS=watch
    jobs -pr >&"$ENVCFG_PIPE" # by bash's own book: a pid that is free again can be another's
    printf 'end\n' >&"$ENVCFG_PIPE"
    envcfg_running=() envcfg_pid='' envcfg_all=("${ENVCFG_PIDS[@]}")
    while [[ $envcfg_pid != end ]]; do
      read -r -u "$ENVCFG_PIPE" envcfg_pid
      if [[ $envcfg_pid == [0-9]* ]]; then envcfg_running+=("$envcfg_pid"); fi
    done
    ENVCFG_PIDS=("${envcfg_running[@]}")
    envcfg_release
    for envcfg_pid in "${envcfg_all[@]}"; do
      if [[ " ${envcfg_running[*]} " == *" $envcfg_pid "* ]]; then continue; fi
      envcfg_code=0
      envcfg_wait "$envcfg_pid" || envcfg_code=$?
      if ((envcfg_status == 0)); then envcfg_status=$envcfg_code; fi
    done
    if ((envcfg_status == 0)) && envcfg_is_alone; then envcfg_status=143; fi
    if ((${#ENVCFG_PIDS[@]} == 0)); then
      if ! envcfg_leaves; then
        return "$envcfg_status"
      elif ((envcfg_grace_ms < -5000)); then
        envcfg_note "processes that ranks have started do not end, not even by KILL: ${ENVCFG_FAMILY[*]}"
        return "$envcfg_status"
      fi
    fi
    # What reads the ranks' output, as in "exec > >(tee log)", has time to come to its end.
    if [[ -z $envcfg_ends ]] && ((${#ENVCFG_PIDS[@]} > 0 ? envcfg_status != 0 : (envcfg_rest_ms -= envcfg_wait_ms) < 0)); then
      envcfg_ends=yes
      envcfg_reach TERM
    elif [[ -n $envcfg_ends ]] && (((envcfg_grace_ms -= envcfg_wait_ms) <= 0)); then
      envcfg_reach KILL
    fi
    printf -v envcfg_pause '0.%03d' "$envcfg_wait_ms"
    ENVCFG_HOLDS=watch
    read -r -t "$envcfg_pause" -u "$ENVCFG_PIPE" || : # only signals say something: to wait, by no process
    envcfg_release
    if ((envcfg_wait_ms < 300)); then envcfg_wait_ms=$((envcfg_wait_ms * 2)); fi
  done
}

envcfg_enter() { # no container: nothing to enter
  ENVCFG_ENTER=()
}

# --- What each rank does first, inside the container --------------------------------

IFS= builtin read -r -d '' ENVCFG_RANK <<'ENVCFG_TEXT' || builtin : # until the text ends
# A POSIX shell's own commands only: no process is started but the program's, except to
# make the caches once on each node.

while [ "$#" -gt 0 ]; do # NAME=VALUE | -u NAME, then -- COMMAND
  case $1 in
    --)
      shift
      break
      ;;
    -u)
      unset -v "$2"
      shift
      ;;
    *) export "${1?}" ;;
  esac
  shift
done

# Who this task is, its shell has said by arguments.

unset -v ENVCFG_PRESET ENVCFG_NODES ENVCFG_CACHE_BASE ENVCFG_LOCAL_RANKS \
  ENVCFG_MASTER_NODE ENVCFG_MASTER_ADDR ENVCFG_JOB
exec "$@"
ENVCFG_TEXT

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
  fi
  ENVCFG_NODES=$ENVCFG_NODES_WANTED
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
  if (($# == 0)); then
    envcfg_error 'no command' 'give it, as in envcfg_run python train.py'
    return 2
  fi
  envcfg_survey
  envcfg_where
  if [[ $ENVCFG_ON == others && $ENVCFG_NODES == 1 && $ENVCFG_FAULTS == 0 ]]; then
    envcfg_note 'nothing to do on others: the job has one node'
    return 0
  fi
  envcfg_choose
  envcfg_shrink
  if [[ -n $ENVCFG_OVERLAP ]]; then envcfg_overlap; fi
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then
    envcfg_settings
    envcfg_inherited
    envcfg_meeting
  fi
  envcfg_lengths "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK" "${ENVCFG_ARGS[@]}" "$@"
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  envcfg_listen
  envcfg_launch "$@" || ENVCFG_CODE=$?
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
  envcfg_step "$@" || ENVCFG_CODE=$?
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

# Where this may run. Pairs: by the first name a task knows its number, by the second how many there are.
ENVCFG_TASK_NAMES='SLURM_PROCID:SLURM_STEP_NUM_TASKS FLUX_TASK_RANK:FLUX_JOB_SIZE PALS_RANKID:PMI_SIZE
  PMI_RANK:PMI_SIZE OMPI_COMM_WORLD_RANK:OMPI_COMM_WORLD_SIZE PMIX_RANK:OMPI_COMM_WORLD_SIZE'
# By the addresses and interfaces in these, ranks on different nodes find each other.
ENVCFG_MEETING='MASTER_ADDR NCCL_SOCKET_IFNAME NCCL_OOB_NET_IFNAME NCCL_COMM_ID GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME
  UCX_NET_DEVICES JAX_COORDINATOR_ADDRESS HOROVOD_GLOO_IFACE HOROVOD_GLOO_RENDEZVOUS_ADDR'

envcfg_misplaced() { # WORD MESSAGE HINT: a fault, unless the user allows it by this word
  local envcfg_allows=${ENVCFG_ALLOW-}
  if [[ " $ENVCFG_ALLOWED ${envcfg_allows//,/ } " != *" $1 "* ]]; then
    envcfg_fault "$2" "$3; if this is meant, export ENVCFG_ALLOW=$1, or make the script with --allow $1"
  fi
}

envcfg_where() { # is this the job and none of its tasks, does it use all nodes, is it the right cluster?
  local envcfg_glob
  local -a envcfg_globs
  if ((ENVCFG_FAULTS == 0)); then envcfg_task; fi
  if ((ENVCFG_JOB_NODES > ENVCFG_NODES)); then
    envcfg_misplaced nodes "the job has $ENVCFG_JOB_NODES nodes, but --launcher local starts ranks on this one only" \
      'make the script with a launcher that uses all nodes, as --launcher srun'
  fi
  if [[ -z ${SLURM_CLUSTER_NAME-} || -z $ENVCFG_CLUSTERS ]]; then return; fi
  read -r -a envcfg_globs <<<"$ENVCFG_CLUSTERS"
  for envcfg_glob in "${envcfg_globs[@]}"; do
    # shellcheck disable=SC2053 # it is a pattern
    if [[ $SLURM_CLUSTER_NAME == $envcfg_glob ]]; then return; fi
  done
  envcfg_show "$SLURM_CLUSTER_NAME"
  envcfg_misplaced cluster "this is the cluster $envcfg_shown, but the script was made for $ENVCFG_CLUSTERS" \
    'make the script on this cluster, or with its profile: --profile NAME'
}

envcfg_task() { # each of several tasks would start the whole step once more
  local envcfg_pair envcfg_name envcfg_count
  for envcfg_pair in $ENVCFG_TASK_NAMES; do
    envcfg_name=${envcfg_pair%:*} envcfg_count=${envcfg_pair#*:}
    envcfg_count=${!envcfg_count-}
    # Of a batch script and a shell of salloc, Slurm's number of the step is a very high one.
    if [[ -z ${!envcfg_name-} || ${!envcfg_name}$envcfg_count == *[!0-9]* ]] \
      || [[ $envcfg_name == SLURM_* && ${SLURM_STEP_ID-} == 42949672?? ]] \
      || [[ ${!envcfg_name} != *[1-9]* && $envcfg_count != [1-9]?* && $envcfg_count != [2-9] ]]; then
      continue
    elif ! envcfg_is_leftover; then
      envcfg_misplaced tasks "this is one of ${envcfg_count:-several} tasks ($envcfg_name=${!envcfg_name}), and each would start all ranks" \
        'start the script once, without srun or mpiexec in front of it'
    fi
    return
  done
}

envcfg_is_leftover() { # whether a job began nearer to this shell than any task: then variables of tasks are another job's
  local envcfg_key envcfg_value envcfg_name='' envcfg_pid=$BASHPID
  while [[ -r /proc/$envcfg_pid/status ]]; do
    while IFS=$':\t' read -r envcfg_key envcfg_value; do
      case $envcfg_key in
        Name) envcfg_name=$envcfg_value ;;
        PPid) break ;;
      esac
    done <"/proc/$envcfg_pid/status"
    case $envcfg_name in
      slurmstepd) # it calls itself "slurmstepd: [JOB.STEP]"
        IFS= read -r -d '' envcfg_name <"/proc/$envcfg_pid/cmdline" || :
        [[ $envcfg_name == *.@(batch|interactive|extern)']' ]]
        return
        ;;
      salloc | pbs_mom | flux-broker*) return 0 ;;
      mpiexec* | mpirun | orted | prted | hydra_* | palsd | flux-shell) return 1 ;;
    esac
    envcfg_pid=$envcfg_value
  done
  return 1
}

envcfg_meeting() { # on several nodes: what the ranks get must lead from one node to another
  local envcfg_name envcfg_word
  local -A envcfg_values=()
  if ((ENVCFG_NODES == 1)); then return; fi
  for envcfg_name in $ENVCFG_MEETING; do
    if [[ -n ${!envcfg_name+set} ]]; then envcfg_values[$envcfg_name]=${!envcfg_name}; fi
  done
  for envcfg_word in "${ENVCFG_ARGS[@]}"; do # NAME=VALUE, or -u NAME: its value is then any that leads somewhere
    envcfg_values[${envcfg_word%%=*}]=${envcfg_word#*=}
  done
  for envcfg_name in $ENVCFG_MEETING; do
    if [[ -z ${envcfg_values[$envcfg_name]+set} ]]; then continue; fi
    envcfg_show "${envcfg_values[$envcfg_name]}"
    envcfg_word=${envcfg_values[$envcfg_name]#=}
    case ,${envcfg_word,,}, in
      ,,) envcfg_shown="$envcfg_name is empty" ;;
      ,^*) continue ;; # all interfaces but these
      *,lo[,:]* | *,localhost[46,:.]* | *,ip6-lo* | *[,:]127.[0-9]* | *,0.0.0.0,* | *,::1,* | *,'[::1]'*)
        envcfg_shown="$envcfg_name=$envcfg_shown is the loopback"
        ;;
      *) continue ;;
    esac
    envcfg_misplaced loopback "$envcfg_shown: ranks on $ENVCFG_NODES nodes cannot connect" \
      "unset $envcfg_name before the step, or give the right one: --set $envcfg_name=VALUE"
  done
}

envcfg_show() { # TEXT: set envcfg_shown to it, cut, and quoted where a terminal could take it for more than text
  local LC_ALL=C
  envcfg_shown=$1
  if ((${#1} > 80)); then envcfg_shown=${1:0:80}...; fi
  if [[ -z $1 || $1 == *[!A-Za-z0-9_./:,=@%+^-]* ]]; then envcfg_shown=${envcfg_shown@Q}; fi
}

envcfg_inherited() { # say it once, at the start of a step
  local envcfg_said=''
  if [[ -n $ENVCFG_FROM_JOB ]]; then envcfg_said+="; from your environment: ${ENVCFG_FROM_JOB:2}"; fi
  if [[ -n $ENVCFG_FROM_PROFILE ]]; then envcfg_said+="; from the profile: ${ENVCFG_FROM_PROFILE:2}"; fi
  if [[ -n $ENVCFG_FROM_OPTIONS ]]; then envcfg_said+="; from your options: ${ENVCFG_FROM_OPTIONS:2}"; fi
  if [[ -n $envcfg_said ]]; then envcfg_note "${envcfg_said:2}"; fi
}

envcfg_survey() { # this machine is the job
  ENVCFG_NODES=1
  envcfg_around
}

envcfg_around() { # set ENVCFG_JOB_NODES: how many nodes the job has in which this runs, whoever gave it
  local envcfg_name
  local -A envcfg_seen=()
  if [[ -n ${SLURM_JOB_ID-} ]]; then
    ENVCFG_JOB_NODES=${SLURM_NNODES:-${SLURM_JOB_NUM_NODES-}}
  elif [[ -n ${PBS_JOBID-} && -r ${PBS_NODEFILE-} ]]; then
    while read -r envcfg_name; do
      if [[ -n $envcfg_name ]]; then envcfg_seen[$envcfg_name]=yes; fi
    done <"$PBS_NODEFILE"
    ENVCFG_JOB_NODES=${#envcfg_seen[@]}
  elif [[ -n ${FLUX_URI-} ]]; then
    ENVCFG_JOB_NODES=$(flux getattr size 2>/dev/null </dev/null) || :
  fi
  if [[ -z $ENVCFG_JOB_NODES || $ENVCFG_JOB_NODES == *[!0-9]* ]]; then ENVCFG_JOB_NODES=1; fi
}

envcfg_chosen() { # there is one node only
  :
}

envcfg_overlap() { # all steps here may
  :
}

envcfg_port() { # set MASTER_PORT to a free port below the ephemeral range
  local envcfg_port=$((10000 + BASHPID % 20000))
  while (: </dev/tcp/127.0.0.1/"$envcfg_port") 2>/dev/null; do envcfg_port=$((envcfg_port + 1)); done
  MASTER_PORT=$envcfg_port
}

# --- How signals reach what is spawned, and how it ends --------------------------------
# A forked shell has its parent's traps for a moment, and loses what comes then: so each says
# when it has none any more, and until then signals are held. They are, too, where "read"
# waits with a time limit, which cuts short a trap that waits for something.
# "builtin": these run in the job's own shell, too, which may have functions of such names.

ENVCFG_IGNORED='' # signals that the job's shell ignores, and so its ranks

envcfg_listen() { # [SIGNALS]: from now on, pass on to what is spawned all but these
  builtin local envcfg_signal
  ENVCFG_PIDS=() ENVCFG_LED=() ENVCFG_HEARD=() ENVCFG_CAUGHT='' ENVCFG_HELD=() ENVCFG_HOLDS=''
  ENVCFG_TELL=envcfg_kill                 # what passes a signal on
  builtin : {ENVCFG_PIPE}<> <(\builtin :) # by which children and traps speak; empty, it makes "read" a clock
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    if [[ "$ENVCFG_IGNORED${1-}" == *" $envcfg_signal "* ]]; then builtin continue; fi
    ENVCFG_HEARD+=("$envcfg_signal")
    # shellcheck disable=SC2064 # the name is meant to be written in now
    builtin trap "envcfg_relay $envcfg_signal" "$envcfg_signal"
  done
}

envcfg_relay() { # SIGNAL: pass it on; a terminal has sent its own to everybody already
  ENVCFG_CAUGHT+="$1 "
  if [[ ($1 == INT || $1 == QUIT) && -t 0 && $ENVCFG_HOLDS != spawn ]]; then
    builtin return
  elif [[ -n $ENVCFG_HOLDS ]]; then
    ENVCFG_HELD+=("$1")
    builtin printf '\n' >&"$ENVCFG_PIPE" # let "read" look up
  else
    "$ENVCFG_TELL" "$1"
  fi
}

envcfg_release() { # pass on what has been held
  builtin local envcfg_signal
  ENVCFG_HOLDS=''
  for envcfg_signal in "${ENVCFG_HELD[@]}"; do "$ENVCFG_TELL" "$envcfg_signal"; done
  ENVCFG_HELD=()
}

envcfg_kill() { # SIGNAL: send it to all that was spawned and runs, by bash's own book: a pid can be another's by now
  builtin local envcfg_pid envcfg_running
  envcfg_running=$'\n'$(builtin jobs -pr)$'\n'
  for envcfg_pid in "${ENVCFG_PIDS[@]}"; do
    if [[ $envcfg_running == *$'\n'"$envcfg_pid"$'\n'* ]]; then builtin kill -s "$1" "$envcfg_pid" 2>/dev/null || builtin :; fi
  done
}

envcfg_spawn() { # WORD...: start it with this shell's input; not after a signal, which ends the step
  builtin local envcfg_line
  if [[ -n $ENVCFG_CAUGHT ]]; then builtin return; fi
  ENVCFG_HOLDS=spawn
  if [[ -n $ENVCFG_APART ]]; then builtin set -m; fi # a process group of its own
  (
    # INT and QUIT, too: in the background they are ignored.
    for envcfg_line in "${ENVCFG_HEARD[@]}"; do builtin trap - "$envcfg_line"; done
    builtin printf 'ready\n' >&"$ENVCFG_PIPE"
    envcfg_close "$ENVCFG_PIPE"
    if [[ $1 == exec ]]; then envcfg_close "$ENVCFG_LIFE"; fi
    "$@"
  ) <&0 &
  if [[ -n $ENVCFG_APART ]]; then
    builtin set +m
    ENVCFG_LED+=("$!")
  fi
  ENVCFG_PIDS+=("$!")
  envcfg_line=''
  while [[ $envcfg_line != ready ]] && builtin kill -0 "${ENVCFG_PIDS[-1]}" 2>/dev/null; do
    builtin read -r -t 1 -u "$ENVCFG_PIPE" envcfg_line || builtin :
  done
  envcfg_release
}

envcfg_wait() { # [PID]: return its exit code, however often signals cut the wait short
  builtin local envcfg_code envcfg_later envcfg_ended
  envcfg_code='' envcfg_ended=''
  if (($# == 0)); then builtin return $((128 + $(builtin kill -l "${ENVCFG_CAUGHT%% *}"))); fi # a signal came before it
  for (( ; ; )); do
    envcfg_later=0
    builtin wait "$1" || envcfg_later=$?
    if [[ $envcfg_later != 127 || -z $envcfg_code ]]; then envcfg_code=$envcfg_later; fi # 127: had it already
    if ((envcfg_later <= 128)) || [[ -n $envcfg_ended ]]; then builtin return "$envcfg_code"; fi
    # Its own code, or a signal to this shell? If it has ended by now, the next wait tells.
    if [[ $'\n'$(builtin jobs -pr)$'\n' != *$'\n'"$1"$'\n'* ]]; then envcfg_ended=yes; fi
  done
}

# Two ends of a pipe: who holds the first lives as long as the second gives no end of file.
envcfg_tie() { # open ENVCFG_TIE, for this shell alone, and ENVCFG_LIFE, for what it starts
  builtin local envcfg_pipe
  builtin : {envcfg_pipe}<> <(\builtin :) # such files stay open
  builtin : {ENVCFG_TIE}>/dev/fd/"$envcfg_pipe" {ENVCFG_LIFE}</dev/fd/"$envcfg_pipe"
  envcfg_close "$envcfg_pipe"
}

envcfg_close() { # FILE...: in POSIX mode "exec" is bash's own, whatever function has its name
  builtin local - envcfg_file
  builtin set -o posix
  for envcfg_file; do exec {envcfg_file}>&-; done
}

envcfg_is_alone() { # whether the shell that wanted this is gone
  builtin read -r -t 0 -u "$ENVCFG_LIFE" || ! builtin kill -0 "$$" 2>/dev/null
}

envcfg_has_terminal() { # whether what is typed can come to this shell: it has or is in front of a terminal
  builtin local envcfg_stat='' envcfg_group
  if [[ -t 0 ]]; then builtin return 0; fi
  IFS= builtin read -r -d '' envcfg_stat 2>/dev/null </proc/self/stat || builtin :
  envcfg_stat=${envcfg_stat##*) } # behind the name: state, parent, group, session, terminal, group in front
  envcfg_stat=${envcfg_stat#* * }
  envcfg_group=${envcfg_stat%% *}
  envcfg_stat=${envcfg_stat#* * * }
  [[ -n $envcfg_group && ${envcfg_stat%% *} == "$envcfg_group" ]]
}

# --- Now do it ----------------------------------------------------------------------

if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then builtin shopt -s expand_aliases; fi

if envcfg_is_script; then envcfg_run "$@"; fi # run as a file: its arguments are the command
