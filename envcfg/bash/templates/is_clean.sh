# shellcheck shell=bash

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
