# shellcheck shell=bash

envcfg_bind() { # SPEC [PATH]: SOURCE[:TARGET[:OPTIONS]]; left out if PATH is given and absent
  local envcfg_source=${1%%:*}
  if [[ -n ${2-} && ! -e $2 ]]; then return; fi
  if [[ ! -e $envcfg_source ]]; then
    envcfg_fault "bind source $envcfg_source does not exist on ${HOSTNAME:-this host}" \
      "correct or drop the bind '$1'"
  fi
  ENVCFG_ENTER+=(--bind "$1")
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
  if [[ -n $ENVCFG_IMAGE_IS_FILE ]]; then
    if [[ $envcfg_image != /* ]]; then envcfg_image=$PWD/$envcfg_image; fi
    if [[ ! -e $envcfg_image ]]; then
      envcfg_fault "image $envcfg_image does not exist on ${HOSTNAME:-this host}" \
        'give the path as the compute nodes see it'
    elif [[ ! -r $envcfg_image ]]; then
      envcfg_fault "image $envcfg_image cannot be read" 'check its permissions'
    fi
  fi
  ENVCFG_ENTER+=("$ENVCFG_VERB")
  envcfg_mounts
  ENVCFG_ENTER+=("$envcfg_image")
}
