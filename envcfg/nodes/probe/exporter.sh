# shellcheck shell=sh
# shellcheck disable=SC2154,SC2317 # gpus.sh stands above it, and calls functions by their names
# The site's exporter on this node, else the tool of the GPUs.

envcfg_ask_source() { # SOURCE [NAME PORT PATTERN]: "exporter", or empty for the tool alone
  if [ "$1" = exporter ] && envcfg_gpus_exporter "$2" "$3" "$4"; then return; fi
  envcfg_gpus
}

# HTTP/1.0, so that no part comes in chunks. What does not end within 2 s, or is no whole answer,
# counts as none.
# shellcheck disable=SC2016 # of the bash that is started
envcfg_http='exec 3<>"/dev/tcp/localhost/$1" || exit
printf "GET /metrics HTTP/1.0\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n" >&3
head -c 4194304 <&3
printf "\nenvcfg-http %s\n" "$?"'

envcfg_gpus_exporter() { # NAME PORT PATTERN of the lines to keep
  envcfg_answer=$(envcfg_within 2 bash -c "$envcfg_http" envcfg-http "$2" 2>/dev/null \
    | grep -E "$3" 2>/dev/null | head -n 4096)
  case $envcfg_answer in
    HTTP/*'{'*'envcfg-http 0') envcfg_ask "$1" envcfg_exported ;;
    *) return 1 ;;
  esac
}

envcfg_exported() {
  read -r envcfg_name </proc/sys/kernel/hostname
  printf '%s\n' "$envcfg_name"
  printf '%s\n' "${envcfg_answer#*
}"
}
