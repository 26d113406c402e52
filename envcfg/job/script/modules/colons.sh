# shellcheck shell=bash # colons 2: protect words of colons, which some starters read as the end of a program
ENVCFG_STEP=envcfg_colons

envcfg_colons() { # COMMAND...: give each such word one colon more, which the rank part takes off again
  local envcfg_word envcfg_more=''
  local -a envcfg_words=()
  for envcfg_word; do
    if [[ -n $envcfg_word && $envcfg_word != *[!:]* ]]; then envcfg_word+=:; fi
    envcfg_words+=("$envcfg_word")
  done
  if [[ "${envcfg_words[*]}" != "$*" ]]; then envcfg_more=yes; fi
  ENVCFG_ARGS+=("ENVCFG_COLONS=$envcfg_more")
  envcfg_step "${envcfg_words[@]}"
}

envcfg_in_rank <<'ENVCFG_TEXT'
if [ -n "$ENVCFG_COLONS" ]; then # a word of colons has one more than it was given
  for envcfg_word; do
    shift
    case $envcfg_word in
      '' | *[!:]*) ;;
      *) envcfg_word=${envcfg_word#:} ;;
    esac
    set -- "$@" "$envcfg_word"
  done
fi
unset -v ENVCFG_COLONS
ENVCFG_TEXT
