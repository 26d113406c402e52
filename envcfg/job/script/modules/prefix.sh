# shellcheck shell=bash # prefix 2: a command that the system needs before each program
ENVCFG_RANK+=$ENVCFG_PREFIX
