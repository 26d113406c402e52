"""Ranks that train over gloo for a while, with NCCL's lines: sockets.py LINES SECONDS.

A machine without GPUs has no NCCL, so each rank writes the lines in LINES.RANK, as NCCL does:
into the file that NCCL_DEBUG_FILE names, before the first step.
"""

import os
import shutil
import socket
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    lines, seconds = sys.argv[1], float(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    name = os.environ["NCCL_DEBUG_FILE"].replace("%h", socket.gethostname())
    shutil.copyfile(f"{lines}.{rank}", name.replace("%p", str(os.getpid())))
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    end = time.monotonic() + seconds
    is_over = torch.zeros(1)
    while not is_over.item():
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        is_over[0] = time.monotonic() > end
        dist.broadcast(is_over, 0)
        time.sleep(0.05)
    print(f"rank {rank} is done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
