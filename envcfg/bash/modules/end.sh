# shellcheck shell=bash
# envcfg module end 2
# The last words of each rank; then the job's aliases are back.

if [[ -n $ENVCFG_AS_SAID ]]; then # what the runtime keeps from the program is gone again
  ENVCFG_RANK+=$'unset -v ${ENVCFG_GIVEN-}\n'
  for envcfg_name in RANK LOCAL_RANK NODE_RANK WORLD_SIZE LOCAL_WORLD_SIZE; do # and what the job says stays
    if [[ $(builtin declare -p "$envcfg_name" 2>/dev/null) == 'declare -'*x*" $envcfg_name="* ]]; then
      ENVCFG_RANK+="export $envcfg_name='${!envcfg_name//\'/}'"$'\n'
    fi
  done
fi
IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
unset -v ENVCFG_PRESET ENVCFG_NODES ENVCFG_CACHE_BASE ENVCFG_LOCAL_RANKS \
  ENVCFG_MASTER_NODE ENVCFG_MASTER_ADDR ENVCFG_JOB ENVCFG_SUFFIX ENVCFG_GIVEN
exec "$@"
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART
if [[ -n $ENVCFG_AGENT ]]; then # torch's agent puts ranks for names in its arguments, and makes one $ of two
  ENVCFG_WORKER=${ENVCFG_RANK//'$$'/'$$$$'} ENVCFG_RANK=$ENVCFG_AGENT
fi
if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then builtin shopt -s expand_aliases; fi
