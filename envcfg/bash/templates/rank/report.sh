# shellcheck shell=sh

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
