# shellcheck shell=bash
# envcfg module begin 2
# No alias of the job's shell may change what follows, and no value that it has from elsewhere.

ENVCFG_BASHOPTS=$BASHOPTS
\builtin shopt -u expand_aliases

# Empty, unless the job's part says otherwise.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_COMPONENTS='' ENVCFG_CPUS='' ENVCFG_GPUS='' ENVCFG_IMAGE=''
ENVCFG_INTERFACE='' ENVCFG_IS_FILE='' ENVCFG_KNOWN='' ENVCFG_LOG_ENDS='' ENVCFG_MASKS='' ENVCFG_NODES_STATED='' ENVCFG_RANKS=''
ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_REPORTED='' ENVCFG_TESTED='' ENVCFG_VERB=''
