# shellcheck shell=sh
# In what tasks of this machine differ from those of others: blocks for their templates.

# envcfg:begin host
envcfg_host=local
# envcfg:end host
