# shellcheck shell=bash # keep_caches 14: compile caches that earlier jobs left: copy them to each node, and keep what is new
# needs: before caches; adds: READY=envcfg_warm AFTER=envcfg_save; reads: ENVCFG_COMPONENTS ENVCFG_IMAGE ENVCFG_SETUP ENVCFG_KINDS ENVCFG_VERSIONS
# Nothing here fails a step: what does not work is a note, and the step compiles as without it.
# ENVCFG_KEPT is the folder for all jobs. In it, a folder for each key has archives. A manifest names
# the archive that counts and its checksum. Archives are never changed: a new manifest replaces an old one.
ENVCFG_KEEPS='' # the software's part of the key, once nodes have a copy

envcfg_warm() { # give each node what was kept for this software and its own hardware
  local envcfg_software envcfg_file envcfg_from=$SECONDS
  local -a envcfg_files=()
  if [[ -n $ENVCFG_KEEPS ]]; then return; fi # an earlier step of this shell did
  if [[ $ENVCFG_KEPT != /* ]]; then ENVCFG_KEPT=$PWD/$ENVCFG_KEPT; fi
  envcfg_software=$(envcfg_software) || {
    envcfg_note "no compile cache is kept: ${envcfg_software##*$'\n'}"
    return 0
  }
  if ! (umask 077 && mkdir -p -- "$ENVCFG_KEPT") 2>/dev/null || [[ ! -O $ENVCFG_KEPT || -L $ENVCFG_KEPT || ! -w $ENVCFG_KEPT ]]; then
    envcfg_note "no compile cache is kept: $ENVCFG_KEPT is not a folder of yours that this host can write"
    return 0
  elif [[ $(exec stat -c %a -- "$ENVCFG_KEPT") != ?([0-7])700 ]]; then # folders of projects have the set-group-ID bit
    envcfg_note "no compile cache is kept: others may enter $ENVCFG_KEPT; type chmod 700 $ENVCFG_KEPT"
    return 0
  fi
  ENVCFG_KEEPS=$(printf '%s' "$envcfg_software" | sha256sum) || return 0
  ENVCFG_KEEPS=${ENVCFG_KEEPS%% *} ENVCFG_KEEPER_SAID=$ENVCFG_KEPT/.said-$ENVCFG_JOB-$BASHPID
  # If Slurm copies from node to node, the shared file system gives each archive once.
  if ((ENVCFG_JOB_NODES > 1)) && [[ -z $ENVCFG_COMPONENTS && -n ${SLURMD_NODENAME-} ]] \
    && declare -F envcfg_srun >/dev/null && type -P sbcast >/dev/null; then
    mapfile -t envcfg_files < <(envcfg_here 30 archives)
  fi
  for envcfg_file in "${envcfg_files[@]}"; do
    envcfg_before exec timeout -s KILL 60 sbcast -f "$envcfg_file" "$ENVCFG_CACHE_BASE-${envcfg_file##*/}" 2>/dev/null || break
  done
  envcfg_before envcfg_warm_nodes "${ENVCFG_IMAGE:-no container} $ENVCFG_VERSIONS" \
    || envcfg_note 'not all nodes have a copy of the compile caches: these nodes compile again'
  envcfg_kept_said "copied to each node in $((SECONDS - envcfg_from)) s" "in $ENVCFG_KEPT nothing is kept for this image and hardware"
}

envcfg_warm_nodes() { # ABOUT: come to an end after a signal, too, so that no copy is made after the job has removed all
  trap : HUP INT QUIT TERM USR1 USR2
  envcfg_kept_on 120 warm "$1"
}

envcfg_save() { # merge what this step has added, however it has ended; quick, because after TERM a KILL follows
  if [[ -z $ENVCFG_KEEPS ]]; then return; fi
  (
    builtin trap '' HUP INT QUIT TERM USR1 USR2 # a signal does not cut this short
    set +eu
    envcfg_from=$SECONDS envcfg_limit=300
    if [[ -n $ENVCFG_CAUGHT ]]; then envcfg_limit=25; fi # Slurm's KillWait is 30 s
    # At the time limit Slurm starts no step any more. Then this node speaks for all: they compile the same.
    if ! envcfg_kept_on "$envcfg_limit" save "$ENVCFG_CODE" "$ENVCFG_JOB-$BASHPID" 2>/dev/null; then
      envcfg_here "$envcfg_limit" save "$ENVCFG_CODE" "$ENVCFG_JOB-$BASHPID" >"$ENVCFG_KEEPER_SAID"
      envcfg_note 'not all nodes of this job answer: what this node compiled is kept'
    fi
    mapfile -t envcfg_keys < <(sed -n 's/^\( *[0-9]*: \)\{0,1\}key //p' "$ENVCFG_KEEPER_SAID" | sort -u)
    if ((${#envcfg_keys[@]} > 0)); then
      envcfg_here "$envcfg_limit" merge "${envcfg_keys[@]}" 2>/dev/null >"$ENVCFG_KEEPER_SAID"
      envcfg_kept_said "kept in $ENVCFG_KEPT in $((SECONDS - envcfg_from)) s" ''
    fi
    rm -f -- "$ENVCFG_KEEPER_SAID"
  ) || envcfg_note 'the compile caches of this step are not kept'
}

envcfg_kept_on() { # SECONDS WORD...: on each node, outside the container
  envcfg_host timeout -s KILL "$1" bash -c "$ENVCFG_NODE_NAME"$'\n'"$ENVCFG_KEEPER" envcfg-keep \
    "$ENVCFG_KEPT" "$ENVCFG_KEEPS" "$ENVCFG_CACHE_BASE" "$ENVCFG_KINDS" "${@:2}" >"$ENVCFG_KEEPER_SAID"
}

envcfg_here() { # SECONDS WORD...: on this host
  timeout -s KILL "$1" bash -c "$ENVCFG_NODE_NAME"$'\n'"$ENVCFG_KEEPER" envcfg-keep \
    "$ENVCFG_KEPT" "$ENVCFG_KEEPS" "$ENVCFG_CACHE_BASE" "$ENVCFG_KINDS" "${@:2}"
}

envcfg_kept_said() { # HOW NONE: tell what the nodes did; each says "has KIND FILES BYTES" or "note TEXT"
  local envcfg_line envcfg_kind envcfg_files envcfg_bytes envcfg_text='' envcfg_has_note='' envcfg_key=''
  if [[ ! -f $ENVCFG_KEEPER_SAID ]]; then return; fi
  while read -r envcfg_line; do # of many nodes, what is the same is told once
    if [[ $envcfg_line == note* ]]; then
      envcfg_note "${envcfg_line#note }"
      envcfg_has_note=yes
    elif [[ $envcfg_line == has* ]]; then
      read -r _ envcfg_kind envcfg_files envcfg_bytes <<<"$envcfg_line"
      envcfg_text+="${envcfg_text:+, }$envcfg_kind $envcfg_files files, $(((envcfg_bytes + 1048575) / 1048576)) MiB"
    elif [[ $envcfg_line == key* ]]; then # nodes of several kinds have several
      envcfg_key+=${envcfg_key:+, }${envcfg_line:4:12}
    fi
  done < <(sed 's/^ *[0-9]*: //' -- "$ENVCFG_KEEPER_SAID" | sort -u) # without the labels of tasks
  if [[ -n $envcfg_text ]]; then
    envcfg_note "compile caches $1: $envcfg_text${envcfg_key:+, key $envcfg_key}"
  elif [[ -n $2 && -z $envcfg_has_note ]]; then
    envcfg_note "compile caches are empty: $2${envcfg_key:+, key $envcfg_key}"
  fi
}

envcfg_software() { # print what decides, besides the hardware, which kernels are valid; or why it is unknown, and fail
  local envcfg_name envcfg_value envcfg_word envcfg_image=$ENVCFG_IMAGE envcfg_id envcfg_folders='' envcfg_is_known=''
  local -a envcfg_files=()
  local -A envcfg_values=()
  builtin shopt -s nullglob
  printf 'versions %s\nmodules %s\n' "$ENVCFG_VERSIONS" "${LOADEDMODULES-}"
  for envcfg_name in VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONUSERBASE HSA_XNACK HSA_OVERRIDE_GFX_VERSION; do
    envcfg_values[$envcfg_name]=${!envcfg_name-}
  done
  for envcfg_word in "${ENVCFG_ARGS[@]}"; do # what the step sets wins
    if [[ -n ${envcfg_values[${envcfg_word%%=*}]+set} ]]; then envcfg_values[${envcfg_word%%=*}]=${envcfg_word#*=}; fi
  done
  for envcfg_name in HSA_XNACK HSA_OVERRIDE_GFX_VERSION; do printf '%s %s\n' "$envcfg_name" "${envcfg_values[$envcfg_name]}"; done

  if [[ -z $envcfg_image ]]; then
    cat /etc/os-release /opt/rocm/.info/version 2>/dev/null
  elif [[ $envcfg_image == *@sha256:* ]]; then
    printf 'image %s\n' "$envcfg_image"
    envcfg_is_known=yes
  else
    if [[ $envcfg_image != /* ]]; then envcfg_image=$PWD/$envcfg_image; fi
    if [[ ! -f $envcfg_image ]]; then
      printf 'the image %s is not a file, and may change under its name\n' "$ENVCFG_IMAGE"
      return 1
    fi
    # The header of SIF: from byte 32 magic, version and architecture, from 48 the ID, then two times.
    envcfg_id=$(od -An -v -tx1 -j32 -N48 -- "$envcfg_image" | tr -d ' \n')
    if [[ $envcfg_id == 5349465f4d41474943* && ${envcfg_id:32:32} == *[!0]* ]]; then
      printf 'image SIF %s\n' "$envcfg_id"
    else
      stat -L -c 'image %n %s %Y' -- "$envcfg_image"
    fi
    envcfg_is_known=yes
  fi

  if [[ -n $ENVCFG_SETUP ]]; then
    envcfg_value=$ENVCFG_SETUP
    if [[ -f $envcfg_value ]]; then envcfg_value=$(<"$envcfg_value"); fi
    printf 'setup %s\n' "$envcfg_value"
    if [[ $envcfg_value =~ (^|[[:space:]])(\.|source)[[:space:]]+[\"\']?([^[:space:]\"\']+)/bin/activate ]]; then
      envcfg_folders=${BASH_REMATCH[3]}
    elif [[ $envcfg_value =~ (^|[[:space:];&])(\.|source|module|conda|micromamba|eval)[[:space:]] || $envcfg_value == *PATH* ]]; then
      printf '%s\n' 'the environment that --setup gives is not known'
      return 1
    fi
  fi
  envcfg_folders+=:${ENVCFG_STAGES_ENV-}:${envcfg_values[VIRTUAL_ENV]}:${envcfg_values[CONDA_PREFIX]}
  envcfg_folders+=:${envcfg_values[PYTHONPATH]}:${envcfg_values[PYTHONUSERBASE]:-${HOME-}/.local}
  for envcfg_word in "${ENVCFG_ENTER[@]}"; do # binds of files, overlays, squashfs files
    envcfg_folders+=:${envcfg_word//[,=]/:}
  done
  while IFS= read -r -d : envcfg_value; do
    if [[ $envcfg_value != /[!/]* || $envcfg_value == "$envcfg_image" || $envcfg_value == @(/etc|/proc|/sys|/dev|/run|/var|"$ENVCFG_CACHE_BASE")* ]]; then
      continue # what each node or job has its own of
    fi
    if [[ -f $envcfg_value ]]; then
      envcfg_files+=("$envcfg_value")
    else # of a package, name and version are in the name of a folder
      for envcfg_word in "$envcfg_value"/{,lib/python*/site-packages/,lib64/python*/site-packages/}*.dist-info "$envcfg_value"/conda-meta/*.json; do
        envcfg_files+=("$envcfg_word")
        envcfg_is_known=yes
      done
    fi
    if [[ $envcfg_value == "${ENVCFG_STAGES_ENV-}" ]]; then envcfg_is_known=yes; fi
  done <<<"$envcfg_folders:"
  if ((${#envcfg_files[@]} > 0)); then stat -L -c '%n %s %Y' -- "${envcfg_files[@]}"; fi
  if [[ -z $envcfg_is_known ]]; then
    printf '%s\n' 'neither an image nor an active environment with packages is seen, so nothing tells which software compiles'
    return 1
  fi
}

IFS= builtin read -r -d '' ENVCFG_KEEPER <<'ENVCFG_TEXT' || builtin :
# DIR SOFTWARE BASE KINDS, then on each node: warm ABOUT | save CODE JOB; on one: merge KEY...
umask 077
set -o pipefail
shopt -s nullglob
export LC_ALL=C
kept=$1 software=$2 base=$3 cache=$3-$envcfg_host kinds=$4 task=$5
shift 5
read -r node </proc/sys/kernel/hostname
is_own() { [[ -O $1 && ! -L $1 ]]; }
note() { printf 'note %s\n' "$1"; }

hardware() { # print CPU and GPUs; fail and print what is unknown
  local name value file line target is_seen=''
  while IFS= read -r line && [[ -n $line || -z $is_seen ]]; do # the first CPU
    case $line in
      vendor_id* | 'cpu family'* | model* | stepping* | flags* | Features* | 'CPU '* | cpu[[:space:]]*:*)
        is_seen=yes
        printf '%s\n' "$line"
        ;;
    esac
  done </proc/cpuinfo
  if [[ -z $is_seen ]]; then
    printf 'CPU model of %s\n' "$node"
    return 1
  fi
  if [[ -e /dev/kfd ]]; then
    is_seen=''
    while read -r line; do
      is_seen=yes
      printf 'GPU %s\n' "$line"
    done < <(
      for file in /sys/class/kfd/kfd/topology/nodes/*/properties; do
        line='' target=0
        while read -r name value; do
          case $name in
            gfx_target_version) target=$value line+=" $name=$value" ;;
            simd_count | simd_per_cu | num_xcc | device_id | capability | capability2) line+=" $name=$value" ;;
          esac
        done <"$file" 2>/dev/null
        if [[ $target != 0 ]]; then printf '%s\n' "$line"; fi
      done | sort -u
    )
    cat /sys/module/amdgpu/parameters/noretry /sys/module/amdgpu/version 2>/dev/null
  elif compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
    is_seen=''
    if compgen -G '/proc/driver/nvidia/capabilities/gpu*/mig/gi*' >/dev/null; then
      printf 'part of a GPU (MIG) on %s\n' "$node"
      return 1
    fi
    while IFS= read -r line; do
      is_seen=yes
      printf 'GPU %s\n' "$line"
    done < <(sed -n 's/^Model:[[:space:]]*//p' /proc/driver/nvidia/gpus/*/information </dev/null 2>/dev/null | sort -u)
    cat /proc/driver/nvidia/version 2>/dev/null
  else
    for file in /sys/class/drm/renderD*/device; do
      if read -r name <"$file/vendor" && read -r value <"$file/device"; then printf 'GPU %s %s\n' "$name" "$value"; fi
    done 2>/dev/null
  fi
  if [[ -z $is_seen ]]; then
    printf 'GPU model of %s\n' "$node"
    return 1
  fi
}

unpack() { # ARCHIVE FOLDER: only if it has files and folders alone, by names that stay in FOLDER
  local by=()
  if [[ $1 == *.zst ]]; then by=(-I zstd); fi
  tar "${by[@]}" -tvf "$1" 2>/dev/null | { ! grep -qE '^[^-d]|[ /]\.\.(/|$)| /|\\'; } || return 2
  tar "${by[@]}" -xf "$1" -C "$2" --no-same-owner --no-same-permissions --skip-old-files 2>/dev/null || return 1
}

pack() { # ARCHIVE NAMES: of the files here; set packed to its name, which tells how
  if type -P zstd >/dev/null; then
    packed=$1.tar.zst
    tar --null --no-recursion -T "$2" --owner=0 --group=0 --numeric-owner -cf - 2>/dev/null | zstd -q -3 -T0 -c >"$packed"
  else
    packed=$1.tar
    tar --null --no-recursion -T "$2" --owner=0 --group=0 --numeric-owner -cf "$packed" 2>/dev/null
  fi && sync -- "$packed"
}

manifest() { # FOLDER KIND: set archive, sum, files, bytes to what counts; fail without one
  local tries
  for tries in 1 2; do # another job may replace both in between
    archive='' sum='' files=0 bytes=0
    if [[ ! -f $1/$2.manifest ]] || ! is_own "$1" || ! is_own "$1/$2.manifest"; then return 1; fi
    read -r archive sum files bytes _ <"$1/$2.manifest"
    if [[ $archive == "$2"-*.tar* && $archive != */* && $files$bytes != *[!0-9]* && -f $1/$archive ]] && is_own "$1/$archive"; then return 0; fi
  done
  return 1
}

is_whole() { # FILE SUM
  local got
  got=$(sha256sum -- "$1" 2>/dev/null) && [[ ${got%% *} == "$2" ]]
}

find_key() { # set key and folder of this node
  local text
  text=$(hardware) || {
    note "no compile cache is kept: the ${text##*$'\n'} is unknown"
    return 1
  }
  key=$(printf '%s\n%s' "$software" "$text" | sha256sum)
  key=${key:0:40} folder=$kept/$key
}

archives() { # print the archives for this node
  local key folder kind
  find_key >/dev/null || return $?
  for kind in $kinds; do
    if manifest "$folder" "${kind%%:*}"; then printf '%s\n' "$folder/$archive"; fi
  done
}

warm() { # ABOUT
  local key folder kind place copy
  if [[ -e $cache/.kept ]] || ! find_key; then return; fi
  mkdir -m 700 -- "$cache" 2>/dev/null
  if ! is_own "$cache"; then return; fi # the rank says so
  for kind in $kinds; do
    IFS=: read -r kind place _ <<<"$kind"
    if ! manifest "$folder" "$kind"; then continue; fi
    copy=$base-$archive # by sbcast
    if ! is_own "$copy" || ! is_whole "$copy" "$sum"; then
      rm -f -- "$copy"
      copy=$cache/.$archive
      if ! cp -- "$folder/$archive" "$copy" 2>/dev/null || ! is_whole "$copy" "$sum"; then rm -f -- "$copy"; fi
    fi
    if [[ -f $copy ]] && mkdir -- "$cache/.$kind" && unpack "$copy" "$cache/.$kind"; then
      # Triton writes where a kernel's files are. The folder of a job has a name of envcfg's.
      find "$cache/.$kind" -name '__grp__*.json' -exec sed -i "s|\"[^\"]*/envcfg-[0-9]*-[^\"/]*/|\"${cache//[&|\\]/?}/|g" {} + \
        && mv -T -- "$cache/.$kind" "$cache/$place" \
        && printf 'has %s %s %s\n' "$kind" "$files" "$bytes"
    else
      note "the kept cache $folder/$archive is damaged, or does not fit on the node: it is not used"
    fi
    rm -rf -- "$copy" "$cache/.$kind"
  done
  if [[ -d $folder ]]; then touch -c -- "$folder/about"; fi # for the last use
  printf '%s\n%s\n' "$key" "$1" >"$cache/.kept"
  touch -d '2 seconds ago' -- "$cache/.kept" # times of files are not finer than the kernel's clock
  printf 'key %s\n' "$key"
}

save() { # CODE JOB: pack what this node has added; of nodes that have added the same, one does
  local key about folder kind method place mark part others old=() names=(! -name '*.lock' ! -name lock ! -name '*.tmp' ! -path '*/tmp.*')
  { read -r key && read -r about; } <"$cache/.kept" 2>/dev/null || return 0
  folder=$kept/$key
  rm -f -- "$base"-*.tar* # of a start that took too long
  if [[ $1 != 0 ]]; then
    # A compiler may have been killed while it wrote.
    printf -v mark '%(%s)T' -1
    old=(! -newermt "@$((mark - 20))")
  fi
  for kind in $kinds; do
    IFS=: read -r kind place _ method <<<"$kind"
    if [[ -L $cache/$place ]] || ! cd -- "$cache/$place" 2>/dev/null; then continue; fi
    find . -type f -newer "$cache/.kept" "${old[@]}" "${names[@]}" -print0 | sort -z >"$cache/.names"
    if [[ ! -s $cache/.names ]]; then continue; fi
    if [[ $method == whole ]]; then # its files belong together
      if ((${#old[@]} > 0)) && [[ -n $(find . -type f "${old[@]:1}" -print -quit) ]]; then continue; fi
      find . -type f "${names[@]}" -print0 | sort -z >"$cache/.names"
    fi
    mark=$(sha256sum <"$cache/.names")
    part=$folder/new/$2-$kind-${mark:0:16}
    if ! mkdir -p -- "$folder/new" || ! is_own "$folder"; then continue; fi
    if [[ ! -e $folder/about ]]; then printf '%s\n' "$about" >"$folder/about"; fi
    others=("$folder/new/$2-$kind-"*)
    if ((${#others[@]} < 8)) && mkdir -- "$part" 2>/dev/null; then # the next job takes what more nodes have
      if pack "$part/part" "$cache/.names"; then
        mv -- "$packed" "$part/whole${packed#"$part/part"}"
      else
        rm -rf -- "$part"
        note "cannot write $part: is the disk or the quota full?"
      fi
    fi
  done
  touch -d '2 seconds ago' -- "$cache/.kept"
  printf 'key %s\n' "$key"
}

merge() { # KEY...: put what nodes have added into the archives
  local key kind limit method
  # The job removes its cache, whatever comes. A host that is none of the nodes has none.
  work=$cache/.merge
  if ! mkdir -- "$work" 2>/dev/null; then work=$(mktemp -d) || return 1; fi
  trap 'rm -rf -- "$work"' EXIT
  for key in "$@"; do
    folder=$kept/$key
    if [[ ! -d $folder ]]; then continue; fi # nothing was compiled
    if ! is_own "$folder" || ! lock "$folder/lock"; then
      note "another job merges caches in $folder, or its disk is full: a later job adds those of this one"
      continue
    fi
    for kind in $kinds; do
      IFS=: read -r kind _ limit method <<<"$kind"
      merge_kind "$kind" "$limit" "$method"
    done
    shrink "$folder"
    find "$folder" -mindepth 1 -maxdepth 2 \( -name '.tmp-*' -mmin +10 -o -path '*/new/*' -mmin +1440 \) -exec rm -rf -- {} +
    unlock "$folder/lock"
  done
}

shrink() { # FOLDER: of more than 16 GiB in all, remove the keys that were not used for longest; not this one
  local sizes size=0 oldest
  while sizes=$(du -sm -- "$kept") && ((${sizes%%[!0-9]*} > 16384 && ${sizes%%[!0-9]*} != size)); do
    size=${sizes%%[!0-9]*}
    oldest=$(find "$kept" -mindepth 2 -maxdepth 2 -user "$UID" -regextype posix-extended -regex '.*/[0-9a-f]{40}/about' ! -path "$1/about" -printf '%T@ %h\n' | sort -n | head -n 1)
    if [[ ${oldest#* } == "$kept"/* ]]; then rm -rf -- "${oldest#* }"; fi
  done
}

lock() { # FOLDER: make it, for 10 s; one of ten minutes ago is of a job that was killed
  local tries
  for ((tries = 0; tries < 50; tries++)); do
    if mkdir -- "$1" 2>/dev/null; then
      if printf '%s\n' "$node $$" 2>/dev/null >"$1/owner"; then return; fi
      rm -rf -- "$1" # on a full disk, so that it blocks no later job
      return 1
    fi
    if [[ -n $(find "$1" -maxdepth 0 -mmin +10 2>/dev/null) ]]; then mv -T -- "$1" "${1%/*}/.tmp-$RANDOM" 2>/dev/null; fi
    sleep 0.2
  done
  return 1
}

unlock() { # FOLDER
  local owner=''
  read -r owner <"$1/owner" 2>/dev/null
  if [[ $owner == "$node $$" ]]; then rm -rf -- "$1"; fi
}

merge_kind() { # KIND MEBIBYTES METHOD
  local new=("$folder"/new/*-"$1"-*/whole.tar*) file code before=0 former='' owner=''
  if ((${#new[@]} == 0)); then return; fi
  rm -rf -- "$work/all"
  mkdir -- "$work/all" || return $?
  if manifest "$folder" "$1"; then
    if is_whole "$folder/$archive" "$sum"; then # else it is damaged, and of no use
      former=$archive before=$files
      unpack "$folder/$archive" "$work/all" || {
        note "cannot unpack $folder/$archive on $node: nothing is added to it"
        return
      }
    fi
  fi
  for file in "${new[@]}"; do
    if [[ $3 == whole ]]; then # the last one replaces all others
      rm -rf -- "$work/all"
      mkdir -- "$work/all" || return $?
    fi
    code=2
    if is_own "$file"; then
      unpack "$file" "$work/all"
      code=$?
    fi
    if ((code == 2)); then
      note "left out: $file, which is damaged"
      rm -rf -- "${file%/*}"
    elif ((code != 0)); then # a file may be cut, so nothing is taken
      note "cannot unpack $file on $node: nothing is added, and a later job tries again"
      return
    fi
  done
  cd -- "$work/all" || return $?
  find . -type f -print0 | sort -z >"$work/names"
  read -r bytes _ < <(du -sb --apparent-size .)
  files=$(tr -dc '\0' <"$work/names" | wc -c)
  if ((files < before)) && [[ $3 != whole ]]; then
    return
  elif ((files < before)); then
    : # of two jobs that end at once, the one with less
  elif ((bytes > $2 * 1048576)); then
    note "$1 has reached its limit of $2 MiB, and nothing is added: to start again, remove $folder"
  elif ((files > before)) || [[ $3 == whole ]]; then
    # The lock is read last: another job may have taken it for one of a killed job.
    if pack "$folder/.tmp-$$-$1" "$work/names" && sum=$(sha256sum <"$packed") && read -r owner <"$folder/lock/owner" && [[ $owner == "$node $$" ]]; then
      sum=${sum%% *} archive=$1-${sum:0:16}${packed#"$folder/.tmp-$$-$1"}
      if printf '%s %s %s %s %(%FT%TZ)T\n' "$archive" "$sum" "$files" "$bytes" -1 >"$folder/.tmp-$$-$1" \
        && sync -- "$folder/.tmp-$$-$1" && mv -- "$packed" "$folder/$archive" && mv -- "$folder/.tmp-$$-$1" "$folder/$1.manifest"; then
        if [[ -n $former && $former != "$archive" ]]; then rm -f -- "$folder/$former"; fi
        printf 'has %s %s %s\n' "$1" "$files" "$bytes"
      else
        note "cannot write $folder: is the disk or the quota full? What was kept before stays"
        return
      fi
    else
      rm -f -- "$packed"
      note "cannot write $folder: is the disk or the quota full? What was kept before stays"
      return
    fi
  fi
  for file in "${new[@]}"; do rm -rf -- "${file%/*}"; done
}

"$task" "$@"
ENVCFG_TEXT
