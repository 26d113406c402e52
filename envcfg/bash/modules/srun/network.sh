# shellcheck shell=bash
# envcfg module srun/network 1
# Options of srun's --network, with what the job has asked for.

envcfg_network() { # VALUE: with what the job has asked for, as srun takes all by one option
  case ",$ENVCFG_NETWORK," in
    *",$1,"*) ;;
    *) ENVCFG_NETWORK=${ENVCFG_NETWORK:+$ENVCFG_NETWORK,}$1 ;;
  esac
  ENVCFG_SRUN+=("--network=$ENVCFG_NETWORK") # of several, the last counts
}
