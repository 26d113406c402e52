# shellcheck shell=sh

envcfg_told() { # SECTION: print the environment that comes in, without what looks secret
  printf 'envcfg:%s\0' "$1"
  # "exec": whatever functions there are of these names.
  (exec tr '\0\n' '\n\001') \
    | (LC_ALL=C exec grep -Eiv '^[^=]*(KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|PRIVATE)[^=]*=|^[^=]*=.*://[^/@]*:[^/@]+@') \
    | (exec tr '\n\001' '\0\n')
}
