# shellcheck shell=sh

export NODE_RANK="$GROUP_RANK" # as torchrun has ordered the nodes
