# shellcheck shell=bash # folders 4: make folders in the ranks, owned by the user and never through a link
envcfg_in_rank worker <<'ENVCFG_TEXT'
envcfg_own() { # PATH...: what is there must be folders of ours, not links
  for envcfg_folder; do
    { [ ! -h "$envcfg_folder" ] && [ -d "$envcfg_folder" ] && [ -O "$envcfg_folder" ]; } || envcfg_fail \
      "$envcfg_folder is not a folder of yours; it will not be used for caches" \
      'remove it, or ask its owner to: a link or a folder of another user is unsafe'
  done
}

envcfg_mkdir() { # ARGUMENT...: a signal waits for its end, as a folder that came later would stay
  for envcfg_signal in 1 2 3 10 12 15; do
    # shellcheck disable=SC2064 # the number is meant to be written in now
    trap "exit $((128 + envcfg_signal))" "$envcfg_signal"
  done
  envcfg_code=0
  mkdir -m 700 "$@" || envcfg_code=$?
  trap - 1 2 3 10 12 15
  return "$envcfg_code"
}

envcfg_folders() { # NAME PATH...: make those that the job did not set itself; ranks may race
  envcfg_left=$(($# / 2))
  while [ "$envcfg_left" -gt 0 ]; do
    if [ -n "$2" ] && ! envcfg_is_preset "$1"; then set -- "$@" "$2"; fi
    shift 2
    envcfg_left=$((envcfg_left - 1))
  done
  for envcfg_folder; do
    if [ -d "$envcfg_folder" ]; then continue; fi
    envcfg_mkdir -p -- "$@" || envcfg_fail "cannot make the cache folders $*"
    break
  done
  envcfg_own "$@"
}
ENVCFG_TEXT
