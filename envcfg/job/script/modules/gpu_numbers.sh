# shellcheck shell=bash # gpu_numbers 3: number the GPUs that a mask shows, for programs that read an inner layer
# defines: envcfg_number_gpus
envcfg_own_masks() { # NAME...: remember the masks that the job sets; those of an image do not count
  local envcfg_name
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then ENVCFG_PRESET+="$envcfg_name "; fi
  done
}

envcfg_in_rank worker <<'ENVCFG_TEXT'
# Ray refuses an outer mask without an inner one. A copy of the outer mask in an inner variable would
# mask twice, because the inner numbers count from 0 the GPUs that the outer mask shows.
envcfg_number_gpus() { # MASK {VALUE|-} {NAME VALUE}...: the first NAME gets the numbers, the others are unset
  envcfg_mask=$2 envcfg_inner=$3 envcfg_outer="$1=$2" envcfg_count=0 envcfg_all='' envcfg_ids=''
  envcfg_rest=$2
  case $2 in - | NoDevFiles) envcfg_all=${2#-} envcfg_rest='' ;; esac
  while [ -n "$envcfg_rest" ]; do
    envcfg_all="${envcfg_all:+$envcfg_all,}$envcfg_count"
    envcfg_count=$((envcfg_count + 1))
    case $envcfg_rest in *,*) envcfg_rest=${envcfg_rest#*,} ;; *) envcfg_rest='' ;; esac
  done
  shift 2
  while [ "$#" -gt 1 ]; do # the first that is no copy counts, as in HIP
    unset -v "$1"
    case " $ENVCFG_PRESET " in *" $1 "*) envcfg_is_own=yes ;; *) envcfg_is_own='' ;; esac
    if [ -z "$2" ] || [ "$2" = "$envcfg_mask" ] || [ "$2" = "$envcfg_ids" ]; then
      :
    elif [ -z "$envcfg_is_own" ]; then
      envcfg_drop "$1=$2" "the job" "does not set it" "export $1=$2 in the job script to use it"
    elif [ -n "$envcfg_ids" ]; then
      envcfg_drop "$1=$2" "$envcfg_name=$envcfg_ids" "counts" "unset $1"
    else
      envcfg_name=$1 envcfg_ids=$2 envcfg_rest=$2
      while [ -n "$envcfg_rest" ] && [ "$envcfg_count" -gt 0 ]; do
        case ${envcfg_rest%%,*} in
          '' | *[!0-9]*) ;; # not a number: HIP's names of GPUs are the same in all layers
          *) [ "${envcfg_rest%%,*}" -lt "$envcfg_count" ] || envcfg_ids='' ;;
        esac
        case $envcfg_rest in *,*) envcfg_rest=${envcfg_rest#*,} ;; *) envcfg_rest='' ;; esac
      done
      [ -n "$envcfg_ids" ] || envcfg_drop "$1=$2" "$envcfg_outer" "shows this task $envcfg_count GPUs, numbered $envcfg_all" \
        "unset $1, or give it some of these numbers"
    fi
    shift 2
  done
  if [ "$envcfg_mask" != - ] || [ -n "$envcfg_ids" ]; then export "$envcfg_inner=${envcfg_ids:-$envcfg_all}"; fi
}

envcfg_drop() { # SETTING OTHER REASON HINT: report once per step that a mask of the job is not used
  [ "${RANK:-0}" != 0 ] || printf '%s\n' "envcfg: warning: $1 is ignored, because $2 $3" "  hint: $4" >&2
}
ENVCFG_TEXT
