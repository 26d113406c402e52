# shellcheck shell=bash

envcfg_setup || envcfg_fail 'what --setup gives has failed' \
  'try it in a shell in the container'
set +eu # whatever it has changed of the shell itself
unset -v IFS
