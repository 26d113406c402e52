# shellcheck shell=bash

envcfg_bind() { # SPEC [PATH]: SOURCE[:TARGET[:OPTIONS]]; left out if PATH is given and absent
  local source=${1%%:*}
  if [[ -n ${2-} && ! -e $2 ]]; then return; fi
  if [[ ! -e $source ]]; then
    envcfg_fault "bind source $source does not exist on ${HOSTNAME:-this host}" \
      "correct or drop the bind '$1'"
  fi
  ENVCFG_ENTER+=(--bind "$1")
}

envcfg_argument() { # ARGUMENT [PATH]: left out if PATH is given and absent
  if [[ -z ${2-} || -e $2 ]]; then ENVCFG_ENTER+=("$1"); fi
}

envcfg_enter() { # set ENVCFG_ENTER: the words that enter the container
  local name image=$ENVCFG_IMAGE
  ENVCFG_ENTER=()
  for name in "${ENVCFG_RUNTIMES[@]}"; do
    if type -P "$name" >/dev/null; then
      ENVCFG_ENTER=("$name")
      break
    fi
  done
  if ((${#ENVCFG_ENTER[@]} == 0)); then
    envcfg_fault "no container runtime on PATH: tried ${ENVCFG_RUNTIMES[*]}" \
      'load its module before, or name it with --runtime'
  fi
  if [[ -n $ENVCFG_IMAGE_IS_FILE ]]; then
    if [[ $image != /* ]]; then image=$PWD/$image; fi
    if [[ ! -e $image ]]; then
      envcfg_fault "image $image does not exist on ${HOSTNAME:-this host}" \
        'give the path as the compute nodes see it'
    elif [[ ! -r $image ]]; then
      envcfg_fault "image $image cannot be read" 'check its permissions'
    fi
  fi
  ENVCFG_ENTER+=("$ENVCFG_VERB")
  envcfg_mounts
  ENVCFG_ENTER+=("$image")
}
