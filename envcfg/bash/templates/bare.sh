# shellcheck shell=bash

envcfg_enter() { # no container: nothing to enter
  ENVCFG_ENTER=()
}
