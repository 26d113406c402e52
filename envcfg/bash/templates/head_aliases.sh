# shellcheck shell=bash

# Aliases of the job's shell are not to change what follows; they are back before the step.
ENVCFG_BASHOPTS=$BASHOPTS
\builtin shopt -u expand_aliases
