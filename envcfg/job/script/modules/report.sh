# shellcheck shell=bash # report 3: write the environment of some ranks to files: docs/environment.md
# needs: place share secrets; reads: ENVCFG_PROFILE ENVCFG_REPORTED; adds: SET=envcfg_report
envcfg_told() { # SECTION: print the environment that comes in, without what looks secret
  printf 'envcfg:%s\0' "$1"
  # "exec": whatever functions there are of these names.
  (exec tr '\0\n' '\n\001') \
    | (LC_ALL=C exec grep -Eiv "$ENVCFG_SECRET_LINES") \
    | (LC_ALL=C exec grep -Ev "$ENVCFG_SECRET_VALUES") \
    | (exec tr '\n\001' '\0\n')
}

envcfg_report() { # begin the file of each rank that reports its environment: plan and job
  local envcfg_rank envcfg_name=envcfg-environment-$ENVCFG_JOB.$BASHPID
  local envcfg_file=$PWD/$envcfg_name/rank
  ENVCFG_ARGS+=("ENVCFG_REPORT=$envcfg_file")
  for envcfg_rank in $ENVCFG_REPORTED; do
    if ! {
      envcfg_keep "$PWD" "$envcfg_name" && (umask 077 && : >"$envcfg_file$envcfg_rank") && {
        printf '%s\0' envcfg:environment "profile=$ENVCFG_PROFILE" "rank=$envcfg_rank" "nodes=$ENVCFG_NODES" envcfg:plan
        envcfg_plan
        # Of a process that starts now.
        (envcfg_share && exec cat /proc/self/environ) | envcfg_told job
      } >"$envcfg_file$envcfg_rank"
    }; then
      envcfg_fault "cannot write $envcfg_file$envcfg_rank" \
        'start the job in a folder that you may write to, and that the nodes see'
      return
    fi
  done
}

# In a line NAME=VALUE the end of the name is "=".
ENVCFG_SECRET_LINES="^[^=]*(${ENVCFG_SECRET_NAMES//'$'/=})"
ENVCFG_RANK+="ENVCFG_SECRET_LINES=${ENVCFG_SECRET_LINES@Q} ENVCFG_SECRET_VALUES=${ENVCFG_SECRET_VALUES@Q}"$'\n'
ENVCFG_RANK+=$(\builtin declare -f envcfg_told)$'\n'
envcfg_in_rank <<'ENVCFG_TEXT'
# What this task was started with, and what its program gets: held against the plan by
# "envcfg environment FILE".
envcfg_file=$ENVCFG_REPORT$RANK
unset -v ENVCFG_REPORT
case $envcfg_reported in
  *" $RANK "*)
    # As it was begun, and by no link to another.
    [ -O "$envcfg_file" ] && ! [ -h "$envcfg_file" ] && {
      envcfg_told start </proc/self/environ \
        && (exec cat /proc/self/environ) | envcfg_told rank \
        && printf 'envcfg:end\0' # of a process that starts now; all is there
    } >>"$envcfg_file" || printf 'envcfg: warning: cannot write %s\n' "$envcfg_file" >&2
    ;;
esac
ENVCFG_TEXT
