# shellcheck shell=sh

while [ "$#" -gt 0 ]; do # NAME=VALUE | -u NAME, then -- COMMAND
  case $1 in
    --)
      shift
      break
      ;;
    -u)
      unset -v "$2"
      shift
      ;;
    *) export "${1?}" ;;
  esac
  shift
done
