# shellcheck shell=sh
# In what tasks and hosts of a PBS job differ from those of others: blocks for their templates.

# envcfg:begin host
read -r envcfg_host </proc/sys/kernel/hostname # mpiexec does not tell
# envcfg:end host
