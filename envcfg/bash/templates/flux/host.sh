# shellcheck shell=bash

envcfg_survey() { # what the allocation is: an instance of Flux, with a broker on each node
  ENVCFG_NODES=1 ENVCFG_HOSTS=() ENVCFG_FLUX=() ENVCFG_MASTER_ADDR=''
  if [[ -z ${FLUX_URI-} ]]; then
    envcfg_fault 'this is no Flux allocation: FLUX_URI is not set' \
      'use it in a script of flux batch or under flux alloc, or choose --launcher local'
  elif [[ -n ${FLUX_TASK_RANK-} ]] && ! envcfg_is_leftover; then # such a step would wait for its own nodes
    envcfg_fault 'this is a task of flux run, not the allocation around it' \
      'use it in a script of flux batch or under flux alloc'
  elif ! type -P flux >/dev/null; then
    envcfg_fault 'flux is not on PATH' "load Flux's module, or add its folder to PATH"
  else
    read -r -a ENVCFG_HOSTS < <(flux hostlist --expand instance </dev/null) || :
    ENVCFG_NODES=${#ENVCFG_HOSTS[@]}
    ENVCFG_MASTER_ADDR=${ENVCFG_HOSTS[0]-}
    if ((ENVCFG_NODES == 0)); then
      envcfg_fault 'flux hostlist names no node of this allocation' \
        "see what 'flux hostlist instance' says here; old versions of Flux lack it"
    fi
  fi
}

envcfg_name_job() { # set ENVCFG_JOB, by which the files of this job differ from all others
  ENVCFG_JOB=$(flux getattr jobid 2>/dev/null) || ENVCFG_JOB=local
  ENVCFG_JOB=${ENVCFG_JOB#ƒ} # as Flux marks its ids; what is no id of Flux may have slashes
  ENVCFG_JOB=${ENVCFG_JOB//\//-}
}

envcfg_gpus() { # Flux does not tell how many the allocation has
  :
}

envcfg_overlap() { # a node has one step at a time
  envcfg_fault 'Flux runs no step beside another on the same nodes: --overlap' \
    'let the steps have different nodes (--on), or start both in one'
}

envcfg_host() { # COMMAND...: run it once on each node, beside whatever runs there
  flux exec --noinput --dir=/ "$@"
}
