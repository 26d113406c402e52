"""In place of SGLang, which needs GPUs: read its arguments by its own parser, and show them."""

import argparse
import json
import os
import sys

from sglang.srt.server_args import ServerArgs

parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
given = parser.parse_args(sys.argv[2:])
address, _, port = given.dist_init_addr.rpartition(":")
assert int(port) > 1023
print(
    json.dumps(
        {
            "rank": given.node_rank,
            "local": 0,
            "world": given.nnodes,
            "node": os.environ["SLURMD_NODENAME"],
            "address": address,
            "program": sys.argv,
        }
    ),
    flush=True,
)
