# shellcheck shell=bash # stage 6: copy image and environment to the disk of each node, and remove them at the end
# needs: before; adds: WORDS=envcfg_stageable READY=envcfg_stage END=envcfg_unstage; reads: ENVCFG_COMPONENTS ENVCFG_IMAGE
ENVCFG_STAGED='' # the folder of the copies, the same on each node

envcfg_stageable() { # WORD...: faults of what is to be copied, found before anything is
  local envcfg_word
  if [[ -n $ENVCFG_DISK_ASKED && $ENVCFG_SCRATCH == "$ENVCFG_MEMORY" ]]; then
    envcfg_fault "no disk for --stage: this job's nodes show none, and $ENVCFG_MEMORY is in memory" \
      "ask for the disk: $ENVCFG_DISK_ASKED"
  fi
  if [[ -n $ENVCFG_STAGES_IMAGE ]]; then
    ENVCFG_STAGES_IMAGE=$ENVCFG_IMAGE
    if [[ $ENVCFG_IMAGE != /* ]]; then ENVCFG_STAGES_IMAGE=$PWD/$ENVCFG_IMAGE; fi
    if [[ -d $ENVCFG_STAGES_IMAGE ]]; then
      envcfg_fault "--stage image copies a file, and $ENVCFG_STAGES_IMAGE is a folder" \
        "make one file of it (${ENVCFG_ENTER[0]} build), or leave out --stage image"
    fi
  fi
  if [[ -z $ENVCFG_STAGES_ENV ]]; then return; fi
  if [[ $ENVCFG_STAGES_ENV == env ]]; then ENVCFG_STAGES_ENV=${VIRTUAL_ENV:-${CONDA_PREFIX-}}; fi
  if [[ -z $ENVCFG_STAGES_ENV ]]; then
    envcfg_fault '--stage env: no environment is active, neither VIRTUAL_ENV nor CONDA_PREFIX is set' \
      'activate it before the step, or name its folder or archive: --stage env=PATH'
    return
  fi
  if [[ $ENVCFG_STAGES_ENV != /* ]]; then ENVCFG_STAGES_ENV=$PWD/${ENVCFG_STAGES_ENV#./}; fi
  ENVCFG_STAGES_ENV=${ENVCFG_STAGES_ENV%/}
  if [[ ! -r $ENVCFG_STAGES_ENV ]]; then
    envcfg_fault "--stage env: $ENVCFG_STAGES_ENV does not exist on ${HOSTNAME:-this host}, or cannot be read" \
      'name the folder of the environment, or its archive: --stage env=PATH'
  elif [[ -d $ENVCFG_STAGES_ENV && ! -d $ENVCFG_STAGES_ENV/bin ]]; then
    envcfg_fault "--stage env: $ENVCFG_STAGES_ENV has no folder bin, and is not an environment" \
      'name the folder that has bin/python, or its archive'
  fi
  while (($# > 0)) && [[ $1 != "$ENVCFG_RANK" ]]; do shift; done
  for envcfg_word; do # a program that is named by its path does not move
    if [[ $envcfg_word == "$ENVCFG_STAGES_ENV"/bin/* ]]; then
      envcfg_fault "the command names $envcfg_word, and would not use the copy of --stage env" \
        "name it without its folder: ${envcfg_word##*/}"
    fi
  done
}

envcfg_stage() { # make the copies, and let the ranks use them; what fails ends the step
  local envcfg_file envcfg_from=$SECONDS envcfg_index envcfg_size=0 envcfg_sizes=0
  ENVCFG_STAGED=$ENVCFG_CACHE_BASE-staged-$BASHPID
  for envcfg_file in "$ENVCFG_STAGES_ENV" "$ENVCFG_STAGES_IMAGE"; do # the image's size is needed again
    if [[ -f $envcfg_file ]]; then
      envcfg_size=$(exec stat -L -c %s -- "$envcfg_file")
      envcfg_sizes=$((envcfg_sizes + envcfg_size))
    fi
  done
  envcfg_stage_on make "$envcfg_sizes" || return $?
  if [[ -n $ENVCFG_STAGES_IMAGE ]]; then
    envcfg_from=$SECONDS
    envcfg_broadcast "$ENVCFG_STAGES_IMAGE" "$ENVCFG_STAGED/${ENVCFG_STAGES_IMAGE##*/}" || return $?
    envcfg_stage_on image "$ENVCFG_STAGES_IMAGE" "$envcfg_size" || return $?
    for ((envcfg_index = ${#ENVCFG_ENTER[@]} - 1; envcfg_index > 0; envcfg_index--)); do # binds stand before it
      if [[ ${ENVCFG_ENTER[envcfg_index]} == "$ENVCFG_STAGES_IMAGE" ]]; then
        ENVCFG_ENTER[envcfg_index]=$ENVCFG_STAGED/${ENVCFG_STAGES_IMAGE##*/}
        break
      fi
    done
    envcfg_staged "image $ENVCFG_STAGES_IMAGE" "$envcfg_size" "$envcfg_from"
  fi
  if [[ -n $ENVCFG_STAGES_ENV ]]; then
    envcfg_from=$SECONDS
    envcfg_stage_env || return $?
  fi
}

envcfg_stage_env() { # copy the environment; its many files travel as one
  local envcfg_archive=$ENVCFG_STAGES_ENV envcfg_count='' envcfg_size=''
  if [[ -d $envcfg_archive ]] && envcfg_can_broadcast; then
    envcfg_archive=$ENVCFG_STAGED/packed-here
    if [[ ! -d $ENVCFG_STAGED ]]; then mkdir -m 700 -- "$ENVCFG_STAGED"; fi # this host is none of the job's
    [[ ! -L $ENVCFG_STAGED && -O $ENVCFG_STAGED ]] || envcfg_stage_failed "$ENVCFG_STAGED is not a folder of yours" || return $?
    envcfg_before envcfg_pack "$envcfg_archive" \
      || envcfg_stage_failed "cannot pack $ENVCFG_STAGES_ENV into $envcfg_archive" || return $?
    envcfg_count=$(<"$envcfg_archive.count")
  fi
  if [[ -f $envcfg_archive ]]; then
    envcfg_size=$(exec stat -L -c %s -- "$envcfg_archive")
    envcfg_broadcast "$envcfg_archive" "$ENVCFG_STAGED/packed" || return $?
  fi
  envcfg_stage_on env "$ENVCFG_STAGES_ENV" "${envcfg_size:-0}" || return $?
  ENVCFG_ARGS+=("ENVCFG_ENVIRONMENT=$ENVCFG_STAGED/env")
  envcfg_staged "environment $ENVCFG_STAGES_ENV" "$envcfg_size" "$envcfg_from" \
    "${envcfg_count:+; saved: its $((envcfg_count)) files are opened there, by no rank in $ENVCFG_STAGES_ENV}"
}

envcfg_pack() { # FILE: make an archive of the environment, next to it the number of its entries
  set -o pipefail
  tar -C "$ENVCFG_STAGES_ENV" -cvf "$1" . | wc -l >"$1.count"
}

envcfg_can_broadcast() { # whether Slurm copies a file from node to node, so that the shared file system gives it once
  [[ -z $ENVCFG_COMPONENTS ]] && declare -F envcfg_srun >/dev/null && type -P sbcast >/dev/null
}

envcfg_broadcast() { # FILE COPY: to all nodes of the job; where nobody can, each node reads FILE itself
  ! envcfg_can_broadcast || envcfg_before exec sbcast -pf "$1" "$2" || envcfg_stage_failed "sbcast did not copy $1 to all nodes"
}

envcfg_stage_on() { # WHAT ARGUMENT...: on each node, outside the container
  envcfg_before envcfg_host bash -c "$ENVCFG_STAGER" envcfg-stage "$ENVCFG_STAGED" "$@" || envcfg_stage_failed
}

envcfg_stage_failed() { # [MESSAGE]: say so and fail, unless a signal has ended it
  if [[ -n $ENVCFG_CAUGHT ]]; then
    envcfg_wait
    return
  fi
  envcfg_error "--stage has failed, and no rank was started${1:+: $1}" \
    'see the reason above, or leave out --stage: the job then reads the originals'
  return 4
}

envcfg_staged() { # NAME BYTES SECONDS [SAVED]: tell what it took
  envcfg_note "staged: $1, ${2:+$((($2 + 1048575) / 1048576)) MiB }to the disk of each node (${ENVCFG_JOB_NODES:-1} in all) in $((SECONDS - $3)) s${4-}"
}

envcfg_unstage() { # remove the copies on every node, but nothing that is not ours
  if [[ -z $ENVCFG_STAGED ]]; then return; fi
  (
    builtin trap '' HUP INT QUIT TERM USR1 USR2 # a signal does not cut this short
    envcfg_host bash -c "$ENVCFG_STAGER" envcfg-stage "$ENVCFG_STAGED" remove \
      && bash -c "$ENVCFG_STAGER" envcfg-stage "$ENVCFG_STAGED" remove
  ) || envcfg_note "could not remove the copies in $ENVCFG_STAGED"
}

IFS= builtin read -r -d '' ENVCFG_STAGER <<'ENVCFG_TEXT' || builtin :
# On each node: FOLDER make BYTES | FOLDER image FILE BYTES | FOLDER env SOURCE BYTES | FOLDER remove
umask 077
read -r node </proc/sys/kernel/hostname
fail() { # MESSAGE
  printf 'envcfg: error: %s: %s\n' "$node" "$1" >&2
  exit 1
}
check() { # FILE BYTES: a copy that is cut must not run
  size=$(stat -L -c %s -- "$1") || size=0
  if [[ $size != "$2" ]]; then fail "the copy $1 has $size of $2 bytes: is the disk full?"; fi
}
home=${1%/*} name=${3##*/}
case $2 in
  make)
    if [[ ! -d $home || ! -w $home ]]; then fail "$home is not a folder on this node that you may write to"; fi
    case $(stat -f -c %T -- "$home") in
      tmpfs | ramfs) fail "$home is in memory: a copy there takes memory from your program" ;;
    esac
    mkdir -m 700 -- "$1" || fail "cannot make $1: is $home one folder of all nodes?"
    { read -r _ && read -r _ _ _ free _; } < <(df -P -k -- "$1")
    if ((${free:-0} < $3 / 1024)); then fail "$home has $((${free:-0} / 1024)) MiB free, and $(($3 / 1048576)) MiB are needed"; fi
    ;;
  image)
    if [[ ! -e $1/$name ]]; then cp -- "$3" "$1/$name" || fail "cannot copy $3"; fi
    check "$1/$name" "$4"
    ;;
  env)
    source=$3
    mkdir -- "$1/env" || fail "cannot make $1/env"
    if [[ -e $1/packed ]]; then
      check "$1/packed" "$4"
      source=$1/packed
    fi
    if [[ -d $source ]]; then
      cp -a -- "$source/." "$1/env" || fail "cannot copy $source"
    else
      tar -xf "$source" -C "$1/env" || fail "cannot unpack $3: is it an archive that tar reads?"
    fi
    rm -f -- "$1/packed" "$1/packed-here"
    if [[ ! -d $1/env/bin ]]; then fail "$3 has no folder bin at its top, and is not an environment: pack its content, as conda-pack does"; fi
    if [[ -x $1/env/bin/conda-unpack ]]; then
      "$1/env/bin/python" "$1/env/bin/conda-unpack" || fail "conda-unpack of $3 has failed"
    fi
    for file in "$1"/env/bin/*; do # scripts that name the original's interpreter; such a line has no space, 127 bytes at most
      if [[ ! -f $file || -L $file || $1 == *[[:space:]]* || ${#1} -gt 90 ]]; then continue; fi
      IFS= read -r line <"$file" 2>/dev/null || :
      if [[ $line == "#!$3/bin/"* ]]; then
        { printf '#!%s/env%s\n' "$1" "${line#"#!$3"}" && tail -n +2 -- "$file"; } >"$1/script" || fail "cannot write $1/script"
        cat -- "$1/script" >"$file" || fail "cannot write $file"
      fi
    done
    ;;
  remove)
    trap '' HUP INT QUIT TERM USR1 USR2
    if [[ $1 == */envcfg-$UID-*-staged-* && -d $1 && ! -L $1 && -O $1 ]]; then rm -rf -- "$1"; fi
    ;;
esac
ENVCFG_TEXT

envcfg_in_rank <<'ENVCFG_TEXT'
if [ -n "${ENVCFG_ENVIRONMENT-}" ]; then # the copy comes before all else
  [ -d "$ENVCFG_ENVIRONMENT/bin" ] || envcfg_fail "the container does not show $ENVCFG_ENVIRONMENT, the copy of --stage env" \
    "bind its folder: --bind ${ENVCFG_ENVIRONMENT%/*/*}"
  if [ -e "$ENVCFG_ENVIRONMENT/pyvenv.cfg" ]; then
    export VIRTUAL_ENV="$ENVCFG_ENVIRONMENT"
  else
    export CONDA_PREFIX="$ENVCFG_ENVIRONMENT"
  fi
  export PATH="$ENVCFG_ENVIRONMENT/bin:$PATH"
  unset -v ENVCFG_ENVIRONMENT
fi
ENVCFG_TEXT
