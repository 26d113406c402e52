#!/usr/bin/env bash
# Apptainer in the cache, from where each host of the cluster lays it over its own
# /usr and /etc. The machine itself stays without it. Needs packages.sh.

apptainer_dir() {
  printf '%s/apptainer-%s\n' "$CACHE" "$(key_of "$HERE/apptainer.sh")"
}

ensure_apptainer() {
  local dir
  dir=$(apptainer_dir)
  if [[ -d $dir ]]; then touch "$dir"; else timed 'unpacking apptainer' unpack_apptainer "$dir"; fi
}

# Neither bookworm nor trixie has Apptainer: take sid's, with the libc it asks for in
# a folder of its own, through lists of our own. The machine's apt never hears of sid;
# its mirror of Debian must have it.
unpack_apptainer() {
  local target=$1 work libc=/usr/lib/apptainer-libc binary
  work=$(mktemp -d "$CACHE/tmp.XXXXXX")
  mkdir -p "$work"/{lists/partial,cache,deb,libc,root}
  printf 'deb [signed-by=%s] %s sid main\n' \
    /usr/share/keyrings/debian-archive-keyring.gpg \
    "$(debian_mirror)" >"$work/sid.list"
  local sid=(
    -o Dir::Etc::sourcelist="$work/sid.list" -o Dir::Etc::sourceparts=-
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache"
    -o APT::Sandbox::User=root -o Acquire::Languages=none
  )
  retry 3 apt "${sid[@]}" update || die "cannot read the package lists of sid from $(debian_mirror)"
  (cd "$work/deb" && retry 3 apt "${sid[@]}" download apptainer libc6) \
    || die 'cannot download apptainer from sid'

  dpkg-deb -x "$work"/deb/apptainer_*.deb "$work/root"
  dpkg-deb -x "$work"/deb/libc6_*.deb "$work/libc"
  mkdir -p "$work/root$libc"
  cp -a "$work"/libc/usr/lib/x86_64-linux-gnu/*.so* "$work/root$libc/"
  for binary in usr/bin/apptainer usr/lib/x86_64-linux-gnu/apptainer/bin/starter; do
    patchelf --set-interpreter "$libc/ld-linux-x86-64.so.2" \
      --set-rpath "$libc:/usr/lib/x86_64-linux-gnu" "$work/root/$binary"
  done
  ln -s apptainer "$work/root/usr/bin/singularity"
  # What overlays /usr, /etc and /var/lib must not change who may enter them.
  chmod 755 "$work/root" "$work"/root/{usr,etc,var,var/lib}

  publish "$work/root" "$target"
  rm -rf "$work"
}
