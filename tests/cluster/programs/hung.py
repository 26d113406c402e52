"""Ranks that add numbers over gloo, until one of them does not come: hung.py RANK HOW.

HOW: ``sleep``, ``beat`` (the same, while a thread of rank 0 says that it lives), ``stop`` (by
a signal), ``loop`` (in Python), or ``none``: all go on and on.

PyTorch asks for Flight Recorder's dumps by a thread of its NCCL alone. Here, over gloo, a
thread of ours does as that does: it makes the pipe, and writes the real recorder's dump.
"""

import contextlib
import datetime as dt
import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace

STEPS = 3


def watch(pipe: str, dump: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(pipe)
    os.mkfifo(pipe, 0o600)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    while True:
        with contextlib.suppress(BlockingIOError):
            if os.read(reader, 64):
                trace = _dump_fr_trace()
                with open(dump, "wb") as file:
                    file.write(trace)
        time.sleep(0.5)


def wait_for_nobody() -> None:
    time.sleep(600)


def beat() -> None:
    while True:
        print("alive", flush=True)
        time.sleep(1)


def main() -> None:
    guilty, how = int(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=300))
    rank = dist.get_rank()
    if stem := os.environ.get("TORCH_NCCL_DEBUG_INFO_PIPE_FILE"):
        dump = f"{os.environ['TORCH_NCCL_DEBUG_INFO_TEMP_FILE']}{rank}"
        threading.Thread(
            target=watch, args=(f"{stem}{rank}.pipe", dump), daemon=True
        ).start()
    numbers = torch.ones(16)
    for step in range(STEPS):
        dist.all_reduce(numbers)
        print(f"rank {rank} step {step}", flush=True)
    if rank == 0 and how == "beat":
        threading.Thread(target=beat, daemon=True).start()
    if rank == guilty:
        if how in ("sleep", "beat"):
            wait_for_nobody()
        if how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        while how == "loop":
            pass
    print(f"rank {rank} goes on", flush=True)
    dist.all_reduce(numbers)
    while how == "none":
        dist.all_reduce(numbers)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
