"""Say "ready", then wait for a signal; say which one came, and end by 40 + its number."""

import os
import signal
import sys
import time
from types import FrameType


def end(number: int, _frame: FrameType | None) -> None:
    print(f"rank {os.environ['RANK']} got {signal.Signals(number).name}", flush=True)
    sys.exit(40 + number)


for each in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(each, end)
print("ready", flush=True)
time.sleep(60)
