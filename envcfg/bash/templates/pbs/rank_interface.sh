# shellcheck shell=sh
# Block of rank.sh where ranks meet at the address of an interface.
# envcfg:begin address
envcfg_address=''
if [ "$NODE_RANK" -eq 0 ]; then envcfg_address=$MASTER_ADDR; fi
# envcfg:end address
