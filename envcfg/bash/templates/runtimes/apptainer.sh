# shellcheck shell=bash

envcfg_bind() { # SOURCE [SPEC]: mount it, at the same place or as SPEC says
  if [[ ! -e $1 ]]; then
    envcfg_fault "bind source $1 does not exist on ${HOSTNAME:-this host}" "correct or drop the bind '${2-$1}'"
  fi
  ENVCFG_ENTER+=(--bind "${2-$1}")
}

envcfg_bind_if() { # PATH SOURCE [SPEC]: the same, where PATH exists
  if [[ -e $1 ]]; then envcfg_bind "${@:2}"; fi
}

envcfg_argument() { # ARGUMENT [PATH]: left out if PATH is given and absent
  if [[ -z ${2-} || -e $2 ]]; then ENVCFG_ENTER+=("$1"); fi
}

envcfg_enter() { # set ENVCFG_ENTER: the words that enter the container
  local envcfg_name envcfg_image=$ENVCFG_IMAGE
  ENVCFG_ENTER=()
  for envcfg_name in "${ENVCFG_RUNTIMES[@]}"; do
    if type -P "$envcfg_name" >/dev/null; then
      ENVCFG_ENTER=("$envcfg_name")
      break
    fi
  done
  if ((${#ENVCFG_ENTER[@]} == 0)); then
    envcfg_fault "no container runtime on PATH: tried ${ENVCFG_RUNTIMES[*]}" \
      'load its module before, or name it with --runtime'
  fi
  # envcfg:begin file
  if [[ $envcfg_image != /* ]]; then envcfg_image=$PWD/$envcfg_image; fi
  if [[ ! -e $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image does not exist on ${HOSTNAME:-this host}" \
      'give the path as the compute nodes see it'
  elif [[ ! -r $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image cannot be read" 'check its permissions'
  fi
  # envcfg:end file
  ENVCFG_ENTER+=("$ENVCFG_VERB")
  envcfg_mounts
  ENVCFG_ENTER+=("$envcfg_image")
}

envcfg_is_clean() { # whether the runtime keeps the task's variables from the container
  local envcfg_word
  for envcfg_word in "${ENVCFG_ENTER[@]}"; do
    case $envcfg_word in
      --cleanenv* | --containall* | --compat* | --no-env*) return 0 ;;
      --*) ;;
      -*[eC]*) return 0 ;;
    esac
  done
  [[ -n ${SINGULARITY_CLEANENV-}${SINGULARITY_CONTAINALL-}${SINGULARITY_COMPAT-} ]] \
    || [[ -n ${APPTAINER_CLEANENV-}${APPTAINER_CONTAINALL-}${APPTAINER_COMPAT-} ]] \
    || [[ -n ${APPTAINER_NOENV-}${SINGULARITY_NOENV-} ]]
}
