#!/usr/bin/env bash
# The container images: pytorch.sif (Debian, Python 3.11, PyTorch for CPUs), and two
# with nothing but /bin/sh: busybox.sif (static; its shell runs busybox's applets as if
# they were commands, though no file of theirs is there) and dash.sif (only what POSIX
# wants of a shell). Needs apptainer.sh and mounts.sh.

PYTHON_PACKAGES=(torch==2.13.0)
DEBIAN_MIRROR=http://deb.debian.org/debian

# images.sh makes the images, apptainer.sh the Apptainer that packs them.
images_dir() {
  printf '%s/images-%s\n' "$CACHE" "$(key_of "$HERE/images.sh" "$HERE/apptainer.sh")"
}

ensure_images() {
  local dir
  dir=$(images_dir)
  [[ -d $dir ]] || build_images "$dir"
}

build_images() {
  local target=$1 work
  work=$(mktemp -d "$CACHE/tmp.XXXXXX")
  mkdir -p "$work"/{sif,pytorch}
  chmod 755 "$work"/{sif,pytorch}
  timed 'image busybox.sif' build_small "$work" busybox /bin/busybox
  timed 'image dash.sif' build_small "$work" dash /bin/dash
  timed 'image pytorch.sif: debootstrap' fill_debian "$work/pytorch"
  timed "image pytorch.sif: ${PYTHON_PACKAGES[*]}" fill_python "$work/pytorch"
  timed 'image pytorch.sif: squash' build_sif "$work/pytorch" "$work/sif/pytorch.sif"
  publish "$work/sif" "$target"
  rm -rf "$work"
}

# build_small WORK NAME SHELL - an image of a shell, and the empty folders and files
# that a runtime mounts things on.
build_small() {
  local work=$1 shell=$3 root=$1/$2 library
  mkdir -p "$root"/{bin,dev,etc,home,proc,root,run,sys,tmp,var/tmp}
  chmod 755 "$root"
  install -m 755 "$shell" "$root/bin/sh"
  # What a shell is linked to; a static one has nothing to say.
  while read -r library; do
    cp -L --parents "$library" "$root"
  done < <(ldd "$shell" 2>/dev/null | grep -o '/[^ ]*' || true)
  : >"$root/etc/passwd"
  : >"$root/etc/group"
  : >"$root/etc/hosts"
  : >"$root/etc/resolv.conf"
  write_image_environment "$root"
  build_sif "$root" "$work/sif/$2.sif"
}

fill_debian() {
  local root=$1
  # A mount namespace of its own: what it mounts is gone with it, even when killed.
  retry 2 unshare --mount -- debootstrap --variant=minbase --include=python3 \
    bookworm "$root" "$DEBIAN_MIRROR" >"$LOGS/debootstrap.log" 2>&1 || {
    tail -n 20 "$LOGS/debootstrap.log" >&2
    die 'debootstrap failed'
  }
  # Device files do not belong in an image: the runtime brings its own.
  find "$root/dev" "$root/var/cache/apt" "$root/var/lib/apt/lists" -mindepth 1 -delete
  write_image_environment "$root"
}

# The machine's Python is the image's Python, so its pip picks the right wheels and the
# bytecode fits: with that, without what only developers of PyTorch use, and with lz4
# for packing, `import torch` takes 1.6 s instead of 3.2. ENVCFG_CLUSTER_PIP adds
# options for pip, such as an index with wheels for CPUs.
fill_python() {
  local root=$1 options=() packages=$1/usr/local/lib/python3.11/dist-packages
  [[ $(/usr/bin/python3 -V) == 'Python 3.11.'* ]] \
    || die 'the image needs wheels for Python 3.11: Debian 12 has it as python3'
  read -ra options <<<"${ENVCFG_CLUSTER_PIP:-}"
  PIP_DISABLE_PIP_VERSION_CHECK=1 retry 3 /usr/bin/python3 -m pip install \
    --quiet --no-cache-dir --no-compile --root-user-action=ignore \
    --target "$packages" "${options[@]}" "${PYTHON_PACKAGES[@]}" >"$LOGS/pip.log" 2>&1 || {
    tail -n 20 "$LOGS/pip.log" >&2
    die "cannot install ${PYTHON_PACKAGES[*]}"
  }
  rm -rf "$packages"/torch/{include,test}
  find "$packages/torch/bin" -type f ! -name torch_shm_manager -delete
  # Some files that were never meant to compile do not.
  /usr/bin/python3 -m compileall -qq -j0 -s "$root" -p / \
    "$root/usr/lib/python3.11" "$packages" || true
}

# Wrong on purpose: whoever starts a job must win over what an image brings along.
# IMAGE_OWN alone is nobody else's business and must survive.
write_image_environment() {
  local env=$1/.singularity.d/env
  mkdir -p "$env"
  cat >"$env/90-environment.sh" <<'ENVIRONMENT'
#!/bin/sh
export NCCL_SOCKET_IFNAME=wrong0
export NCCL_NET=Wrong
export MIOPEN_USER_DB_PATH=/wrong
export HIP_VISIBLE_DEVICES=7
export IMAGE_OWN=kept
ENVIRONMENT
  chmod 755 "$env/90-environment.sh"
}

build_sif() {
  local root=$1 sif=$2
  with_apptainer apptainer build --mksquashfs-args '-comp lz4' "$sif" "$root" \
    >"$LOGS/build.log" 2>&1 || {
    tail -n 20 "$LOGS/build.log" >&2
    die "cannot build ${sif##*/}"
  }
  chmod 644 "$sif"
}
