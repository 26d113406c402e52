# shellcheck shell=bash

envcfg_master() { # find the address of $ENVCFG_INTERFACE on the job's first node
  local envcfg_address='' PATH=$PATH:/usr/sbin:/sbin
  if [[ -n ${MASTER_ADDR+set} ]]; then return; fi # the job's own
  local -a envcfg_ask=(ip -4 -o address show dev "$ENVCFG_INTERFACE" scope global)
  local envcfg_node=''
  # envcfg:begin size
  envcfg_node=${ENVCFG_HOSTS[0]-}
  # envcfg:end size
  if [[ -z $envcfg_node ]] && ! envcfg_first_node "${SLURM_JOB_NODELIST-}"; then
    envcfg_fault "SLURM_JOB_NODELIST names no node: '${SLURM_JOB_NODELIST-}'" 'set MASTER_ADDR'
    return
  fi
  if [[ ${SLURMD_NODENAME-} != "$envcfg_node" ]]; then
    envcfg_ask=(--overlap --mem=0 --nodes=1 --ntasks=1 --nodelist="$envcfg_node" "${envcfg_ask[@]}")
    # envcfg:begin components
    envcfg_ask=(--het-group="${ENVCFG_COMPONENTS%%,*}" "${envcfg_ask[@]}")
    # envcfg:end components
    envcfg_ask=(srun "${envcfg_ask[@]}")
  fi
  read -r _ _ _ envcfg_address _ < <(unset -v "${!PYXIS_@}" && "${envcfg_ask[@]}" </dev/null) || :
  if [[ -z $envcfg_address ]]; then
    envcfg_fault "node $envcfg_node has no address on $ENVCFG_INTERFACE" \
      'set MASTER_ADDR, or correct rendezvous.interface in the profile'
  fi
  ENVCFG_ARGS+=("ENVCFG_MASTER_NODE=$envcfg_node" "ENVCFG_MASTER_ADDR=${envcfg_address%%/*}")
}
