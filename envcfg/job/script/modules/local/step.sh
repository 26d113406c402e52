# shellcheck shell=bash # local/step 8: end all processes that ranks have started
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
ENVCFG_GROUPS=yes

envcfg_has_terminal() { # whether what is typed can come to this shell: it has or is in front of a terminal
  builtin local envcfg_stat envcfg_group
  if [[ -t 0 ]]; then builtin return 0; fi
  envcfg_stat=''
  IFS= builtin read -r -d '' envcfg_stat 2>/dev/null </proc/self/stat || builtin :
  envcfg_stat=${envcfg_stat##*) } # behind the name: state, parent, group, session, terminal, group in front
  envcfg_stat=${envcfg_stat#* * }
  envcfg_group=${envcfg_stat%% *}
  envcfg_stat=${envcfg_stat#* * * }
  [[ -n $envcfg_group && ${envcfg_stat%% *} == "$envcfg_group" ]]
}

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
    envcfg_line=''
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
      if [[ $envcfg_pid == "$$" || $envcfg_pid == "${ENVCFG_WATCH_PID-}" || -n ${envcfg_ours[$envcfg_pid]-} ]]; then continue; fi
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
  # A Ray cluster passes a signal to the program, and ends after it.
  if [[ $1 == USR[12] || ($1 != KILL && -n ${ENVCFG_RAY-}) ]]; then
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

envcfg_tell_end() { # RANK CODE RANKS: tell which rank has failed, in the words of mpiexec, as check-log reads
  local envcfg_how="exited with code $2" envcfg_node=''
  if (($2 > 128 && $2 < 193)); then
    envcfg_how="died from signal $(($2 - 128))"
  elif (($3 == 1)); then
    return # the code of the step says it
  fi
  if [[ -n $ENVCFG_CAUGHT ]]; then return; fi # a signal ends all ranks
  read -r envcfg_node </proc/sys/kernel/hostname
  printf '%s: rank %d %s\n' "${envcfg_node:-localhost}" "$1" "$envcfg_how" >&2
}

envcfg_runs() { # PID: whether it runs, by the kernel's book: bash 5.2 has listed a process that had ended, for ever
  local envcfg_line=''
  local -a envcfg_fields=()
  { IFS= read -r -d '' envcfg_line <"/proc/$1/stat"; } 2>/dev/null || :
  read -r -a envcfg_fields <<<"${envcfg_line##*) }" # behind the name, the state, and 17 fields later the threads
  # The first thread of a process may end before the others.
  [[ ${envcfg_fields[0]-X} != [ZX] ]] || ((${envcfg_fields[17]-0} > 1))
}

# Looks at the ranks in growing intervals, as wait -n forgets children that end early.
envcfg_watch() { # RANKS: wait for all of them; the first that fails ends the others, and the last what is left
  local envcfg_pid envcfg_code envcfg_pause envcfg_wait_ms=10 envcfg_rest_ms=2000 envcfg_grace_ms=10000 envcfg_status=0 envcfg_ends=''
  local -a envcfg_running envcfg_all envcfg_ranks_of=()
  for envcfg_pid in "${!ENVCFG_PIDS[@]}"; do
    envcfg_code=${ENVCFG_PIDS[envcfg_pid]}
    envcfg_ranks_of[envcfg_code]=$envcfg_pid
  done
  if ((${#ENVCFG_PIDS[@]} < $1)); then # a signal came before the others
    envcfg_wait || envcfg_status=$?
  fi
  while :; do
    jobs -pr >&"$ENVCFG_PIPE" # by bash's own book: a pid that is free again can be another's
    printf 'end\n' >&"$ENVCFG_PIPE"
    envcfg_running=() envcfg_pid='' envcfg_all=("${ENVCFG_PIDS[@]}")
    while [[ $envcfg_pid != end ]]; do
      read -r -u "$ENVCFG_PIPE" envcfg_pid
      if [[ $envcfg_pid == [0-9]* && $envcfg_pid != "${ENVCFG_WATCH_PID-}" ]] && envcfg_runs "$envcfg_pid"; then
        envcfg_running+=("$envcfg_pid")
      fi
    done
    ENVCFG_PIDS=("${envcfg_running[@]}")
    envcfg_release
    for envcfg_pid in "${envcfg_all[@]}"; do
      if [[ " ${envcfg_running[*]} " == *" $envcfg_pid "* ]]; then continue; fi
      envcfg_code=0
      envcfg_wait "$envcfg_pid" || envcfg_code=$?
      if ((envcfg_code != 0)) && [[ -z $envcfg_ends ]]; then envcfg_tell_end "${envcfg_ranks_of[envcfg_pid]-0}" "$envcfg_code" "$1"; fi
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
    read -r -t "$envcfg_pause" -u "$ENVCFG_PIPE" || : # only signals say something: to wait, by no process
    envcfg_release
    if ((envcfg_wait_ms < 300)); then envcfg_wait_ms=$((envcfg_wait_ms * 2)); fi
  done
}
