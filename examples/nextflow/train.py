"""Add up the numbers of a file, a part on each rank: `train.py DATA MODEL`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist

data, model = map(Path, sys.argv[1:])
dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()
part = [float(line) for line in data.read_text().splitlines()[rank::world]]
total = torch.tensor(sum(part), device="cuda" if torch.cuda.is_available() else "cpu")
dist.all_reduce(total)
if rank == 0:  # one rank writes, or the file is a mixture
    model.write_text(f"{total.item():g} by {world} ranks\n")
dist.destroy_process_group()
