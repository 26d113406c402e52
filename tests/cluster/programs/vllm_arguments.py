"""In place of vLLM, which needs GPUs: read its arguments by its own parser, and show them."""

import json
import os
import sys

from vllm.entrypoints.common.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

given = make_arg_parser(FlexibleArgumentParser()).parse_args(sys.argv[2:])
assert given.master_port > 1023
assert given.headless == (given.node_rank > 0)
print(
    json.dumps(
        {
            "rank": given.node_rank,
            "local": 0,
            "world": given.nnodes,
            "node": os.environ["SLURMD_NODENAME"],
            "address": given.master_addr,
            "program": sys.argv,
        }
    ),
    flush=True,
)
