# shellcheck shell=bash # modules 3: load modules in the shell of the step
# adds: BEFORE=envcfg_load
ENVCFG_UNLOADED=''

envcfg_has_modules() { # whether there is a module command; if need be its own file defines it
  local - envcfg_folder
  set +eu
  for envcfg_folder in "${LMOD_PKG-}" "${MODULESHOME-}"; do
    if [[ -n $envcfg_folder && -r $envcfg_folder/init/bash ]] && ! type -t module >/dev/null; then
      # shellcheck disable=SC1091 # it is the system's
      builtin source "$envcfg_folder/init/bash" </dev/null >&2
    fi
  done
  type -t module >/dev/null
}

envcfg_module() { # ACTION NAME [own]: what the profile has may be missing, what the user wants not
  local - envcfg_code=0
  case $1 in # done already, with any version where none is named?
    load) [[ :${LOADEDMODULES-}: != *":$2"[:/]* ]] ;;
    unload) [[ :${LOADEDMODULES-}: == *":$2"[:/]* ]] ;;
    use) [[ :${MODULEPATH-}: != *":$2:"* ]] ;;
  esac || return 0
  if ! envcfg_has_modules; then
    if [[ -z ${3-} ]]; then
      ENVCFG_UNLOADED+=", module $1 $2"
    else
      envcfg_fault "no module command here, so --module $2 is not loaded" \
        'source the file by which the system defines it before, as login shells do'
    fi
    return
  fi
  set +eu +o pipefail # they are not made for it
  module "$1" "$2" </dev/null >&2 || envcfg_code=$?
  envcfg_plain # a module may have brought functions and another separator
  if ((envcfg_code == 0)); then return; fi
  if [[ -n ${3-} ]]; then
    envcfg_fault "module $1 $2 failed" 'module avail shows what there is'
  else
    envcfg_note "module $1 $2, which the profile wants, failed: the step goes on without it"
  fi
}

envcfg_load() {
  envcfg_modules
  envcfg_unloaded
}

envcfg_unloaded() { # say what is not loaded where there is no module command, once
  if [[ -n $ENVCFG_UNLOADED ]]; then envcfg_note "no module command here, so this is left out: ${ENVCFG_UNLOADED:2}"; fi
  ENVCFG_UNLOADED=''
}
