# shellcheck shell=bash
# envcfg module setup_file 1
# The user's own preparation, a file that --setup names.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
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
ENVCFG_RANK+=$ENVCFG_PART
