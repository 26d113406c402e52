# shellcheck shell=sh

envcfg_first_node() { # LIST: set envcfg_node to the first host of a Slurm node list
  envcfg_node=${1%%[[,]*}
  case $1 in
    "${envcfg_node}["*) envcfg_rest=${1#"$envcfg_node"} ;;
    *) return ;; # a plain name, however long the list
  esac
  while :; do
    case $envcfg_rest in
      '' | ,*) return ;;
      \[*) # of a bracket, what stands before its first comma or dash
        envcfg_rest=${envcfg_rest#?}
        envcfg_node=$envcfg_node${envcfg_rest%%[],-]*}
        envcfg_rest=${envcfg_rest#*]}
        ;;
      *)
        envcfg_node=$envcfg_node${envcfg_rest%%[[,]*}
        envcfg_rest=${envcfg_rest#"${envcfg_rest%%[[,]*}"}
        ;;
    esac
  done
}
