# shellcheck shell=bash
# envcfg module pbs/interface 1
# Ranks meet at the address of an interface.

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

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
envcfg_address=''
if [ "$NODE_RANK" -eq 0 ]; then envcfg_address=$MASTER_ADDR; fi
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART
