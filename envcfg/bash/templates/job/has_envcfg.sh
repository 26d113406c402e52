# shellcheck shell=bash

if ! command -v envcfg >/dev/null; then
  printf 'envcfg: error: envcfg is not on PATH in the job\n' >&2
  # envcfg:begin inline
  printf '  hint: put it there, or make this script with --inline\n' >&2
  # envcfg:end inline
  exit 127
fi
