# shellcheck shell=bash # flight 2: make the folder for Flight Recorder
# needs: place; adds: SET=envcfg_flight
envcfg_flight() { # make the folder of this job: without it, PyTorch ends its ranks
  envcfg_keep "$ENVCFG_FLIGHT" "flight-$ENVCFG_JOB" \
    || envcfg_fault "cannot make the folder $ENVCFG_FLIGHT/flight-$ENVCFG_JOB for Flight Recorder" \
      'name a folder that you may write to, and that all nodes see: --flight-recorder DIR'
}
