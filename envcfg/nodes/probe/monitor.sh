# shellcheck shell=sh
# shellcheck disable=SC2154 # gpus.sh stands above it
# The probe of envcfg monitor: one runs on each node of the job. For each number that comes
# in, it says how the node is; it ends when its input does, whatever became of its reader.
# A sample stands between `begin` and `end COUNT`. The tool of the GPUs runs meanwhile: one that
# hangs holds up nothing else.
envcfg_reader=

envcfg_processors() {
  envcfg_cores=0
  while read -r envcfg_name envcfg_times; do
    case $envcfg_name in
      cpu) envcfg_say cpu "$envcfg_times" ;;
      cpu*) envcfg_cores=$((envcfg_cores + 1)) ;;
      *) break ;; # the lines that follow are long
    esac
  done </proc/stat
  envcfg_say cores "$envcfg_cores"
}

envcfg_memory() {
  envcfg_total=- envcfg_available=-
  while read -r envcfg_name envcfg_value envcfg_rest; do
    case $envcfg_name in
      MemTotal:) envcfg_total=$envcfg_value ;;
      MemAvailable:) envcfg_available=$envcfg_value && break ;;
    esac
  done </proc/meminfo
  envcfg_say memory "$envcfg_total" "$envcfg_available"
}

envcfg_interfaces() {
  # shellcheck disable=SC2034 # columns that nobody asks for
  while IFS=' :' read -r envcfg_name envcfg_in p e d f m c u envcfg_out envcfg_rest; do
    case $envcfg_in in '' | *[!0-9]*) continue ;; esac
    envcfg_say net "$envcfg_name" "$envcfg_in" "$envcfg_out"
  done </proc/net/dev
}

# shellcheck disable=SC2317 # envcfg_links calls it
envcfg_link() { # NAME STATE
  envcfg_say link "$1" "$2"
}

# What goes past the kernel is counted by the adapters: bytes, or words of four bytes.
envcfg_adapters() {
  for envcfg_path in /sys/class/infiniband/*/ports/*/counters; do
    envcfg_adapter "$envcfg_path/port_rcv_data" "$envcfg_path/port_xmit_data" 4
  done
  for envcfg_path in /sys/class/cxi/*/device/telemetry; do
    envcfg_adapter "$envcfg_path/hni_sts_rx_ok_octets" "$envcfg_path/hni_sts_tx_ok_octets" 1
  done
}

envcfg_adapter() { # FILE-IN FILE-OUT BYTES
  [ -r "$1" ] && [ -r "$2" ] || return 0
  read -r envcfg_in <"$1"
  read -r envcfg_out <"$2"
  envcfg_name=${1#/sys/class/*/}
  envcfg_name=${envcfg_name%%/*}
  envcfg_base=${1%%"/$envcfg_name/"*}/$envcfg_name/device/net
  envcfg_interface=-
  for envcfg_link in "$envcfg_base"/*; do
    [ -e "$envcfg_link" ] && envcfg_interface=${envcfg_link##*/}
  done
  envcfg_say rdma "$envcfg_name" "${envcfg_in%%@*}" "${envcfg_out%%@*}" "$3" "$envcfg_interface"
}

envcfg_node() {
  envcfg_kind=node envcfg_count=0
  read -r envcfg_up envcfg_rest </proc/uptime
  envcfg_say begin "$envcfg_up"
  # shellcheck disable=SC2034 # what follows the first number
  read -r envcfg_load envcfg_rest </proc/loadavg
  envcfg_say load "$envcfg_load"
  envcfg_processors
  envcfg_memory
  envcfg_interfaces
  envcfg_links envcfg_link
  envcfg_adapters
  ! envcfg_has envcfg_ranks || envcfg_ranks # where ranks.sh stands above
  envcfg_say end "$envcfg_count"
}

# Whether the tool that was started for an earlier number still runs. A process that has
# ended may stay until it is waited for.
envcfg_is_asking() {
  [ -n "$envcfg_reader" ] || return 1
  { read -r envcfg_state <"/proc/$envcfg_reader/stat"; } 2>/dev/null || envcfg_state=
  case $envcfg_state in
    *') Z '*) ;;
    *') '?" $$ "*) return 0 ;;
  esac
  wait "$envcfg_reader" 2>/dev/null
  envcfg_reader=
  return 1
}

while read -r envcfg_tick; do
  case $envcfg_tick in '' | *[!0-9]*) continue ;; esac
  envcfg_kind=gpus envcfg_count=0
  if envcfg_is_asking; then
    envcfg_say waits
  else
    envcfg_gpus &
    envcfg_reader=$!
  fi
  envcfg_node
done
exit 0
