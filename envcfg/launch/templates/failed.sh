# shellcheck shell=bash
# envcfg wrap has failed. Sourced, evaluated or run, this text says so and fails; a shell
# that nobody sits at ends here, so that a job does not go on without its step.
# envcfg:begin message
printf '%s\n' 'envcfg: error' >&2
# envcfg:end message
