# shellcheck shell=bash

if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then builtin shopt -s expand_aliases; fi
