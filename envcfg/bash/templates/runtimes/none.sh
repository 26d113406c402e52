# shellcheck shell=bash

envcfg_enter() { # no container: nothing to enter
  ENVCFG_ENTER=()
}

envcfg_is_clean() { # nothing keeps the task's variables from the program
  return 1
}
