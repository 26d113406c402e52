# shellcheck shell=bash
# envcfg module container 1
# What is common to all container runtimes.

envcfg_find() { # set envcfg_name: the first runtime that is on PATH
  for envcfg_name in "${ENVCFG_RUNTIMES[@]}"; do
    if type -P "$envcfg_name" >/dev/null; then return; fi
  done
  envcfg_fault "no container runtime on PATH: tried ${ENVCFG_RUNTIMES[*]}" \
    "load its module before${ENVCFG_KNOWN:+ ($ENVCFG_KNOWN)}, or name it with --runtime"
}

envcfg_find_image() { # set envcfg_image, if it is a path: absolute, and there
  if [[ -z $ENVCFG_IS_FILE ]]; then return; fi
  if [[ $envcfg_image != /* ]]; then envcfg_image=$PWD/$envcfg_image; fi
  if [[ ! -e $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image does not exist on ${HOSTNAME:-this host}" \
      'give the path as the compute nodes see it'
  elif [[ ! -r $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image cannot be read" 'check its permissions'
  fi
}

envcfg_find_source() { # SOURCE [SPEC]: of a bind
  if [[ ! -e $1 ]]; then
    envcfg_fault "bind source $1 does not exist on ${HOSTNAME:-this host}" "correct or drop the bind '${2-$1}'"
  fi
}

envcfg_bind_if() { # PATH SOURCE [SPEC]: mount it, where PATH exists
  if [[ -e $1 ]]; then envcfg_bind "${@:2}"; fi
}

envcfg_argument() { # ARGUMENT [PATH]: left out if PATH is given and absent
  if [[ -z ${2-} || -e $2 ]]; then ENVCFG_ENTER+=("$1"); fi
}

envcfg_export() { # NAME VALUE: hooks read it before there is a container; what the job has set wins
  envcfg_differs 'your environment' "$1" "$2"
  export "$1=${!1-$2}"
}
