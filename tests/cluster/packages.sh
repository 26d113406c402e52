#!/usr/bin/env bash
# The Debian packages that the cluster needs on the machine.

PACKAGES=(
  slurmctld slurmd slurm-client munge tini
  iproute2 util-linux procps ca-certificates python3 python3-pip
  debian-archive-keyring debootstrap busybox-static patchelf
  squashfs-tools squashfuse fuse2fs fuse-overlayfs uidmap
  containernetworking-plugins
  gocryptfs                # without it every `exec` says so on stderr
  libseccomp2 libsqlite3-0 # linked by Apptainer
  strace                   # tests count what an entrypoint does
  g++ libpython3.11-dev    # DeepSpeed's operator is compiled
  libslurm-dev             # a plug-in of ours, too
  mpich openmpi-bin        # their mpiexec starts ranks as on systems with PBS
  charliecloud-runtime podman runc
  lmod # tests load modules by it
)

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 "$@"
}

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

ensure_packages() {
  local package missing=()
  for package in "${PACKAGES[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]} == 0)) || timed "installing ${#missing[@]} packages" \
    install_packages "${missing[@]}"
}

# Debian starts a daemon as soon as it is installed; ours run in namespaces only.
install_packages() {
  local policy=/usr/sbin/policy-rc.d ours='' status=0
  if [[ ! -e $policy ]]; then
    ours=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  {
    retry 3 apt update && retry 3 apt install -y --no-install-recommends "$@"
  } >"$LOGS/apt.log" 2>&1 </dev/null || status=$?
  [[ -z $ours ]] || rm -f "$policy"
  ((status == 0)) && return
  tail -n 20 "$LOGS/apt.log" >&2
  die "cannot install: $*"
}
