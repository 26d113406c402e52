#!/usr/bin/env bash
# The container images: pytorch.sif (Debian, Python 3.11, PyTorch for CPUs),
# frameworks.sif (the same with what people train by on top of it, and JAX; made when a
# test first asks for it), and two with nothing but /bin/sh: busybox.sif (static; its shell runs busybox's applets as if
# they were commands, though no file of theirs is there) and dash.sif (only what POSIX
# wants of a shell). Needs apptainer.sh and mounts.sh.

# Their versions, and the sums of the files, are in the locks.
FRAMEWORKS=(accelerate lightning transformers jax)
DEEPSPEED_NEEDS=(einops hjson msgpack ninja packaging psutil py-cpuinfo pydantic tqdm)
LOCKS=$HERE/../../requirements

# images.sh makes the images, apptainer.sh the Apptainer that packs them.
images_dir() {
  printf '%s/images-%s\n' "$CACHE" "$(key_of "$HERE/images.sh" "$HERE/apptainer.sh" \
    "$LOCKS"/{images-cpu,images-cuda,sources}.txt)"
}

ensure_images() {
  local dir
  dir=$(images_dir)
  if [[ -d $dir ]]; then touch "$dir"; else with_work build_images "$dir"; fi
}

# DeepSpeed's operator takes minutes to compile, and few tests need this image.
ensure_frameworks() {
  local dir
  dir=$(images_dir)
  [[ -e $dir/frameworks.sif ]] || with_work build_frameworks "$dir"
}

# with_work CMD TARGET - CMD gets a work folder with Debian and the wheels, and TARGET.
with_work() {
  local work
  work=$(mktemp -d "$CACHE/tmp.XXXXXX")
  mkdir -p "$work"/{sif,debian,wheels}
  chmod 755 "$work"/{sif,debian}
  timed 'Debian for the images: debootstrap' fill_debian "$work/debian"
  timed 'wheels for the images' download_wheels "$work"
  "$1" "$work" "$2"
  rm -rf "$work"
}

build_images() { # WORK TARGET
  local work=$1 target=$2
  timed 'image busybox.sif' build_small "$work" busybox /bin/busybox
  timed 'image dash.sif' build_small "$work" dash /bin/dash
  build_python "$work" pytorch torch
  publish "$work/sif" "$target"
}

build_frameworks() { # WORK TARGET
  build_python "$1" frameworks torch "${FRAMEWORKS[@]}" "${DEEPSPEED_NEEDS[@]}"
  mv -- "$1/sif/frameworks.sif" "$2/frameworks.sif"
}

# build_python WORK NAME PACKAGE... - an image of Debian, Python and these packages.
build_python() {
  local work=$1 name=$2 root=$1/$2
  shift 2
  cp -a "$work/debian" "$root"
  timed "image $name.sif: pip" pip_install "$root" \
    --no-index --find-links "$work/wheels" "$@"
  if [[ $name == frameworks ]]; then
    timed "image $name.sif: DeepSpeed" install_deepspeed "$work" "$root"
    timed "image $name.sif: Horovod, in Python" unpack_horovod "$work" "$root"
  fi
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
    --include=python3,libgomp1 bookworm "$root" "$(debian_mirror)" >"$LOGS/debootstrap.log" 2>&1 || {
    tail -n 20 "$LOGS/debootstrap.log" >&2
    die 'debootstrap failed'
  }
  # Device files do not belong in an image: the runtime brings its own.
  find "$root/dev" "$root/var/cache/apt" "$root/var/lib/apt/lists" -mindepth 1 -delete
  write_image_environment "$root"
}

# The machine's Python is the image's Python, so its pip picks the right wheels and the
# bytecode fits.
packages_of() {
  printf '%s/usr/local/lib/python3.11/dist-packages\n' "$1"
}

# pip WORD... - the machine's pip, with the machine's configuration.
pip() {
  [[ $(/usr/bin/python3 -V) == 'Python 3.11.'* ]] \
    || die 'the image needs wheels for Python 3.11: Debian 12 has it as python3'
  PIP_DISABLE_PIP_VERSION_CHECK=1 /usr/bin/python3 -m pip --quiet "$@" >"$LOGS/pip.log" 2>&1
}

pip_failed() { # PURPOSE
  tail -n 20 "$LOGS/pip.log" >&2
  die "pip cannot $1"
}

# pin NAME LOCK - the lines of one package in a lock.
pin() {
  sed -n "/^$1==/,/^    # via/p" "$LOCKS/$2.txt"
}

# download_wheels WORK - all that the lock names, by its hashes. Of PyTorch the build for
# CPUs, if pip's configuration on this machine offers it; else the build with CUDA, which
# also runs on CPUs and is several GB larger.
download_wheels() {
  local work=$1 lock=images-cpu
  pin torch images-cpu >"$work/torch.txt"
  if ! pip download --no-deps --require-hashes --dest "$work/wheels" -r "$work/torch.txt"; then
    grep -q 'No matching distribution found for torch' "$LOGS/pip.log" \
      || pip_failed "download PyTorch"
    lock=images-cuda
    log "pip finds no PyTorch for CPUs here: the build with CUDA is taken"
  fi
  retry 3 pip download --require-hashes --dest "$work/wheels" -r "$LOCKS/$lock.txt" \
    || pip_failed "download what $lock.txt locks"
}

# pip_install ROOT WORD... - programs of the packages (torchrun, accelerate) go where they
# are found.
pip_install() {
  local root=$1 packages
  packages=$(packages_of "$1")
  shift
  retry 3 pip install --no-compile --root-user-action=ignore --target "$packages" "$@" \
    || pip_failed "install $*"
  if [[ -d $packages/bin ]]; then
    mv "$packages"/bin/* "$root/usr/local/bin/"
    rmdir "$packages/bin"
  fi
}

# DeepSpeed compiles its operator for CPUs when it is first used, for which an image
# would need a compiler and PyTorch's headers: build it here, with the PyTorch of the
# image.
install_deepspeed() {
  local work=$1 root=$2
  pin deepspeed sources >"$work/deepspeed.txt"
  PYTHONPATH=$(packages_of "$root") DS_BUILD_SHM_COMM=1 DS_ACCELERATOR=cpu \
    pip_install "$root" --no-deps --no-build-isolation --require-hashes \
    -r "$work/deepspeed.txt"
}

# Horovod has no wheel, and its library asks for C++14, which is too old for the headers of
# this PyTorch; what is written in Python, its rendezvous server among it, needs no building.
unpack_horovod() {
  local work=$1 root=$2
  pin horovod sources >"$work/horovod.txt"
  retry 3 pip download --no-deps --no-build-isolation --no-binary horovod \
    --require-hashes --dest "$work/horovod" -r "$work/horovod.txt" \
    || pip_failed 'download Horovod'
  tar --extract --gzip --file "$work"/horovod/horovod-*.tar.gz \
    --directory "$(packages_of "$root")" \
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
