# shellcheck shell=sh

# Every temporary file is made in a folder that this makes. The name is random, and mkdir
# without -p refuses what is already there, also a link: nobody else can have put it there.
envcfg_place() { # FOLDER: make a folder in it that only its owner may enter; set envcfg_placed to its path
  envcfg_placed=
  IFS= read -r envcfg_random </proc/sys/kernel/random/uuid || return
  envcfg_placed=$1/.envcfg-$envcfg_random # before mkdir, as a signal may come behind it
  (command umask 077 && exec mkdir -m 700 -- "$envcfg_placed") 2>/dev/null \
    && [ -d "$envcfg_placed" ] && ! [ -h "$envcfg_placed" ] && [ -O "$envcfg_placed" ] && return
  envcfg_placed=
  return 1
}

envcfg_unplace() { # remove that folder, if there is one
  [ -z "${envcfg_placed-}" ] || rm -rf -- "$envcfg_placed"
}
