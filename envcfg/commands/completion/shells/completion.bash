# shellcheck shell=bash
# What a place may hold is asked for when it is completed. What is said is never evaluated.
_envcfg_values() { # KIND
  command envcfg completion --values "$1" -- \
    "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null
}

_envcfg_profiles() { # WORD
  _envcfg_values profiles
  if [[ $1 == */* || $1 == [.~]* ]]; then _envcfg_file "$1"; fi
}
_envcfg_partitions() { _envcfg_values partitions; }
_envcfg_rules() { _envcfg_values rules; }
_envcfg_subjects() { _envcfg_values subjects; }

_envcfg_file() { # WORD, as it is typed
  local word=${1#[\"\']}
  compgen -f -- "${word//\\/}"
}

_envcfg_folder() { # WORD, as it is typed: of folders
  local word=${1#[\"\']}
  compgen -d -- "${word//\\/}"
}

_envcfg() {
  local at last='' layer='' word
  local -a words=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ ${COMP_WORDS[at]} == -- ]]; then
      _envcfg_command "$((at + 1))"
      return
    fi
  done
  # bash takes --name=value for three words; what follows takes it for two.
  for at in "${!COMP_WORDS[@]}"; do
    if [[ ${COMP_WORDS[at]} == = && ${COMP_WORDS[at - 1]} == --?* ]]; then
      if ((at == COMP_CWORD)); then words+=(''); fi
      continue
    fi
    word=${COMP_WORDS[at]}
    if [[ $word == : && " builtin site user project " == *" $last "* ]]; then
      layer=$last: last=$layer # a profile's, which bash takes for a word
      words[${#words[@]} - 1]=$layer
    elif [[ -n $layer && $last == "$layer" ]]; then
      last+=$word
      words[${#words[@]} - 1]=$last
    else
      words+=("$word")
      last=$word
    fi
    if ((at == COMP_CWORD)); then break; fi
  done
  local -a COMP_WORDS=("${words[@]}")
  local COMP_CWORD=$((${#words[@]} - 1))
  _shtab_envcfg
  if [[ -n $layer && $last == "$layer"* ]]; then # what stands before the colon stays
    COMPREPLY=("${COMPREPLY[@]#"$layer"}")
  fi
}

_envcfg_command() { # INDEX: of the program that envcfg is to run
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
    return
  fi
  local word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if ((COMP_CWORD == $1)) && [[ $word != */* ]]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
    return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(_envcfg_file "$word")
}
