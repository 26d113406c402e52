# shellcheck shell=bash
# envcfg module runtimes/none 1
# No container.

envcfg_enter() { # no container: nothing to enter
  ENVCFG_ENTER=()
}

envcfg_is_clean() { # nothing keeps the task's variables from the program
  return 1
}
