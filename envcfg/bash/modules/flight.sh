# shellcheck shell=bash
# envcfg module flight 1
# The folder for Flight Recorder.

envcfg_flight() { # make the folder of this job: without it, PyTorch ends its ranks
  mkdir -p -- "$ENVCFG_FLIGHT/flight-$ENVCFG_JOB" \
    || envcfg_fault "cannot make the folder $ENVCFG_FLIGHT for Flight Recorder" \
      'name one that you may write to, and that the nodes see'
}
