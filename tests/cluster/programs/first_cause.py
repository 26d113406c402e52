"""Ranks of which one ends as told, while the others wait for it: first_cause.py CASE [HOW].

HOW: ``gloo``: the ranks add numbers up by PyTorch, and those that are left lose the one that
ends; else they sleep until the launcher ends them, which takes no PyTorch in the ranks.
"""

import datetime as dt
import os
import signal
import sys
import time

GUILTY = 3
FULL = "/tmp/envcfg-full"  # a small file system, on the node of the guilty rank


def load(shard: int) -> bytes:
    if shard == 1234:
        raise ValueError(f"corrupt shard {shard}")
    return b"0" * shard


def end(case: str) -> None:
    if case == "raise":
        load(1234)
    elif case == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif case == "memory":
        bytearray(1 << 40)
    elif case == "module":
        __import__("tokenizers_of_nobody")
    elif case == "disk":
        with open(f"{FULL}/checkpoint.pt", "wb") as file:
            file.write(load(1 << 20))


def main() -> None:
    case, *how = [
        word for word in sys.argv[1:] if word[0] != "-"
    ]  # DeepSpeed adds some
    rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")))
    print(f"rank {rank} begins", flush=True)
    if case == "never" and rank == GUILTY:
        time.sleep(20)  # the others wait for seven seconds at most
        return
    if how:
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        numbers = torch.ones(16)
        dist.init_process_group("gloo", timeout=dt.timedelta(seconds=6))
        dist.all_reduce(numbers)
    if rank == GUILTY:
        end(case)
    if how:
        dist.all_reduce(numbers)
    time.sleep(60)


if __name__ == "__main__":
    main()
