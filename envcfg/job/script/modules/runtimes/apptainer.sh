# shellcheck shell=bash # runtimes/apptainer 2: Apptainer and Singularity
# hides: variables; reads: ENVCFG_IMAGE ENVCFG_RUNTIME_COMMAND
# bind: --bind BIND; enter: NAME VERB MOUNTS IMAGE
ENVCFG_HIDES=yes

envcfg_bind() { # SOURCE [SPEC]: mount it, at the same place or as SPEC says
  envcfg_find_source "$@"
  ENVCFG_ENTER+=(--bind "${2-$1}")
}

envcfg_enter() { # set ENVCFG_ENTER: the words that enter the container
  local envcfg_name='' envcfg_image=$ENVCFG_IMAGE
  envcfg_find
  envcfg_find_image
  ENVCFG_ENTER=("$envcfg_name" "$ENVCFG_RUNTIME_COMMAND")
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
  [[ -n ${SINGULARITY_CLEANENV-}${SINGULARITY_CONTAINALL-}${SINGULARITY_COMPAT-}${SINGULARITY_NOENV-} ]] \
    || [[ -n ${APPTAINER_CLEANENV-}${APPTAINER_CONTAINALL-}${APPTAINER_COMPAT-}${APPTAINER_NOENV-} ]]
}
