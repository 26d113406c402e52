# shellcheck shell=bash # runtimes/shifter 4: Shifter
# reads: ENVCFG_AS_SAID ENVCFG_IMAGE
# bind: --volume BIND; enter: NAME --workdir "$PWD" MOUNTS --image IMAGE
envcfg_bind() { # SOURCE SPEC: mount it, as SPEC says; the image must have the target
  envcfg_find_source "$@"
  ENVCFG_ENTER+=(--volume "${2-$1}")
}

envcfg_enter() { # set ENVCFG_ENTER: the words that enter the container
  local envcfg_name='' envcfg_image=$ENVCFG_IMAGE
  envcfg_find
  # The site mounts its file systems by itself. Words with a relative path mean in the
  # container what they mean here, not what they mean in a folder that the image names.
  ENVCFG_ENTER=("$envcfg_name" --workdir "$PWD")
  if [[ -n $ENVCFG_AS_SAID ]]; then unset -v 'ENVCFG_ENTER[2]' 'ENVCFG_ENTER[1]'; fi
  envcfg_mounts
  ENVCFG_ENTER+=(--image "$envcfg_image")
}
