# shellcheck shell=sh
# shellcheck disable=SC2154 # gpus.sh and nics.sh stand above it, preflight.sh below
# What envcfg profiles probe asks a node besides: system, runtime=NAME=PROGRAM,
# speed=FOLDER. It runs on the node itself, outside of any container. A line is
#
#   envcfg-node HOST KIND WORD...
#
# What is not there is no line, or a dash.

envcfg_near() { # FOLDER of a device: set envcfg_near to its NUMA node and the CPUs next to it
  envcfg_first "$1/numa_node"
  envcfg_near=$envcfg_value
  envcfg_first "$1/local_cpulist"
  envcfg_near="$envcfg_near $envcfg_value"
}

envcfg_adapters() { # name, link, state, NUMA node, CPUs, rate of each adapter with RDMA
  for envcfg_path in /sys/class/infiniband/* /sys/class/cxi/*; do
    [ -d "$envcfg_path" ] || continue
    envcfg_near "$envcfg_path/device"
    envcfg_name=${envcfg_path##*/} envcfg_link=- envcfg_state=- envcfg_value=-
    case $envcfg_path in
      */cxi/*) envcfg_link=Slingshot ;;
      *)
        envcfg_first "$envcfg_path/ports/1/state"
        envcfg_state=${envcfg_value#*: }
        envcfg_first "$envcfg_path/ports/1/link_layer"
        envcfg_link=$envcfg_value
        case $envcfg_name in efa*) envcfg_link=EFA ;; esac
        envcfg_first "$envcfg_path/ports/1/rate"
        ;;
    esac
    envcfg_tell adapter "$envcfg_name" "$envcfg_link" "$envcfg_state" "$envcfg_near" \
      "$envcfg_value"
  done
}

envcfg_cards() { # address, vendor, NUMA node and CPUs of each GPU, in the order of addresses
  for envcfg_path in /sys/bus/pci/devices/*; do
    envcfg_is_gpu "$envcfg_path" || continue
    envcfg_card="${envcfg_path##*/} $envcfg_value"
    envcfg_near "$envcfg_path"
    envcfg_tell card "$envcfg_card" "$envcfg_near"
  done
}

envcfg_system() {
  envcfg_first /proc/sys/kernel/osrelease
  envcfg_tell kernel "$envcfg_value"
  for envcfg_name in nvidia amdgpu mlx5_core cxi_ss1 efa; do
    [ -d "/sys/module/$envcfg_name" ] || continue
    envcfg_first "/sys/module/$envcfg_name/version"
    envcfg_tell driver "$envcfg_name" "$envcfg_value"
  done
  while read -r envcfg_name envcfg_value _; do
    [ "$envcfg_name" != MemTotal: ] || envcfg_tell memory "$envcfg_value" # KiB
  done </proc/meminfo
  envcfg_first /sys/devices/system/cpu/online
  envcfg_tell cpus "$envcfg_value"
  for envcfg_path in /sys/devices/system/node/node[0-9]*; do
    [ -r "$envcfg_path/cpulist" ] || continue
    envcfg_first "$envcfg_path/cpulist"
    envcfg_tell numa "${envcfg_path##*/node}" "$envcfg_value"
  done
  for envcfg_path in /sys/class/net/*; do
    [ "${envcfg_path##*/}" != lo ] || continue
    envcfg_first "$envcfg_path/speed"
    envcfg_tell rate "${envcfg_path##*/}" "$envcfg_value" # Mbit/s
  done
  envcfg_adapters
  envcfg_cards
}

envcfg_runtime() { # NAME PROGRAM: the first line that it says of its version
  envcfg_has "$2" || return 0
  read -r envcfg_value <<EOF
$(envcfg_within 10 "$2" --version 2>/dev/null)
EOF
  envcfg_tell runtime "$1" "$envcfg_value"
}

envcfg_write() { # 256 MiB into the folder that was made; as long as it takes to be there
  read -r envcfg_begun _ </proc/uptime
  envcfg_within 10 dd if=/dev/zero of="$ENVCFG_PLACED/fill" bs=1048576 count=256 conv=fsync || return
  read -r envcfg_done _ </proc/uptime
  envcfg_tell speed 268435456 "$envcfg_begun" "$envcfg_done" "$envcfg_path"
}

envcfg_see() { # WORD
  envcfg_path=${1#*=}
  case $1 in
    system) envcfg_system ;;
    runtime=*) envcfg_runtime "${envcfg_path%%=*}" "${envcfg_path#*=}" ;;
    speed=*)
      envcfg_value=-
      ! envcfg_has stat || envcfg_value=$(envcfg_within 10 stat -f -c %T -- "$envcfg_path") || :
      envcfg_tell kind "${envcfg_value:--}" "$envcfg_path"
      [ "$envcfg_free" = - ] || [ "$envcfg_free" -lt 1048576 ] \
        || envcfg_try "$envcfg_path" envcfg_write
      ;;
  esac 2>/dev/null
}
