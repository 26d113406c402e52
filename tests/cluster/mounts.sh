#!/usr/bin/env bash
# What a host of the cluster sees of the machine's files. Sourced by the scripts, and
# run inside a new mount namespace: `mounts.sh host NAME` makes a host's view,
# `mounts.sh build CMD...` runs CMD with Apptainer in place.
set -euo pipefail

# overlay DIR UPPER LOWER... - DIR stays as it is, below what the LOWERs add; what is
# written to it goes to UPPER. The machine's own DIR is never touched.
overlay() {
  local dir=$1 upper=$2 lower=$1 layer
  shift 2
  for layer in "$@"; do
    lower=$layer:$lower
  done
  mkdir -p "$upper"/{data,work}
  # Who may enter DIR is read from the uppermost layer.
  chmod --reference="$dir" "$upper/data"
  mount -t overlay overlay \
    -o "lowerdir=$lower,upperdir=$upper/data,workdir=$upper/work" "$dir"
}

overlay_apptainer() {
  local upper=$1 apptainer
  apptainer=$(apptainer_dir)
  overlay /usr "$upper/usr" "$apptainer/usr"
  overlay /var/lib "$upper/var-lib" "$apptainer/var/lib"
}

# fuse: ordinary users may mount images, as on a real system, whatever the machine
# says of its own device file.
bind_devices() {
  [[ -e /dev/fuse ]] || die 'the kernel has no FUSE (/dev/fuse)'
  mount --bind "$STATE/dev/fuse" /dev/fuse
}

make_host() {
  local host=$1 upper=$STATE/upper/$1
  hostname "$host"
  overlay_apptainer "$upper"
  overlay /etc "$upper/etc" "$(apptainer_dir)/etc" "$STATE/etc"
  printf '%s\n' "$host" >/etc/hostname
  bind_devices
  # A new sysfs shows the interfaces of the new network namespace; runc wants cgroups in it.
  mkdir -p "$upper/cgroup"
  mount --rbind /sys/fs/cgroup "$upper/cgroup"
  umount -l /sys
  mount -t sysfs sysfs /sys
  mount --rbind "$upper/cgroup" /sys/fs/cgroup
  [[ $host == "$LOGIN" ]] && return
  # Nodes share no scratch and no memory with one another, nor with login.
  mount -t tmpfs -o mode=1777 tmpfs /tmp
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  # Podman shares it with whoever shares memory; on a real node systemd mounts it.
  mkdir -p /dev/mqueue
  mount -t mqueue mqueue /dev/mqueue
}

# with_apptainer CMD... - for building images, before any host exists.
with_apptainer() {
  unshare --mount -- "$HERE/mounts.sh" build "$@"
}

main() {
  local what=$1 upper
  shift
  case $what in
    host) make_host "$@" ;;
    build)
      upper=$(mktemp -d "$STATE/build.XXXXXX")
      overlay_apptainer "$upper"
      overlay /etc "$upper/etc" "$(apptainer_dir)/etc"
      exec "$@"
      ;;
  esac
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  source "${BASH_SOURCE[0]%/*}/lib.sh"
  source "$HERE/apptainer.sh"
  main "$@"
fi
