# shellcheck shell=bash # pbs/ranks 4: PBS: start one task for each rank
# needs: per_node; reads: ENVCFG_AS_SAID ENVCFG_CPU_LISTS
envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks=''
  if [[ -n $ENVCFG_AS_SAID ]]; then
    envcfg_said || return $?
    envcfg_mpiexec "$envcfg_ranks" "$@"
    return
  fi
  envcfg_per_node || return $?
  envcfg_sized "$envcfg_ranks"
  if [[ -z $ENVCFG_CPU_LISTS ]] || ! envcfg_pin "$envcfg_ranks"; then envcfg_unbind; fi
  envcfg_mpiexec "$envcfg_ranks" "$@"
}

envcfg_said() { # set envcfg_ranks and ENVCFG_NODES to what the options say; PALS does not tell its tasks
  local envcfg_last='' envcfg_tasks='' envcfg_word
  ENVCFG_SIZED=()
  if [[ $ENVCFG_DIALECT != pals ]]; then return; fi
  for envcfg_word in "${ENVCFG_MPIEXEC[@]}"; do
    envcfg_last=${envcfg_last/#--/-} envcfg_word=${envcfg_word/#--/-}
    case $envcfg_last=$envcfg_word in
      -n=* | -np=*) envcfg_tasks=$envcfg_word ;;
      -ppn=*) envcfg_ranks=$envcfg_word ;;
      *=-np=* | *=-n[0-9]*) envcfg_tasks=${envcfg_word##*[=n]} ;;
      *=-ppn=*) envcfg_ranks=${envcfg_word##*=} ;;
    esac
    envcfg_last=$envcfg_word
  done
  if [[ $envcfg_tasks != [1-9]* || $envcfg_ranks != [1-9]* || $envcfg_tasks$envcfg_ranks == *[!0-9]* ]]; then
    envcfg_error 'how many ranks has the step, and how many on each node? the line does not say' \
      'write mpiexec -n RANKS --ppn RANKS_PER_NODE'
    return 2
  fi
  ENVCFG_NODES=$(((envcfg_tasks + envcfg_ranks - 1) / envcfg_ranks))
}

ENVCFG_RANK+=$(\builtin declare -f envcfg_rank_settings)$'\nenvcfg_rank_settings\n'
