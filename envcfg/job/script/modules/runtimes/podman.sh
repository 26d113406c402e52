# shellcheck shell=bash # runtimes/podman 5: Podman, podman-hpc and Docker
# adds: WORDS=envcfg_texts AFTER=envcfg_leave; hides: variables; reads: ENVCFG_AS_SAID ENVCFG_IMAGE ENVCFG_IMAGE_IS_FILE
# bind: --mount BIND; enter: NAME run --rm --interactive --entrypoint= --label "$ENVCFG_LABEL" --network=host --ipc=host --pid=host --user "$EUID:${GROUPS[0]}" MOUNTS --mount "type=bind,\"source=$envcfg_here\",\"target=$envcfg_here\"" --workdir "$PWD" --rootfs -- IMAGE
ENVCFG_HIDES=yes

envcfg_bind() { # SOURCE SPEC: mount it, as SPEC says
  envcfg_find_source "$@"
  ENVCFG_ENTER+=(--mount "${2-$1}")
}

envcfg_enter() { # set ENVCFG_ENTER: the words that enter the container
  local envcfg_name='' envcfg_image=$ENVCFG_IMAGE envcfg_here=${PWD//\"/\"\"}
  envcfg_find
  if [[ -n $ENVCFG_AS_SAID ]]; then # the options of the line do the same
    ENVCFG_ENTER=("$envcfg_name" run)
    envcfg_mounts
    ENVCFG_ENTER+=("$envcfg_image")
    return
  fi
  envcfg_find_image
  if [[ -n $ENVCFG_IMAGE_IS_FILE && -e $envcfg_image && ! -d $envcfg_image ]]; then
    envcfg_fault "image $envcfg_image is not a folder" 'unpack it, or name what podman images lists'
  elif [[ -n $ENVCFG_IMAGE_IS_FILE && $envcfg_image == *[:,\\]* ]]; then # options of a mount would be split there
    envcfg_fault "$envcfg_name takes no folder with a colon, comma or backslash: $envcfg_image" \
      'name it by a link without one'
  fi
  if [[ -n $ENVCFG_IMAGE_IS_FILE ]]; then envcfg_image+=:O; fi # what a rank writes into it is the rank's own, and gone afterwards
  # Of all containers of this step, and no other's: HOSTNAME can be that of a login node.
  ENVCFG_LABEL=envcfg=$ENVCFG_JOB.${HOSTNAME-}.$BASHPID
  ENVCFG_ENTER=("$envcfg_name" run --rm --interactive --entrypoint= --label "$ENVCFG_LABEL")
  # Ranks meet by the node's network and shared memory. A program that were the first process
  # of its namespace would not end by signals that it has no handler for.
  ENVCFG_ENTER+=(--network=host --ipc=host --pid=host)
  if [[ $envcfg_name == docker ]]; then ENVCFG_ENTER+=(--user "$EUID:${GROUPS[0]}"); fi # else root owns what is written
  envcfg_mounts
  # Words with a relative path mean in the container what they mean here.
  if [[ $PWD != / ]]; then
    ENVCFG_ENTER+=(--mount "type=bind,\"source=$envcfg_here\",\"target=$envcfg_here\"" --workdir "$PWD")
  fi
  if [[ -n $ENVCFG_IMAGE_IS_FILE ]]; then ENVCFG_ENTER+=(--rootfs); fi
  # podman-hpc takes its own options out of all that stands before the first two dashes.
  ENVCFG_ENTER+=(-- "$envcfg_image")
}

envcfg_is_clean() { # no variable of the task reaches the program by itself
  return 0
}

# A client that is killed leaves its container; that of a plain user ends by TERM at once, with
# code 0 (4.3), whatever its program still does.
envcfg_leave() { # end what runs on after its client, on every node; then the step did not end well
  local envcfg_left
  if [[ -n $ENVCFG_AS_SAID ]]; then return; fi
  # shellcheck disable=SC2016 # to be expanded on the node
  if ! envcfg_left=$(
    builtin trap '' HUP INT QUIT TERM USR1 USR2 # a signal does not cut this short
    envcfg_host bash -c 'left=$("$1" ps --quiet --filter "label=$2") || exit
      if [[ -n $left ]]; then "$1" stop $left; fi
      left=$("$1" ps --all --quiet --filter "label=$2") || exit
      if [[ -n $left ]]; then "$1" rm --force $left >/dev/null 2>&1; fi
      exit 0' envcfg-leave "${ENVCFG_ENTER[0]}" "$ENVCFG_LABEL"
  ); then
    envcfg_note 'could not look for containers that are left'
  elif [[ -n $envcfg_left ]]; then
    envcfg_note 'containers ran on after the step, and were ended'
    if ((ENVCFG_CODE == 0)); then ENVCFG_CODE=143; fi
  fi
}

envcfg_texts() { # WORD...: of other bytes than UTF-8's, the runtime would make something else
  local LC_ALL=C envcfg_word envcfg_rest envcfg_next=$'[\x80-\xbf]'
  for envcfg_word; do
    envcfg_rest=$envcfg_word # each character of several bytes becomes a dot
    envcfg_rest=${envcfg_rest//[$'\xc2'-$'\xdf']$envcfg_next/.}
    envcfg_rest=${envcfg_rest//$'\xe0'[$'\xa0'-$'\xbf']$envcfg_next/.}
    envcfg_rest=${envcfg_rest//$'\xed'[$'\x80'-$'\x9f']$envcfg_next/.}
    envcfg_rest=${envcfg_rest//[$'\xe1'-$'\xec\xee\xef']$envcfg_next$envcfg_next/.}
    envcfg_rest=${envcfg_rest//$'\xf0'[$'\x90'-$'\xbf']$envcfg_next$envcfg_next/.}
    envcfg_rest=${envcfg_rest//[$'\xf1'-$'\xf3']$envcfg_next$envcfg_next$envcfg_next/.}
    envcfg_rest=${envcfg_rest//$'\xf4'[$'\x80'-$'\x8f']$envcfg_next$envcfg_next/.}
    if [[ $envcfg_rest == *[$'\x80'-$'\xff']* ]]; then
      envcfg_fault "not UTF-8, and ${ENVCFG_ENTER[0]} would change it: ${envcfg_word@Q}" \
        'put such bytes into a file that the program reads'
    fi
  done
}
