# shellcheck shell=bash # srun/interface 2: Slurm: ranks meet at the address of a network interface
# ranks: MASTER_ADDR the address of $ENVCFG_INTERFACE on the first node
# reads: ENVCFG_COMPONENTS ENVCFG_INTERFACE; adds: SET=envcfg_master
envcfg_master() { # find the address of $ENVCFG_INTERFACE on the job's first node
  local envcfg_address='' PATH=$PATH:/usr/sbin:/sbin
  if [[ -n ${MASTER_ADDR+set} ]]; then return; fi # the job's own
  local -a envcfg_ask=(ip -4 -o address show dev "$ENVCFG_INTERFACE" scope global)
  local envcfg_node=${ENVCFG_HOSTS[0]-}
  if [[ -z $envcfg_node ]]; then
    read -r envcfg_node < <(scontrol show hostnames "${SLURM_JOB_NODELIST-}" </dev/null) || :
  fi
  if [[ -z $envcfg_node || $envcfg_node == *[!A-Za-z0-9_.-]* ]]; then
    envcfg_fault "SLURM_JOB_NODELIST names no node: '${SLURM_JOB_NODELIST-}'" 'set MASTER_ADDR'
    return
  fi
  if [[ ${SLURMD_NODENAME-} != "$envcfg_node" ]]; then
    envcfg_ask=(--overlap --mem=0 --nodes=1 --ntasks=1 --nodelist="$envcfg_node" "${envcfg_ask[@]}")
    if [[ -n $ENVCFG_COMPONENTS ]]; then envcfg_ask=(--het-group="${ENVCFG_COMPONENTS%%,*}" "${envcfg_ask[@]}"); fi
    envcfg_ask=(srun "${envcfg_ask[@]}")
  fi
  read -r _ _ _ envcfg_address _ < <(unset -v "${!PYXIS_@}" && "${envcfg_ask[@]}" </dev/null) || :
  if [[ -z $envcfg_address ]]; then
    envcfg_fault "node $envcfg_node has no address on $ENVCFG_INTERFACE" \
      'set MASTER_ADDR, or correct rendezvous.interface in the profile'
  fi
  ENVCFG_ARGS+=("ENVCFG_MASTER_NODE=$envcfg_node" "ENVCFG_MASTER_ADDR=${envcfg_address%%/*}")
}

envcfg_in_rank <<'ENVCFG_TEXT'
if ! envcfg_is_preset MASTER_ADDR; then
  [ "$envcfg_node" = "$ENVCFG_MASTER_NODE" ] || envcfg_fail \
    "this step begins on $envcfg_node, but only the address of $ENVCFG_MASTER_NODE is known" \
    'let the step begin on the first node of the job, or set MASTER_ADDR'
  export MASTER_ADDR="$ENVCFG_MASTER_ADDR"
fi
envcfg_address=''
if [ "$NODE_RANK" -eq 0 ]; then envcfg_address=$MASTER_ADDR; fi
ENVCFG_TEXT
