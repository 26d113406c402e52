# shellcheck shell=bash

envcfg_colons() { # COMMAND...: set ENVCFG_WORDS to it; what starts the tasks takes a word ":" for its end
  local envcfg_word envcfg_more=''
  ENVCFG_WORDS=()
  for envcfg_word; do # the rank part takes one off again
    if [[ -n $envcfg_word && $envcfg_word != *[!:]* ]]; then envcfg_word+=:; fi
    ENVCFG_WORDS+=("$envcfg_word")
  done
  if [[ "${ENVCFG_WORDS[*]}" != "$*" ]]; then envcfg_more=yes; fi
  ENVCFG_ARGS+=("ENVCFG_COLONS=$envcfg_more")
}
