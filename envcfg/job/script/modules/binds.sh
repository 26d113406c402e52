# shellcheck shell=bash # binds 2: binds whose source contains variables of the job
# needs: references; defines: envcfg_bind_of
envcfg_bind_of() { # BIND NAMES SOURCE SPEC [own|PATH]: mount what variables of the job tell, where "own" or PATH exists
  local envcfg_word envcfg_rest=$4 envcfg_spec=''
  for envcfg_word in $2; do
    if [[ -z ${!envcfg_word-} && ${5-} == own ]]; then return 0; fi
    envcfg_needed "the bind '$1'" "$envcfg_word" || return 0
  done
  if [[ $3 != /* || $3 == *[[:cntrl:]:,\"\\]* ]]; then
    envcfg_fault "the bind '$1' would be of ${3@Q}, which is no absolute path, or has a colon, comma, quote or backslash" \
      'correct the variable, or drop the bind'
    return 0
  fi
  while [[ $envcfg_rest == */ENVCFG_BIND_SOURCE* ]]; do # the source stands where the runtime wants it
    envcfg_spec+=${envcfg_rest%%/ENVCFG_BIND_SOURCE*}$3
    envcfg_rest=${envcfg_rest#*/ENVCFG_BIND_SOURCE}
  done
  envcfg_spec+=$envcfg_rest
  case ${5-} in
    '') envcfg_bind "$3" "$envcfg_spec" ;;
    own) envcfg_bind_if "$3" "$3" "$envcfg_spec" ;;
    *) envcfg_bind_if "$5" "$3" "$envcfg_spec" ;;
  esac
}
