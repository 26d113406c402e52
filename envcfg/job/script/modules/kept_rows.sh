# shellcheck shell=bash # kept_rows 1: merge the stores of MIOpen that nodes have written, by the Python of the image
# needs: keep_caches
IFS= builtin read -r -d '' ENVCFG_ROWS <<'ENVCFG_TEXT' || builtin :
@merge_rows.py@
ENVCFG_TEXT
