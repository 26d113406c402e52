# shellcheck shell=bash # runtimes/charliecloud 4: Charliecloud
# reads: ENVCFG_AS_SAID ENVCFG_IMAGE
# bind: --bind BIND; enter: NAME MOUNTS --bind "$PWD:$PWD" --cd "$PWD" IMAGE --
envcfg_bind() { # SOURCE SPEC: mount it, as SPEC says; the image must have the target
  envcfg_find_source "$@"
  ENVCFG_ENTER+=(--bind "${2-$1}")
}

envcfg_enter() { # set ENVCFG_ENTER: the words that enter the container
  local envcfg_name='' envcfg_image=$ENVCFG_IMAGE
  envcfg_find
  envcfg_find_image
  if [[ -z ${USER-} ]]; then
    envcfg_fault "USER is not set, and $envcfg_name needs it" 'export it before: it is your name here'
  fi
  if [[ $PWD == *:* ]]; then
    envcfg_fault "$envcfg_name cannot bind the folder of the job, $PWD: a colon splits it" \
      'start the job in another folder'
  fi
  if [[ -z $ENVCFG_AS_SAID ]] && ((ENVCFG_FAULTS == 0)) && [[ ! -d $envcfg_image ]]; then
    # It mounts the file there; ranks of one node that make the folder at once fail.
    # shellcheck disable=SC2016 # to be expanded on the node
    envcfg_host bash -c 'for folder in "$1" "$1/mnt"; do
      mkdir -m 700 -- "$folder" 2>/dev/null
      if [[ ! -d $folder || -h $folder || ! -O $folder ]]; then exit 1; fi
    done' envcfg-mount "/var/tmp/$USER.ch" \
      || envcfg_fault "/var/tmp/$USER.ch is not a folder of yours on each node, and $envcfg_name mounts the image there" \
        "remove it, or ask who made it: ls -ld /var/tmp/$USER.ch"
  fi
  ENVCFG_ENTER=("$envcfg_name")
  envcfg_mounts
  # Words with a relative path mean in the container what they mean here.
  if [[ -z $ENVCFG_AS_SAID && $PWD != / ]]; then ENVCFG_ENTER+=(--bind "$PWD:$PWD" --cd "$PWD"); fi
  ENVCFG_ENTER+=("$envcfg_image" --)
}
