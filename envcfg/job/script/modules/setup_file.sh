# shellcheck shell=bash # setup_file 2: run the user's file before the program (--setup FILE)
# reads: ENVCFG_SETUP
ENVCFG_RANK+=envcfg_file=${ENVCFG_SETUP@Q}$'\n'
envcfg_in_rank <<'ENVCFG_TEXT'
[ -r "$envcfg_file" ] || envcfg_fail "$envcfg_file cannot be read, which --setup names" \
  'give the path as it is inside the container'
envcfg_words=("$@") # in no function, where declare would make local variables
set --
# shellcheck disable=SC1090 # the user's own
. "$envcfg_file" || envcfg_fail 'what --setup gives has failed' \
  'try it in a shell in the container'
set -- "${envcfg_words[@]}"
set +eu # whatever it has changed of the shell itself
unset -v IFS envcfg_words
ENVCFG_TEXT
