# shellcheck shell=bash # exports 1: variables for hooks of the runtime
# defines: envcfg_export
envcfg_export() { # NAME VALUE: hooks read it before there is a container; what the job has set wins
  envcfg_differs 'your environment' "$1" "$2"
  export "$1=${!1-$2}"
}
