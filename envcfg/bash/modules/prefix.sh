# shellcheck shell=bash
# envcfg module prefix 1
# What the system wants before each command.

ENVCFG_RANK+=$ENVCFG_PREFIX
