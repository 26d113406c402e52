# shellcheck shell=bash # inherited 3: one note per step: values that differ between the job's environment and the script
# needs: secrets
envcfg_show() { # NAME VALUE: set envcfg_shown to the value: cut, and quoted if a terminal could take it for more than text
  local LC_ALL=C
  envcfg_shown=$2
  if envcfg_is_secret "$1" "$2"; then
    envcfg_shown='***'
    return
  fi
  if ((${#2} > 80)); then envcfg_shown=${2:0:80}...; fi
  if [[ -z $2 || $2 == *[!A-Za-z0-9_./:,=@%+^-]* ]]; then envcfg_shown=${envcfg_shown@Q}; fi
}

envcfg_from() { # WHOSE NAME VALUE OTHER: keep for the note whose value counts; VALUE is " unset" or begins with "="
  local envcfg_shown=unset
  if [[ $3 == =* ]]; then envcfg_show "$2" "${3:1}"; fi
  ENVCFG_FROM[$1]+=", $2${3:0:1}$envcfg_shown ($4)"
}

envcfg_differs() { # WHOSE {NAME VALUE | -u NAME}: the same, where the job has another
  local envcfg_name=${2/#-u/"$3"} envcfg_value="=$3" envcfg_shown=unset
  if [[ $2 == -u ]]; then envcfg_value=' unset'; fi
  if [[ -z ${!envcfg_name+set} || =${!envcfg_name} == "$envcfg_value" ]]; then return; fi
  if [[ $1 != 'your environment' ]]; then
    envcfg_show "$envcfg_name" "${!envcfg_name}"
    envcfg_from "$1" "$envcfg_name" "$envcfg_value" "your environment: $envcfg_shown"
    return
  fi
  if [[ $2 != -u ]]; then envcfg_show "$envcfg_name" "$3"; fi
  envcfg_from "$1" "$envcfg_name" "=${!envcfg_name}" "profile: $envcfg_shown"
}

envcfg_inherited() { # say it once, at the start of a step
  local envcfg_whose envcfg_said=''
  for envcfg_whose in 'your environment' 'the profile' 'your options'; do
    envcfg_said+=${ENVCFG_FROM[$envcfg_whose]+"; from $envcfg_whose: ${ENVCFG_FROM[$envcfg_whose]:2}"}
  done
  if [[ -n $envcfg_said ]]; then envcfg_note "${envcfg_said:2}"; fi
}
