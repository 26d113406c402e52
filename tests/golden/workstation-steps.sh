# envcfg 0.1.0, profile workstation (sha256 c9bb0a2707c25801)
# made by: envcfg wrap --print job --profile workstation --container none
# You can source it in a batch script, evaluate it, run it, or submit it.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   /bin/sh -c "$ENVCFG_RANK" envcfg-rank "MASTER_ADDR=$MASTER_ADDR" \
#     "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" "RANK=$envcfg_rank" \
#     "LOCAL_RANK=$envcfg_rank" "WORLD_SIZE=$envcfg_ranks" \
#     "LOCAL_WORLD_SIZE=$envcfg_ranks" NODE_RANK=0 -- COMMAND...
# Each rank has:
# - RANK: the number of its process
# - LOCAL_RANK: as RANK
# - WORLD_SIZE: --ranks or 1
# - MASTER_ADDR: this machine
# - cores: all of the machine

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_NODES_STATED='' ENVCFG_RANKS='' ENVCFG_SUFFIX=''

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  :
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  :
}

# modules: guard, begin, core, signals, where, secrets, inherited, arguments, local, steps, runtimes/none, local/ranks, local/step, end

envcfg_begin "$@"
