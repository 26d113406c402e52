# shellcheck shell=bash # as_said 1: keep a launch line unchanged
ENVCFG_RANK+=$'unset -v ${ENVCFG_GIVEN-}\n'                                  # what the runtime keeps from the program is gone again
for envcfg_name in RANK LOCAL_RANK NODE_RANK WORLD_SIZE LOCAL_WORLD_SIZE; do # and what the job says stays
  if [[ $(builtin declare -p "$envcfg_name" 2>/dev/null) == 'declare -'*x*" $envcfg_name="* ]]; then
    ENVCFG_RANK+="export $envcfg_name='${!envcfg_name//\'/}'"$'\n'
  fi
done
