# shellcheck shell=sh

# envcfg:begin lightning
# Only a scheduler's own words make Lightning refuse a step.
# envcfg:end lightning
