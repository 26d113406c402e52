# shellcheck shell=bash # tested_modules 1: modules that depend on the number of nodes
# needs: modules; adds: SHAPE=envcfg_load_tested
envcfg_load_tested() {
  envcfg_tested_modules
  envcfg_unloaded
}
