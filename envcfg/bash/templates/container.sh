# shellcheck shell=bash

envcfg_find() { # set envcfg_name: the first runtime that is on PATH
  for envcfg_name in "${ENVCFG_RUNTIMES[@]}"; do
    if type -P "$envcfg_name" >/dev/null; then return; fi
  done
  envcfg_fault "no container runtime on PATH: tried ${ENVCFG_RUNTIMES[*]}" \
    "load its module before${ENVCFG_KNOWN:+ ($ENVCFG_KNOWN)}, or name it with --runtime"
}

envcfg_find_image() { # set envcfg_image, a path: absolute, and there
  if [[ $envcfg_image != /* ]]; then envcfg_image=$PWD/$envcfg_image; fi
  if [[ ! -e $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image does not exist on ${HOSTNAME:-this host}" \
      'give the path as the compute nodes see it'
  elif [[ ! -r $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image cannot be read" 'check its permissions'
  fi
  # envcfg:begin read
  if [[ $(exec stat -L -c '%s %Y' -- "$envcfg_image" 2>/dev/null) != "$ENVCFG_IMAGE_READ" ]]; then
    envcfg_note "image $envcfg_image has changed since envcfg read it, and its facts may have: make this script again"
  fi
  # envcfg:end read
}

envcfg_find_source() { # SOURCE [SPEC]: of a bind
  if [[ ! -e $1 ]]; then
    envcfg_fault "bind source $1 does not exist on ${HOSTNAME:-this host}" "correct or drop the bind '${2-$1}'"
  fi
}

envcfg_bind_if() { # PATH SOURCE [SPEC]: mount it, where PATH exists
  if [[ -e $1 ]]; then envcfg_bind "${@:2}"; fi
}

envcfg_bind_of() { # BIND NAMES SOURCE SPEC [own|PATH]: mount what variables of the job tell, where "own" or PATH exists
  local envcfg_word envcfg_rest=$4 envcfg_spec=''
  for envcfg_word in $2; do
    if [[ -z ${!envcfg_word-} && ${5-} == own ]]; then return 0; fi
    envcfg_needed "the bind '$1'" "$envcfg_word" || return 0
  done
  if [[ $3 != /* || $3 == *[[:cntrl:]:,\"\\]* ]]; then
    envcfg_fault "the bind '$1' would be of ${3@Q}, which is no absolute path, or has a colon, comma, quote or backslash" \
      'correct the variable, or drop the bind'
    return 0
  fi
  while [[ $envcfg_rest == */ENVCFG_BIND_SOURCE* ]]; do # the source stands where the runtime wants it
    envcfg_spec+=${envcfg_rest%%/ENVCFG_BIND_SOURCE*}$3
    envcfg_rest=${envcfg_rest#*/ENVCFG_BIND_SOURCE}
  done
  envcfg_spec+=$envcfg_rest
  case ${5-} in
    '') envcfg_bind "$3" "$envcfg_spec" ;;
    own) envcfg_bind_if "$3" "$3" "$envcfg_spec" ;;
    *) envcfg_bind_if "$5" "$3" "$envcfg_spec" ;;
  esac
}

envcfg_export() { # NAME VALUE: hooks read it before there is a container; what the job has set wins
  envcfg_differs job "$1" "$2"
  export "$1=${!1-$2}"
}

envcfg_argument() { # ARGUMENT [PATH]: left out if PATH is given and absent
  if [[ -z ${2-} || -e $2 ]]; then ENVCFG_ENTER+=("$1"); fi
}
