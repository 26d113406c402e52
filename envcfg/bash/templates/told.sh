# shellcheck shell=sh

envcfg_told() { # SECTION: print the environment that comes in, without what looks secret
  printf 'envcfg:%s\0' "$1"
  tr '\0\n' '\n\001' \
    | LC_ALL=C grep -Eiv '^[^=]*(KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|PRIVATE)[^=]*=' \
    | tr '\n\001' '\0\n'
}
