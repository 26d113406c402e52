# shellcheck shell=bash
# envcfg module begin 1
# Only this bash will do, and no alias of the job's shell may change what follows.

case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac
ENVCFG_BASHOPTS=$BASHOPTS
\builtin shopt -u expand_aliases

# Empty, unless the job's part says otherwise.
ENVCFG_ALLOWED='' ENVCFG_CLUSTERS='' ENVCFG_COMPONENTS='' ENVCFG_CPUS='' ENVCFG_GPUS='' ENVCFG_IMAGE='' ENVCFG_INTERFACE=''
ENVCFG_IS_FILE='' ENVCFG_KNOWN='' ENVCFG_LOG_ENDS='' ENVCFG_MASKS='' ENVCFG_NODES_STATED='' ENVCFG_RANKS='' ENVCFG_REPORTED=''
ENVCFG_TESTED='' ENVCFG_VERB=''
