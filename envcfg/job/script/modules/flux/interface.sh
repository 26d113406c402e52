# shellcheck shell=bash # flux/interface 2: Flux: ranks meet at the address of a network interface
# ranks: MASTER_ADDR the address of $ENVCFG_INTERFACE on the first node
# reads: ENVCFG_INTERFACE; adds: SET=envcfg_master
envcfg_master() { # find the address of $ENVCFG_INTERFACE on the allocation's first node
  local envcfg_address='' envcfg_node=$ENVCFG_MASTER_ADDR envcfg_number=0 PATH=$PATH:/usr/sbin:/sbin
  if [[ -n ${MASTER_ADDR+set} ]]; then return; fi # the job's own
  envcfg_number=${ENVCFG_CHOSEN[0]-0}
  read -r _ _ _ envcfg_address _ < <(
    flux exec --noinput --dir=/ --rank="$envcfg_number" ip -4 -o address show dev "$ENVCFG_INTERFACE" scope global
  ) || :
  if [[ -z $envcfg_address ]]; then
    envcfg_fault "node $envcfg_node has no address on $ENVCFG_INTERFACE" \
      'set MASTER_ADDR, or correct rendezvous.interface in the profile'
  fi
  ENVCFG_MASTER_ADDR=${envcfg_address%%/*}
}
