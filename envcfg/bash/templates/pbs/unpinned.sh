# shellcheck shell=bash

envcfg_pin() { # the profile has no CPU masks
  envcfg_unbind
}
