# What a place may hold is asked for when it is completed. What is said is never evaluated.
_envcfg_values() { # KIND
  local -a found
  found=("${(@f)$(command envcfg completion --values $1 -- "${(@Q)words[1,CURRENT-1]}" \
    "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  compadd -- "${(@)found:#}"
}

_envcfg_profiles() {
  _envcfg_values profiles
  if [[ $PREFIX == (*/*|[.~]*) ]]; then _files; fi
}
_envcfg_file() { _files }
_envcfg_folder() { _files -/ }
_envcfg_partitions() { _envcfg_values partitions }
_envcfg_rules() { _envcfg_values rules }
_envcfg_subjects() { _envcfg_values subjects }

functions[_envcfg_options]=$functions[_shtab_envcfg]
_shtab_envcfg() {
  local at=${words[(i)--]}
  if ((at >= CURRENT)); then
    _envcfg_options "$@"
    return
  fi
  # Behind a --, another program's line begins.
  shift $at words
  ((CURRENT -= at))
  _normal
}
