# shellcheck shell=bash # srun/steps 3: Slurm: choose nodes of a step
envcfg_chosen() { # the step's nodes are these of the job's
  local envcfg_name
  local -a envcfg_names=()
  while read -r envcfg_name; do
    envcfg_names+=("$envcfg_name")
  done < <(scontrol show hostnames "${SLURM_JOB_NODELIST-}" </dev/null)
  if ((${#envcfg_names[@]} != ENVCFG_JOB_NODES)); then
    envcfg_fault "scontrol names ${#envcfg_names[@]} nodes in '${SLURM_JOB_NODELIST-}', but the job has $ENVCFG_JOB_NODES" \
      'leave out --on, then the step has all nodes'
    return
  fi
  for envcfg_name in "${ENVCFG_CHOSEN[@]}"; do ENVCFG_HOSTS+=("${envcfg_names[envcfg_name]}"); done
  ENVCFG_SRUN+=("--nodelist=$(IFS=, && printf '%s' "${ENVCFG_HOSTS[*]}")")
}

envcfg_overlap() { # the step runs on nodes that others use, too, with what they hold
  ENVCFG_SRUN+=(--overlap --mem=0)
}
