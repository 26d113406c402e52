# shellcheck shell=bash # pbs/interface 2: PBS: ranks meet at the address of a network interface
# ranks: MASTER_ADDR the address of $ENVCFG_INTERFACE on the first node
# reads: ENVCFG_INTERFACE; adds: SET=envcfg_master
envcfg_master() { # find the address of $ENVCFG_INTERFACE on the job's first node
  local envcfg_address='' ENVCFG_NODES=1 PATH=$PATH:/usr/sbin:/sbin
  local -a envcfg_ask=(ip -4 -o address show dev "$ENVCFG_INTERFACE" scope global)
  if [[ -n ${MASTER_ADDR+set} ]]; then return; fi # the job's own
  if ! envcfg_is_here "$ENVCFG_MASTER_ADDR"; then
    envcfg_sized 1
    envcfg_ask=(mpiexec "${ENVCFG_SIZED[@]}" "${envcfg_ask[@]}")
  fi
  read -r _ _ _ envcfg_address _ < <("${envcfg_ask[@]}" </dev/null) || :
  if [[ -z $envcfg_address ]]; then
    envcfg_fault "node $ENVCFG_MASTER_ADDR has no address on $ENVCFG_INTERFACE" \
      'set MASTER_ADDR, or correct rendezvous.interface in the profile'
  fi
  ENVCFG_MASTER_ADDR=${envcfg_address%%/*}
}

envcfg_in_rank <<'ENVCFG_TEXT'
envcfg_address=''
if [ "$NODE_RANK" -eq 0 ]; then envcfg_address=$MASTER_ADDR; fi
ENVCFG_TEXT
