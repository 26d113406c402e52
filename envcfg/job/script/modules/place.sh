# shellcheck shell=sh # place 3: make files only in folders that only their owner may enter
# mkdir without -p refuses what is already there, also a link. So nobody else can say where a file goes.
ENVCFG_PLACED=''

envcfg_is_own() { # PATH: whether it is a folder of ours, and no link to one
  [ -d "$1" ] && ! [ -h "$1" ] && [ -O "$1" ]
}

envcfg_place() { # FOLDER: make a folder with a random name in it for a while; set ENVCFG_PLACED to its path
  IFS= read -r ENVCFG_PLACED </proc/sys/kernel/random/uuid || return $?
  ENVCFG_PLACED=$1/.envcfg-$ENVCFG_PLACED # before mkdir, as a signal may come behind it
  if envcfg_make "$ENVCFG_PLACED" && envcfg_is_own "$ENVCFG_PLACED"; then return; fi
  ENVCFG_PLACED=''
  return 1
}

envcfg_unplace() { [ -z "$ENVCFG_PLACED" ] || rm -rf -- "$ENVCFG_PLACED"; } # remove that folder, if there is one

envcfg_make() { # PATH: make this folder, if nothing is there
  (command umask 077 && exec mkdir -m 700 -- "$1") 2>/dev/null
}

envcfg_keep() { # FOLDER NAME: make a folder in FOLDER for files that stay, if it is not there
  mkdir -p -- "$1" || return $?
  envcfg_make "$1/$2" || : # an earlier step of the job may have made it
  envcfg_is_own "$1/$2"
}
