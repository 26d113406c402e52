# shellcheck shell=sh
# shellcheck disable=SC2154 # gpus.sh, place.sh and nics.sh stand above it
# The probe of envcfg preflight: one runs on each node, in the container, as the ranks do. It
# says what it sees and judges nothing. Its words are device=PATTERN and folder=PATH; others are
# for site.sh. A line is
#
#   envcfg-node HOST KEY WORD...
#
# with envcfg-probe lines of the GPUs between, and `end` as the last. Commands of a POSIX shell
# only; what tools an image has besides (ip, df, rm, ldd, timeout) makes it say more.

envcfg_tell() { # KEY WORD...
  printf 'envcfg-node %s %s\n' "$envcfg_host" "$*"
}

envcfg_variables() { # NAME...
  for envcfg_name; do
    eval "envcfg_value=\${$envcfg_name-}" # names of our own, never data
    [ -z "$envcfg_value" ] || envcfg_tell variable "$envcfg_name" "$envcfg_value"
  done
}

envcfg_addresses() { # set envcfg_addressed: NAME=ADDRESS of interfaces, each between spaces
  envcfg_addressed=' '
  if envcfg_has ip; then
    while read -r _ envcfg_name _ envcfg_value _; do
      envcfg_addressed="$envcfg_addressed$envcfg_name=$envcfg_value "
    done <<EOF
$(envcfg_within 10 ip -o address show scope global 2>/dev/null)
EOF
    return
  fi
  # Without ip: an address brings a route to its network. Links have none of their own.
  while read -r envcfg_name _; do
    envcfg_addressed="$envcfg_addressed$envcfg_name=unknown "
  done </proc/net/route
  while read -r _ _ _ envcfg_scope _ envcfg_name; do
    [ "$envcfg_scope" != 00 ] || envcfg_addressed="$envcfg_addressed$envcfg_name=unknown "
  done </proc/net/if_inet6
} 2>/dev/null

envcfg_network() { # NAME STATE: an interface, and its address
  case $envcfg_addressed in
    *" $1="*)
      envcfg_value=${envcfg_addressed#*" $1="}
      envcfg_tell network "$1" "$2" "${envcfg_value%% *}"
      ;;
    *) envcfg_tell network "$1" "$2" - ;;
  esac
}

envcfg_device() { # PATTERN: how many fit
  envcfg_count=0
  for envcfg_path in $1; do
    [ ! -e "$envcfg_path" ] || envcfg_count=$((envcfg_count + 1))
  done
  envcfg_tell device "$envcfg_count" "$1"
}

envcfg_fill() { # write 1 MiB into the folder that was made
  envcfg_text=0123456789abcdef
  while [ "${#envcfg_text}" -lt 65536 ]; do envcfg_text=$envcfg_text$envcfg_text; done
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    printf '%s' "$envcfg_text" || return
  done >"$ENVCFG_PLACED/fill"
}

envcfg_try() { # FOLDER WRITE: whether it takes what WRITE puts there; nothing stays, also after a signal
  (
    for envcfg_signal in 1 2 3 15 25; do # 25: the file is larger than a limit of the job's
      # shellcheck disable=SC2064 # the number is meant to be written in now
      trap "envcfg_unplace; exit $((128 + envcfg_signal))" "$envcfg_signal"
    done
    envcfg_code=0
    { envcfg_place "$1" && "$2"; } || envcfg_code=$?
    envcfg_unplace
    exit "$envcfg_code"
  ) 2>/dev/null
}

envcfg_folder() { # PATH: whether it takes a file, and how many KiB it has left
  envcfg_free=- envcfg_written=no
  if envcfg_has df; then
    while read -r _ _ _ envcfg_value _; do
      case $envcfg_value in *[!0-9]* | '') ;; *) envcfg_free=$envcfg_value ;; esac
    done <<EOF
$(envcfg_within 10 df -Pk -- "$1" 2>/dev/null)
EOF
  fi
  if ! envcfg_has mkdir || ! envcfg_has rm; then
    envcfg_written=unknown # no folder could be made, or none removed again
  elif envcfg_try "$1" envcfg_fill; then
    envcfg_written=yes
  fi
  envcfg_tell folder "$envcfg_written" "$envcfg_free" "$1"
}

envcfg_plugin() { # what the network plugin needs, and whether the loader finds it
  set -- "${NCCL_NET_PLUGIN-}"
  case $1 in
    none) return ;;
    */*) ;;
    *) set -- "$1" "libnccl-net-$1.so" librccl-net.so libnccl-net.so ;;
  esac
  envcfg_file=
  for envcfg_name; do
    case $envcfg_name in */*) [ ! -r "$envcfg_name" ] || envcfg_file=$envcfg_name ;; esac
    envcfg_rest=${LD_LIBRARY_PATH-}:
    while [ -z "$envcfg_file" ] && [ -n "$envcfg_rest" ]; do
      envcfg_path=${envcfg_rest%%:*}/$envcfg_name envcfg_rest=${envcfg_rest#*:}
      [ ! -f "$envcfg_path" ] || envcfg_file=$envcfg_path
    done
    [ -z "$envcfg_file" ] || break
  done
  [ -n "$envcfg_file" ] || return 0
  if ! envcfg_has ldd; then
    envcfg_tell plugin unknown - "$envcfg_file"
    return
  fi
  envcfg_lacks=
  while read -r envcfg_name envcfg_arrow envcfg_rest; do
    case "$envcfg_arrow $envcfg_rest" in
      '=> not found'*) envcfg_lacks=$envcfg_lacks,$envcfg_name ;;
      *": version "?*"' not found"*) # of a library that is there: `FABRIC_1.7'
        envcfg_rest=${envcfg_rest#version ?}
        envcfg_lacks=$envcfg_lacks,${envcfg_rest%%"'"*}
        ;;
    esac
  done <<EOF
$(envcfg_within 10 ldd "$envcfg_file" 2>&1)
EOF
  if [ -n "$envcfg_lacks" ]; then
    envcfg_tell plugin no "${envcfg_lacks#,}" "$envcfg_file"
  else
    envcfg_tell plugin yes - "$envcfg_file"
  fi
}

envcfg_tell begin
while read -r envcfg_name envcfg_word envcfg_rest envcfg_value _; do
  case "$envcfg_name $envcfg_word $envcfg_rest" in
    'Max locked memory') envcfg_tell memlock "$envcfg_value" ;; # bytes, or unlimited
  esac
done <"/proc/$$/limits"
envcfg_variables NCCL_SOCKET_IFNAME GLOO_SOCKET_IFNAME SLURM_GPUS_ON_NODE \
  CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ZE_AFFINITY_MASK
envcfg_addresses
envcfg_links envcfg_network
for envcfg_word; do
  case $envcfg_word in
    device=*) envcfg_device "${envcfg_word#*=}" ;;
    folder=*) envcfg_folder "${envcfg_word#*=}" ;;
    *) envcfg_see "$envcfg_word" ;;
  esac
done
envcfg_attached
envcfg_plugin
envcfg_tick=1 envcfg_kind=gpus envcfg_count=0
envcfg_gpus
envcfg_tell end
