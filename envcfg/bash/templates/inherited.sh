# shellcheck shell=bash

envcfg_show() { # TEXT: set envcfg_shown to it, cut, and quoted where a terminal could take it for more than text
  local LC_ALL=C
  envcfg_shown=$1
  if ((${#1} > 80)); then envcfg_shown=${1:0:80}...; fi
  if [[ -z $1 || $1 == *[!A-Za-z0-9_./:,=@%+^-]* ]]; then envcfg_shown=${envcfg_shown@Q}; fi
}

envcfg_differs() { # FROM NAME [VALUE]: keep for the note what the job has otherwise than profile or options, and who wins
  local envcfg_shown envcfg_job envcfg_other=' unset'
  if [[ -z ${!2+set} || ($# == 3 && ${!2} == "$3") ]]; then return; fi
  envcfg_show "${!2}"
  envcfg_job=$envcfg_shown
  if (($# == 3)); then
    envcfg_show "$3"
    envcfg_other="=$envcfg_shown"
  fi
  case $1 in
    job) ENVCFG_FROM_JOB+=", $2=$envcfg_job (profile: ${envcfg_other:1})" ;;
    profile) ENVCFG_FROM_PROFILE+=", $2$envcfg_other (your environment: $envcfg_job)" ;;
    options) ENVCFG_FROM_OPTIONS+=", $2$envcfg_other (your environment: $envcfg_job)" ;;
  esac
}

envcfg_keeps_own() { # NAME TEXT: the same, of what the job has set and each task would find out
  local envcfg_shown
  if [[ -z ${!1+set} ]]; then return; fi
  envcfg_show "${!1}"
  ENVCFG_FROM_JOB+=", $1=$envcfg_shown ($2)"
}

envcfg_preset_settings() { # NAME...: as envcfg_preset, of what the profile sets in each task
  local envcfg_name
  for envcfg_name; do envcfg_keeps_own "$envcfg_name" 'profile: set in each task'; done
  envcfg_preset "$@"
}

envcfg_preset_meeting() { # as envcfg_preset, of where ranks meet
  local envcfg_first=${ENVCFG_MASTER_ADDR:-${SLURMD_NODENAME-}}
  if [[ -z $envcfg_first || ${MASTER_ADDR-}. != "$envcfg_first"[!0-9]* ]]; then
    envcfg_keeps_own MASTER_ADDR "default: the step's first node"
  fi
  envcfg_preset MASTER_ADDR
}

envcfg_inherited() { # say it once, at the start of a step
  local envcfg_said=''
  if [[ -n $ENVCFG_FROM_JOB ]]; then envcfg_said+="; from your environment: ${ENVCFG_FROM_JOB:2}"; fi
  if [[ -n $ENVCFG_FROM_PROFILE ]]; then envcfg_said+="; from the profile: ${ENVCFG_FROM_PROFILE:2}"; fi
  if [[ -n $ENVCFG_FROM_OPTIONS ]]; then envcfg_said+="; from your options: ${ENVCFG_FROM_OPTIONS:2}"; fi
  if [[ -n $envcfg_said ]]; then envcfg_note "${envcfg_said:2}"; fi
}
