# shellcheck shell=sh

envcfg_first_node() { # LIST: set envcfg_node to the first host of a Slurm node list; fail if it is none
  envcfg_node=''
  envcfg_rest=$1
  while :; do
    case $envcfg_rest in
      '' | ,*) break ;;
      \[*']'*) # of a bracket, what stands before its first comma or dash
        envcfg_item=${envcfg_rest%%]*}
        envcfg_item=${envcfg_item#?}
        envcfg_rest=${envcfg_rest#*]}
        case ,$envcfg_item, in *[!0-9,-]* | *[,-][,-]*) return 1 ;; esac
        case ${envcfg_item%%,*} in *-*-*) return 1 ;; esac
        envcfg_node=$envcfg_node${envcfg_item%%[,-]*}
        ;;
      *)
        envcfg_item=${envcfg_rest%%[[,]*}
        envcfg_rest=${envcfg_rest#"$envcfg_item"}
        case $envcfg_item in '' | *[!A-Za-z0-9_.-]*) return 1 ;; esac
        envcfg_node=$envcfg_node$envcfg_item
        ;;
    esac
  done
  [ -n "$envcfg_node" ]
}
