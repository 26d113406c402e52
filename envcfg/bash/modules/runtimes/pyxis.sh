# shellcheck shell=bash
# envcfg module runtimes/pyxis 1
# Pyxis.

envcfg_bind() { # SOURCE [SPEC]: mount it, at the same place or as SPEC says
  envcfg_find_source "$@"
  ENVCFG_MOUNTS+=",${2-$1}"
}

envcfg_enter() { # set ENVCFG_ENTER: the options by which tasks enter the container
  local envcfg_image=$ENVCFG_IMAGE
  envcfg_find_option --container-image Pyxis
  envcfg_find_image
  ENVCFG_ENTER=(--container-image "$envcfg_image" --no-container-entrypoint --container-workdir "$PWD")
  ENVCFG_MOUNTS=''
  envcfg_bind_here
  envcfg_mounts
  ENVCFG_MOUNTS=${ENVCFG_MOUNTS#,} # in one option, as of several the last alone counts
  if [[ -n $ENVCFG_MOUNTS ]]; then ENVCFG_ENTER+=(--container-mounts "$ENVCFG_MOUNTS"); fi
}

envcfg_is_clean() { # the task's variables reach the program, where the image has no other value
  return 1
}
