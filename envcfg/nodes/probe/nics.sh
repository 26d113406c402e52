# shellcheck shell=sh
# shellcheck disable=SC2154 # gpus.sh stands above it
# Where GPUs and NICs are in the tree of PCI devices: it shows which NIC each GPU is attached to.
# A line is
#
#   envcfg-node HOST pci gpu|adapter|interface NAME NUMA PATH
#   envcfg-node HOST near ADDRESS CPUS             the CPUs next to a GPU
#
# NUMA is the number of the node, -1 or a dash if it is unknown.

envcfg_first() { # FILE: set envcfg_value to its first line, or to a dash
  envcfg_value=
  { IFS= read -r envcfg_value <"$1" || :; } 2>/dev/null
  # Lists of CPUs say nothing to a shell that reads byte by byte.
  [ -n "$envcfg_value" ] || envcfg_value=$(cat -- "$1" 2>/dev/null) || :
  [ -n "$envcfg_value" ] || envcfg_value=-
}

envcfg_is_gpu() { # FOLDER of a PCI device: of NVIDIA or AMD, and no picture of a server's own
  envcfg_first "$1/class"
  case $envcfg_value in 0x03* | 0x12*) ;; *) return 1 ;; esac
  envcfg_first "$1/vendor"
  case $envcfg_value in 0x10de | 0x1002) ;; *) return 1 ;; esac
}

envcfg_pci() { # KIND NAME FOLDER
  envcfg_place=$(CDPATH='' cd -P -- "$3" 2>/dev/null && pwd -P) || return 0
  envcfg_first "$3/numa_node"
  envcfg_tell pci "$1" "$2" "$envcfg_value" "$envcfg_place"
}

envcfg_attached() {
  for envcfg_path in /sys/bus/pci/devices/*; do
    envcfg_is_gpu "$envcfg_path" || continue
    envcfg_pci gpu "${envcfg_path##*/}" "$envcfg_path"
    envcfg_first "$envcfg_path/local_cpulist"
    envcfg_tell near "${envcfg_path##*/}" "$envcfg_value"
  done
  for envcfg_path in /sys/class/infiniband/* /sys/class/cxi/*; do
    envcfg_pci adapter "${envcfg_path##*/}" "$envcfg_path/device"
  done
  for envcfg_path in /sys/class/net/*; do
    envcfg_pci interface "${envcfg_path##*/}" "$envcfg_path/device"
  done
}
