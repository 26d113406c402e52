# shellcheck shell=bash # runtimes/pyxis 2: Pyxis
# reads: ENVCFG_AS_SAID ENVCFG_IMAGE
# enter: --container-image IMAGE --no-container-entrypoint --container-workdir "$PWD" MOUNTS --container-mounts "$ENVCFG_MOUNTS"
envcfg_bind() { # SOURCE [SPEC]: mount it, at the same place or as SPEC says
  envcfg_find_source "$@"
  ENVCFG_MOUNTS+=",${2-$1}"
}

envcfg_enter() { # set ENVCFG_ENTER: the options by which tasks enter the container
  local envcfg_image=$ENVCFG_IMAGE
  envcfg_find_option --container-image Pyxis
  envcfg_find_image
  ENVCFG_ENTER=(--container-image "$envcfg_image")
  ENVCFG_MOUNTS=''
  if [[ -z $ENVCFG_AS_SAID ]]; then # in this folder, whatever the image says
    ENVCFG_ENTER+=(--no-container-entrypoint --container-workdir "$PWD")
    envcfg_bind_here
  fi
  envcfg_mounts
  ENVCFG_MOUNTS=${ENVCFG_MOUNTS#,} # in one option, as of several the last alone counts
  if [[ -n $ENVCFG_MOUNTS ]]; then ENVCFG_ENTER+=(--container-mounts "$ENVCFG_MOUNTS"); fi
}
