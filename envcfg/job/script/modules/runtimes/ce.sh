# shellcheck shell=bash # runtimes/ce 6: Container Engine of CSCS: write the file that defines the environment of a step
# needs: place; reads: ENVCFG_AS_SAID ENVCFG_IMAGE
# enter: --environment "$ENVCFG_PLACED/environment.toml" MOUNTS
envcfg_bind() { # SOURCE [SPEC]: mount it, at the same place or as SPEC says
  local envcfg_text
  envcfg_find_source "$@"
  if (($# > 1)); then envcfg_toml "$2"; else envcfg_toml "$1:$1"; fi
  ENVCFG_MOUNTS+="  $envcfg_text,"$'\n'
}

envcfg_enter() { # write the file that defines the environment; set ENVCFG_ENTER, which names it
  local envcfg_image=$ENVCFG_IMAGE
  envcfg_find_option --environment 'the Container Engine'
  envcfg_find_image
  if [[ -n $ENVCFG_AS_SAID ]]; then
    envcfg_enter_as_said
    return
  fi
  builtin trap envcfg_unplace EXIT           # also where a signal ends this before there are ranks to pass it to
  if ! envcfg_place "${SCRATCH:-$PWD}"; then # seen by all nodes
    envcfg_fault "cannot make a folder in ${SCRATCH:-$PWD} for the environment of the container" \
      'set SCRATCH to a folder that you may write to, and that all nodes see'
    return
  fi
  ENVCFG_ENTER=(--environment "$ENVCFG_PLACED/environment.toml")
  ENVCFG_MOUNTS=''
  envcfg_bind_here
  envcfg_mounts
  envcfg_define "$envcfg_image"
}

envcfg_enter_as_said() { # the environment of the line, unchanged: what else it needs stands in its file
  local envcfg_word
  ENVCFG_ENTER=() ENVCFG_MOUNTS=''
  envcfg_mounts
  if [[ -n $ENVCFG_MOUNTS || " ${ENVCFG_ENTER[*]-}" == *' --annotation='* ]]; then
    envcfg_note "mounts and annotations of the profile are left to the environment $ENVCFG_IMAGE"
  fi
  for envcfg_word in "${!ENVCFG_ENTER[@]}"; do
    case ${ENVCFG_ENTER[envcfg_word]} in
      --annotation=* | --entrypoint) unset -v "ENVCFG_ENTER[$envcfg_word]" ;; # words of a file
    esac
  done
  ENVCFG_ENTER=(--environment "$envcfg_image" "${ENVCFG_ENTER[@]}")
}

envcfg_define() { # IMAGE: write the file, with the annotations that are among the words
  local envcfg_entrypoint=false envcfg_key=image envcfg_lines envcfg_text envcfg_word
  local -a envcfg_words=()
  local -A envcfg_annotations=() # of several by one name, the last counts
  for envcfg_word in "${ENVCFG_ENTER[@]}"; do
    if [[ $envcfg_word == --annotation=* ]]; then
      envcfg_word=${envcfg_word#*=}
      envcfg_toml "${envcfg_word#*=}"
      envcfg_annotations[${envcfg_word%%=*}]=$envcfg_text
    elif [[ $envcfg_word == --entrypoint ]]; then
      envcfg_entrypoint=true # of an image that sets its variables there
    else
      envcfg_words+=("$envcfg_word")
    fi
  done
  # The name of an environment, or its file: all that it says stays, except what follows.
  if [[ $1 == *.toml || $1 != *[!A-Za-z0-9_-]* ]]; then envcfg_key=base_environment; fi
  envcfg_toml "$1"
  envcfg_lines="$envcfg_key = $envcfg_text"$'\n'
  envcfg_toml "$PWD"
  envcfg_lines+="workdir = $envcfg_text"$'\n'"entrypoint = $envcfg_entrypoint"$'\n'
  envcfg_lines+="mounts = ["$'\n'"$ENVCFG_MOUNTS]"$'\n\n'"[annotations]"$'\n'
  for envcfg_word in "${!envcfg_annotations[@]}"; do
    envcfg_lines+="$envcfg_word = ${envcfg_annotations[$envcfg_word]}"$'\n'
  done
  ENVCFG_ENTER=("${envcfg_words[@]}")
  printf '# envcfg has written this for one step, and removes it.\n%s' "$envcfg_lines" \
    >"$ENVCFG_PLACED/environment.toml" || envcfg_fault "cannot write $ENVCFG_PLACED/environment.toml" \
    'is the disk full? SCRATCH names another folder that all nodes see'
}

envcfg_toml() { # TEXT: set envcfg_text to it as a string of the file, where $ begins a variable
  envcfg_text=${1//\\/\\\\}
  envcfg_text=${envcfg_text//\"/\\\"}
  envcfg_text=\"${envcfg_text//\$/\$\$}\"
  if [[ $1 == *[[:cntrl:]]* ]]; then
    envcfg_fault "the Container Engine takes no control characters: ${1@Q}" 'rename what has them'
  fi
}
