# shellcheck shell=bash # srun/network 2: Slurm: combine options of --network with those of the job
# defines: envcfg_network
envcfg_network() { # VALUE: with what the job has asked for, as srun takes all by one option
  case ",$ENVCFG_NETWORK," in
    *",$1,"*) ;;
    *) ENVCFG_NETWORK=${ENVCFG_NETWORK:+$ENVCFG_NETWORK,}$1 ;;
  esac
  ENVCFG_SRUN+=("--network=$ENVCFG_NETWORK") # of several, the last counts
}
