# shellcheck shell=bash
# envcfg module setup 1
# The user's own preparation, by --setup.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
envcfg_setup || envcfg_fail 'what --setup gives has failed' \
  'try it in a shell in the container'
set +eu # whatever it has changed of the shell itself
unset -v IFS
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART
