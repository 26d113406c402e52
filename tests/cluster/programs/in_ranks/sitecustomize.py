"""In each rank that a launcher has started: add the ranks up, print them, and end.

A program of the table starts its ranks by its own code. Its training needs models and GPUs,
and is replaced. Python imports this module at its start if the folder is in PYTHONPATH.

Two things that a launcher may need are not there, and have stand-ins: GPUs, which it counts
(``STANDIN_GPUS=2``), and packages that it imports and does not use (``STANDIN_PACKAGES=a,b``).
"""

import json
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from unittest.mock import MagicMock


class Empty(ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


class Standin(MetaPathFinder, Loader):
    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        packages = os.environ["STANDIN_PACKAGES"].split(",")
        is_missing = name.partition(".")[0] in packages
        return ModuleSpec(name, self, is_package=True) if is_missing else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


if "LOCAL_RANK" in os.environ and "RANK" in os.environ:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    total = torch.tensor([dist.get_rank()])
    dist.all_reduce(total)
    print(
        json.dumps(
            {
                "rank": dist.get_rank(),
                "local": int(os.environ["LOCAL_RANK"]),
                "world": dist.get_world_size(),
                "sum": int(total),
                "node": os.environ["SLURMD_NODENAME"],
                "address": os.environ["MASTER_ADDR"],
                "program": sys.orig_argv,
            }
        ),
        flush=True,
    )
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)
if "STANDIN_PACKAGES" in os.environ:
    sys.meta_path.insert(0, Standin())
if "STANDIN_GPUS" in os.environ:
    import torch

    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: int(os.environ["STANDIN_GPUS"])
