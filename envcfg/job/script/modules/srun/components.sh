# shellcheck shell=bash # srun/components 2: Slurm: steps in chosen components of a heterogeneous job
# reads: ENVCFG_COMPONENTS
envcfg_components() { # the step runs in these parts of a heterogeneous job, which have numbers of their own
  local envcfg_component envcfg_name envcfg_own envcfg_list=''
  ENVCFG_JOB_NODES=0
  for envcfg_component in ${ENVCFG_COMPONENTS//,/ }; do
    envcfg_own=SLURM_JOB_NUM_NODES_HET_GROUP_$envcfg_component
    if [[ ${!envcfg_own-} == *[!0-9]* || -z ${!envcfg_own-} ]]; then
      envcfg_fault "this job has no component $envcfg_component" 'a line "#SBATCH hetjob" begins each but the first, which is 0'
      return
    fi
    ENVCFG_JOB_NODES=$((ENVCFG_JOB_NODES + ${!envcfg_own}))
    envcfg_own=SLURM_JOB_NODELIST_HET_GROUP_$envcfg_component
    envcfg_list+=,${!envcfg_own-}
  done
  SLURM_JOB_NODELIST=${envcfg_list#,}
  for envcfg_name in SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_CPUS_PER_TASK SLURM_GPUS_PER_NODE SLURM_GPUS; do
    unset -v "$envcfg_name" # the first component's; those of several srun reads by itself
    envcfg_own=${envcfg_name}_HET_GROUP_${ENVCFG_COMPONENTS%%,*}
    if [[ $ENVCFG_COMPONENTS != *,* && -n ${!envcfg_own-} ]]; then
      printf -v "$envcfg_name" '%s' "${!envcfg_own}"
    fi
  done
  unset -v SLURM_GPUS_ON_NODE SLURM_JOB_GPUS
  ENVCFG_NODES=$ENVCFG_JOB_NODES
}

envcfg_components_host() { # COMMAND...: run it once on each of their nodes, also where one fails, and end this shell
  local envcfg_component envcfg_own envcfg_code=0
  for envcfg_component in ${ENVCFG_COMPONENTS//,/ }; do
    envcfg_own=SLURM_JOB_NUM_NODES_HET_GROUP_$envcfg_component
    srun --overlap --het-group="$envcfg_component" --mem=0 --nodes="${!envcfg_own}" \
      --ntasks="${!envcfg_own}" --ntasks-per-node=1 --export=ALL "$@" </dev/null || envcfg_code=$?
  done
  exit "$envcfg_code"
}
