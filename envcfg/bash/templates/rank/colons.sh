# shellcheck shell=sh

if [ -n "${ENVCFG_COLONS-}" ]; then # a word of colons has one more than it was given
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
