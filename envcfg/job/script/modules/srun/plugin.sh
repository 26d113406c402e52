# shellcheck shell=bash # srun/plugin 2: Slurm: containers made by a plug-in, with options of srun
envcfg_find_option() { # OPTION NAME: of srun, if NAME is installed
  if [[ $(srun --help </dev/null 2>&1) != *"$1"[=[:space:]]* ]]; then
    envcfg_fault "srun has no option $1: $2 is not installed on ${HOSTNAME:-this host}" \
      'name the runtime that is there with --runtime'
  fi
}

envcfg_bind_here() { # words with a relative path mean in the container what they mean here
  if [[ $PWD == *[,:\$\`\"]* ]]; then
    envcfg_fault "the container cannot have the folder of the job: ${PWD@Q}" \
      'start it in one whose path has none of , : $ ` "'
  elif [[ $PWD != / ]]; then
    envcfg_bind "$PWD"
  fi
}
