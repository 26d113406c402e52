#!/usr/bin/env bash
# The container images: pytorch.sif (Debian, Python 3.11, PyTorch for CPUs),
# frameworks.sif (the same with what people train by on top of it, and JAX), and two
# with nothing but /bin/sh: busybox.sif (static; its shell runs busybox's applets as if
# they were commands, though no file of theirs is there) and dash.sif (only what POSIX
# wants of a shell). Needs apptainer.sh and mounts.sh.

PYTORCH=torch==2.13.0
FRAMEWORKS=(accelerate==1.15.0 lightning==2.6.6 transformers==5.23.0 jax==0.10.2)
DEEPSPEED=deepspeed==0.19.8
DEEPSPEED_NEEDS=(einops hjson msgpack ninja packaging psutil py-cpuinfo pydantic tqdm)
HOROVOD=horovod==0.28.1
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
  mkdir -p "$work"/{sif,debian,pip}
  chmod 755 "$work"/{sif,debian}
  timed 'image busybox.sif' build_small "$work" busybox /bin/busybox
  timed 'image dash.sif' build_small "$work" dash /bin/dash
  timed 'Debian for the images: debootstrap' fill_debian "$work/debian"
  build_python "$work" pytorch "$PYTORCH"
  build_python "$work" frameworks "$PYTORCH" "${FRAMEWORKS[@]}" "${DEEPSPEED_NEEDS[@]}"
  publish "$work/sif" "$target"
  rm -rf "$work"
}

# build_python WORK NAME PACKAGE... - an image of Debian, Python and these packages.
build_python() {
  local work=$1 name=$2 root=$1/$2
  shift 2
  cp -a "$work/debian" "$root"
  timed "image $name.sif: pip" pip_install "$work/pip" "$root" "$@"
  [[ $name != frameworks ]] \
    || timed "image $name.sif: $DEEPSPEED" install_deepspeed "$work/pip" "$root"
  [[ $name != frameworks ]] \
    || timed "image $name.sif: $HOROVOD, in Python" unpack_horovod "$work/pip" "$root"
  timed "image $name.sif: bytecode" compile_python "$root"
  timed "image $name.sif: squash" build_sif "$root" "$work/sif/$name.sif"
  rm -rf "$root"
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
  retry 2 unshare --mount -- debootstrap --variant=minbase \
    --include=python3,libgomp1 bookworm "$root" "$DEBIAN_MIRROR" >"$LOGS/debootstrap.log" 2>&1 || {
    tail -n 20 "$LOGS/debootstrap.log" >&2
    die 'debootstrap failed'
  }
  # Device files do not belong in an image: the runtime brings its own.
  find "$root/dev" "$root/var/cache/apt" "$root/var/lib/apt/lists" -mindepth 1 -delete
  write_image_environment "$root"
}

# The machine's Python is the image's Python, so its pip picks the right wheels and the
# bytecode fits. ENVCFG_CLUSTER_PIP adds options for pip, such as an index with wheels
# for CPUs.
packages_of() {
  printf '%s/usr/local/lib/python3.11/dist-packages\n' "$1"
}

# pip_install CACHE ROOT OPTION-OR-PACKAGE... - what they bring to be called by name
# (torchrun, accelerate) goes where it is found.
pip_install() {
  local cache=$1 root=$2 packages options=()
  packages=$(packages_of "$2")
  shift 2
  [[ $(/usr/bin/python3 -V) == 'Python 3.11.'* ]] \
    || die 'the image needs wheels for Python 3.11: Debian 12 has it as python3'
  read -ra options <<<"${ENVCFG_CLUSTER_PIP:-}"
  PIP_DISABLE_PIP_VERSION_CHECK=1 retry 3 /usr/bin/python3 -m pip install \
    --quiet --cache-dir "$cache" --no-compile --root-user-action=ignore \
    --target "$packages" "${options[@]}" "$@" >"$LOGS/pip.log" 2>&1 || {
    tail -n 20 "$LOGS/pip.log" >&2
    die "cannot install $*"
  }
  if [[ -d $packages/bin ]]; then
    mv "$packages"/bin/* "$root/usr/local/bin/"
    rmdir "$packages/bin"
  fi
}

# DeepSpeed compiles its operator for CPUs when it is first used, for which an image
# would need a compiler and PyTorch's headers: build it here, with the PyTorch of the
# image.
install_deepspeed() {
  local cache=$1 root=$2
  PYTHONPATH=$(packages_of "$root") DS_BUILD_SHM_COMM=1 DS_ACCELERATOR=cpu \
    pip_install "$cache" "$root" --no-deps --no-build-isolation "$DEEPSPEED"
}

# Horovod has no wheel, and its library asks for C++14, which is too old for the headers of
# this PyTorch; what is written in Python, its rendezvous server among it, needs no building.
unpack_horovod() {
  local cache=$1 root=$2 folder options=()
  folder=$(mktemp -d "$cache/horovod.XXXXXX")
  read -ra options <<<"${ENVCFG_CLUSTER_PIP:-}"
  PIP_DISABLE_PIP_VERSION_CHECK=1 retry 3 /usr/bin/python3 -m pip download --quiet --no-deps \
    --no-binary horovod --dest "$folder" "${options[@]}" "$HOROVOD" \
    >"$LOGS/pip.log" 2>&1 || {
    tail -n 20 "$LOGS/pip.log" >&2
    die "cannot get $HOROVOD"
  }
  tar --extract --gzip --file "$folder"/horovod-*.tar.gz --directory "$(packages_of "$root")" \
    --strip-components=1 --wildcards --no-same-owner '*/horovod/*.py'
}

# With bytecode, without what only developers of PyTorch use, and with lz4 for packing,
# `import torch` takes 1.6 s instead of 3.2.
compile_python() {
  local root=$1 packages
  packages=$(packages_of "$root")
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
