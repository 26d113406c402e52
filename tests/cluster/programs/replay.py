"""Write what a rank's NCCL wrote, at its times, then train until told to end.

Usage: replay.py [stdio]; reads RANK.lines, each line "SECONDS<TAB>TEXT", and writes to
RANK.times when each of those seconds really was. The file `end` ends it, else a minute.
With `stdio` nothing is flushed: as in C, a terminal gets lines and a pipe 4 KiB at once.
"""

import os
import sys
import time
from itertools import groupby
from pathlib import Path

LONGEST = 60.0
PAUSE = 0.05
STEP = 0.5


def main() -> None:
    rank = os.environ["SLURM_PROCID"]
    say = Output(lines="stdio" not in sys.argv or os.isatty(1)).say
    begin = time.monotonic()
    lines = [
        line.partition("\t") for line in Path(f"{rank}.lines").read_text().splitlines()
    ]
    with Path(f"{rank}.times").open("w", buffering=1) as times:
        for seconds, group in groupby(lines, key=lambda line: line[0]):
            sleep_until(begin + float(seconds))
            times.write(f"{seconds} {time.time()}\n")
            for _, _, text in group:
                say(text)
    step = 0
    while time.monotonic() < begin + LONGEST:
        step += 1
        say(f"step {step:>6} | loss {2 + 9 / step:.4f} | 184.2 TFLOP/s")
        sleep_until(time.monotonic() + STEP)


class Output:
    def __init__(self, *, lines: bool) -> None:
        self.file = os.fdopen(1, "wb", buffering=4096, closefd=False)
        self.lines = lines

    def say(self, text: str) -> None:
        self.file.write(f"{text}\n".encode())
        if self.lines:
            self.file.flush()


def sleep_until(moment: float) -> None:
    while (left := moment - time.monotonic()) > 0:
        if Path("end").exists():
            sys.exit()
        time.sleep(min(left, PAUSE))


if __name__ == "__main__":
    main()
