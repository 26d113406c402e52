# shellcheck shell=sh
# In what Flux' tasks and hosts differ from those of others: blocks for their templates.

# envcfg:begin host
read -r envcfg_host </proc/sys/kernel/hostname # Flux does not tell
# envcfg:end host
