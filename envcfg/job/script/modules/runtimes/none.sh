# shellcheck shell=bash # runtimes/none 2: no container
envcfg_enter() { ENVCFG_ENTER=(); }
