# shellcheck shell=bash # setup 2: run the user's commands before the program (--setup)
# reads: ENVCFG_SETUP
ENVCFG_RANK+=$'envcfg_setup() {\n'$ENVCFG_SETUP$'\n}\n'
envcfg_in_rank <<'ENVCFG_TEXT'
envcfg_setup || envcfg_fail 'what --setup gives has failed' 'try it in a shell in the container'
set +eu # whatever it has changed of the shell itself
unset -v IFS
ENVCFG_TEXT
