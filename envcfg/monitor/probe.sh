# shellcheck shell=sh
# The probe of envcfg monitor: one runs on each node of the job. For each number that comes
# in, it says how the node is; it ends when its input does, whatever became of its reader.
# A line is
#
#   envcfg-probe HOST NUMBER node|gpus WORD...
#
# and a sample stands between `begin` and `end COUNT`. Commands of a POSIX shell only, and
# the tool of the GPUs, which runs beside: one that hangs holds up nothing else.
LC_ALL=C
export LC_ALL
PATH=$PATH:/opt/rocm/bin

envcfg_host=${SLURMD_NODENAME-}
[ -n "$envcfg_host" ] || read -r envcfg_host </proc/sys/kernel/hostname
envcfg_reader=

envcfg_say() { # WORD...
  envcfg_count=$((envcfg_count + 1))
  printf 'envcfg-probe %s %s %s %s\n' "$envcfg_host" "$envcfg_tick" "$envcfg_kind" "$*"
}

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
  envcfg_adapters
  envcfg_say end "$envcfg_count"
}

envcfg_has() { command -v "$1" >/dev/null 2>&1; }

envcfg_gpus() { # whatever tool there is; AMD's first only where there are AMD's alone
  if [ -e /dev/kfd ] && ! [ -e /dev/nvidiactl ]; then
    envcfg_gpus_amd || envcfg_gpus_nvidia || envcfg_gpus_none
  else
    envcfg_gpus_nvidia || envcfg_gpus_amd || envcfg_gpus_none
  fi
}

envcfg_gpus_nvidia() {
  envcfg_has nvidia-smi || return 1
  envcfg_ask nvidia-smi nvidia-smi --format=csv,noheader,nounits \
    --query-gpu=index,utilization.gpu,memory.used,memory.total,power.draw,name
}

envcfg_gpus_amd() {
  if envcfg_has rocm-smi; then
    envcfg_ask rocm-smi rocm-smi --showuse --showmeminfo vram --showpower --json
  elif envcfg_has amd-smi; then
    envcfg_ask amd-smi amd-smi metric --usage --power --mem-usage --json
  else
    envcfg_gpus_driver
  fi
}

# No tool: what the driver amdgpu writes for each card.
envcfg_gpus_driver() {
  envcfg_found=
  for envcfg_card in /sys/class/drm/card*/device; do
    [ -r "$envcfg_card/gpu_busy_percent" ] || continue
    [ -n "$envcfg_found" ] || envcfg_say begin amdgpu "${SLURM_STEP_GPUS:--}"
    envcfg_found=yes
    envcfg_line=${envcfg_card#/sys/class/drm/card}
    envcfg_line=${envcfg_line%/device}
    for envcfg_file in gpu_busy_percent mem_info_vram_used mem_info_vram_total; do
      envcfg_value=-
      [ -r "$envcfg_card/$envcfg_file" ] && read -r envcfg_value <"$envcfg_card/$envcfg_file"
      envcfg_line="$envcfg_line ${envcfg_value:--}"
    done 2>/dev/null # a card that sleeps does not let itself be read
    envcfg_value=-
    for envcfg_file in "$envcfg_card"/hwmon/hwmon*/power1_average \
      "$envcfg_card"/hwmon/hwmon*/power1_input; do
      [ -r "$envcfg_file" ] && read -r envcfg_value <"$envcfg_file" && break
    done 2>/dev/null
    envcfg_say text "$envcfg_line ${envcfg_value:--}"
  done
  [ -n "$envcfg_found" ] || return 1
  envcfg_say end "$envcfg_count" 0
}

envcfg_gpus_none() {
  envcfg_say begin none "${SLURM_STEP_GPUS:--}"
  envcfg_say end "$envcfg_count" 0
}

envcfg_ask() { # NAME COMMAND...
  envcfg_say begin "$1" "${SLURM_STEP_GPUS:--}"
  shift
  if envcfg_has timeout; then set -- timeout -s KILL 20 "$@"; fi
  {
    "$@" 2>&1 </dev/null
    printf '\nenvcfg-status %s\n' "$?"
  } | while IFS= read -r envcfg_line; do
    case $envcfg_line in
      'envcfg-status '*) envcfg_say end "$envcfg_count" "${envcfg_line#* }" ;;
      *) envcfg_text "$envcfg_line" ;;
    esac
  done
}

# srun (22.05) tears lines of 1000 bytes when several nodes write at once, of 900 none.
envcfg_text() { # LINE
  envcfg_line=$1
  while [ "${#envcfg_line}" -gt 700 ]; do
    envcfg_part=$(printf '%.700s' "$envcfg_line")
    envcfg_say "part $envcfg_part"
    envcfg_line=${envcfg_line#"$envcfg_part"}
  done
  envcfg_say "text $envcfg_line"
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
