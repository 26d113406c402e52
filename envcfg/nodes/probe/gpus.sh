# shellcheck shell=sh
# shellcheck disable=SC2317 # envcfg_ask calls functions by their names
# Who a node is, its links, and what the tool of its GPUs says: what all probes begin with. A line is
#
#   envcfg-probe HOST NUMBER KIND WORD...
#
# Commands of a POSIX shell only, and the tool itself.
LC_ALL=C
export LC_ALL
PATH=$PATH:/opt/rocm/bin

envcfg_host=${SLURMD_NODENAME-}
[ -n "$envcfg_host" ] || read -r envcfg_host </proc/sys/kernel/hostname

envcfg_say() { # WORD...
  envcfg_count=$((envcfg_count + 1))
  printf 'envcfg-probe %s %s %s %s\n' "$envcfg_host" "$envcfg_tick" "$envcfg_kind" "$*"
}

envcfg_has() { command -v "$1" >/dev/null 2>&1; }

envcfg_within() { # SECONDS COMMAND...: a node that is ill can make any of them wait for ever
  if envcfg_has timeout; then set -- timeout -s KILL "$@"; else shift; fi
  "$@" </dev/null
}

envcfg_links() { # FUNCTION: call it with the name of each interface, and up or down
  for envcfg_path in /sys/class/net/*; do
    [ -r "$envcfg_path/operstate" ] || continue
    envcfg_state=unknown
    read -r envcfg_state <"$envcfg_path/operstate"
    case $envcfg_state in unknown | up) envcfg_state=up ;; *) envcfg_state=down ;; esac
    "$1" "${envcfg_path##*/}" "$envcfg_state"
  done
}

envcfg_gpus() { # whatever tool there is; AMD's first only where there are AMD's alone
  if [ -e /dev/kfd ] && ! [ -e /dev/nvidiactl ]; then
    envcfg_gpus_amd || envcfg_gpus_nvidia || envcfg_gpus_none
  else
    envcfg_gpus_nvidia || envcfg_gpus_intel || envcfg_gpus_amd || envcfg_gpus_none
  fi
}

envcfg_gpus_nvidia() {
  envcfg_has nvidia-smi || return 1
  envcfg_ask nvidia-smi envcfg_nvidia
}

# A field that the driver does not know fails the whole question, with exit code 2. Reasons for a
# low clock were renamed in release 535.
envcfg_nvidia() {
  envcfg_errors=ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total
  for envcfg_fields in clocks_event_reasons.active clocks_throttle_reasons.active ''; do
    [ -z "$envcfg_fields" ] || envcfg_fields=power.limit,clocks.sm,$envcfg_errors,$envcfg_fields,
    envcfg_answer=$(envcfg_within 20 nvidia-smi --format=csv,noheader,nounits \
      --query-gpu="index,utilization.gpu,memory.used,memory.total,power.draw,${envcfg_fields}name" 2>&1)
    envcfg_status=$?
    [ "$envcfg_status" = 2 ] || break
  done
  printf '%s\n' "$envcfg_answer"
  return "$envcfg_status"
}

envcfg_gpus_intel() { # use, power, clock and memory of all devices, once
  envcfg_has xpu-smi || return 1
  envcfg_ask xpu-smi envcfg_within 20 xpu-smi dump -d -1 -m 0,1,2,18 -n 1
}

envcfg_gpus_amd() {
  if envcfg_has rocm-smi; then
    envcfg_ask rocm-smi envcfg_amd rocm-smi --showuse --showmeminfo vram --showpower --showmaxpower \
      --showclocks --json
  elif envcfg_has amd-smi; then
    envcfg_ask amd-smi envcfg_within 20 amd-smi metric --usage --power --mem-usage --clock --ecc --json
  else
    envcfg_gpus_driver
  fi
}

envcfg_amd() { # COMMAND..., and after it the errors that the driver has counted for each card
  envcfg_within 20 "$@"
  envcfg_status=$?
  printf '\n'
  for envcfg_card in /sys/class/drm/card*/device; do
    [ ! -r "$envcfg_card/ras/umc_err_count" ] || envcfg_errors "$envcfg_card"
  done
  return "$envcfg_status"
}

envcfg_errors() { # CARD
  envcfg_corrected=- envcfg_uncorrected=-
  while read -r envcfg_name envcfg_value; do
    case $envcfg_name in
      ce:) envcfg_corrected=$envcfg_value ;;
      ue:) envcfg_uncorrected=$envcfg_value ;;
    esac
  done <"$1/ras/umc_err_count"
  envcfg_number=${1#/sys/class/drm/card}
  printf 'ras %s %s %s\n' "${envcfg_number%/device}" "$envcfg_corrected" "$envcfg_uncorrected"
} 2>/dev/null

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
    [ ! -r "$envcfg_card/ras/umc_err_count" ] || envcfg_say text "$(envcfg_errors "$envcfg_card")"
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
  {
    "$@" 2>&1
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
