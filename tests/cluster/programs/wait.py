"""Say "ready", then wait for a signal; say which one came, and end by 40 + its number."""

import os
import signal
import sys
import time
from types import FrameType


def end(number: int, _frame: FrameType | None) -> None:
    # The runtime passes signals on, and Slurm sends them to each process: they come twice.
    signal.signal(number, signal.SIG_IGN)
    print(f"rank {os.environ['RANK']} got {signal.Signals(number).name}", flush=True)
    sys.exit(40 + number)


for each in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(each, end)
print("ready", flush=True)
time.sleep(60)
