#!/usr/bin/env bash
# What stands for software that cannot be installed here; tests/runtimes/README.md says for what.

STANDINS=$STATE/standins

make_standins() {
  mkdir -p "$STANDINS"
  install -m 644 "$HERE/standins/container_plugin.py" "$STANDINS/"
  gcc -shared -fPIC -O1 -Wall -Wextra -Werror \
    -DREADER="\"$STANDINS/container_plugin.py\"" \
    -o "$STANDINS/container_plugin.so" "$HERE/standins/container_plugin.c"
}
