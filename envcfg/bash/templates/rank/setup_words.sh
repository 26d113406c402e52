# shellcheck shell=bash

envcfg_setup || envcfg_fail 'what --setup gives has failed' \
  'try it in the container: singularity shell IMAGE'
set +eu # whatever it has changed of the shell itself
unset -v IFS
