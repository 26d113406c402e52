# shellcheck shell=sh

envcfg_own() { # PATH...: what is there must be folders of ours, not links
  for envcfg_folder; do
    if [ -h "$envcfg_folder" ] || [ ! -d "$envcfg_folder" ] || [ ! -O "$envcfg_folder" ]; then
      envcfg_fail "$envcfg_folder is not a folder of yours; it will not be used for caches" \
        'remove it, or ask who made it: a link or a foreign folder there can do harm'
    fi
  done
}

envcfg_folders() { # PATH...: make what is not there; ranks that race may all try
  for envcfg_folder; do
    if [ ! -d "$envcfg_folder" ]; then
      # shellcheck disable=SC2174 # those above them are the cache itself, or the user's choice
      mkdir -p -m 700 -- "$@" || envcfg_fail "cannot make the cache folders $*"
      break
    fi
  done
  envcfg_own "$@"
}
