# shellcheck shell=bash

if ! command -v envcfg >/dev/null; then
  printf 'envcfg: error: this launch line is not the one that was converted: %s\n' "$*" >&2
  printf '  hint: convert the script again, with the values of the job, or put envcfg on PATH in the job\n' >&2
  exit 4
fi
