# shellcheck shell=bash # container 3: functions for all container runtimes
# reads: ENVCFG_IMAGE_IS_FILE ENVCFG_RUNTIMES ENVCFG_RUNTIME_MODULES
envcfg_find() { # set envcfg_name: the first runtime that is on PATH
  for envcfg_name in $ENVCFG_RUNTIMES; do
    if type -P "$envcfg_name" >/dev/null; then return; fi
  done
  envcfg_fault "no container runtime on PATH: tried $ENVCFG_RUNTIMES" \
    "load its module before${ENVCFG_RUNTIME_MODULES:+: $ENVCFG_RUNTIME_MODULES}; or name it with --runtime"
}

envcfg_argument() { ENVCFG_ENTER+=("$1"); } # WORD: of the runtime

envcfg_find_image() { # set envcfg_image, if it is a path: absolute, and there
  if [[ -z $ENVCFG_IMAGE_IS_FILE ]]; then return; fi
  if [[ $envcfg_image != /* ]]; then envcfg_image=$PWD/$envcfg_image; fi
  if [[ ! -e $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image does not exist on ${HOSTNAME:-this host}" 'give the path as the compute nodes see it'
  elif [[ ! -r $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image cannot be read" 'check its permissions'
  fi
}

envcfg_find_source() { # SOURCE [SPEC]: of a bind
  if [[ -e $1 ]]; then return; fi
  envcfg_fault "bind source $1 does not exist on ${HOSTNAME:-this host}" "correct or drop the bind '${2-$1}'"
}

envcfg_bind_if() { # PATH [SOURCE [SPEC]]: mount it, where PATH exists
  if [[ -e $1 ]]; then envcfg_bind "${2-$1}" "${@:3}"; fi
}
