# shellcheck shell=bash # end 4: the end of the rank part; give the job's shell back its aliases, options and traps
envcfg_in_rank <<'ENVCFG_TEXT'
unset -v ENVCFG_PRESET ENVCFG_NODES ENVCFG_CACHE_BASE ENVCFG_LOCAL_RANKS \
  ENVCFG_MASTER_NODE ENVCFG_MASTER_ADDR ENVCFG_JOB ENVCFG_SUFFIX ENVCFG_GIVEN
exec "$@"
ENVCFG_TEXT
if [[ -n $ENVCFG_AGENT ]]; then # torch's agent puts ranks for names in its arguments, and makes one $ of two
  ENVCFG_WORKER=${ENVCFG_RANK//'$$'/'$$$$'} ENVCFG_RANK=$ENVCFG_AGENT
fi
envcfg_give_back
