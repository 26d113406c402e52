"""Count system calls with strace."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from benchmarks.race import Command

ENVCFG = Path(sys.executable).parent / "envcfg"

# On a network file system each of these may be a round trip. With a question mark:
# not every architecture has it.
FILE_CALLS = """?open openat ?stat ?lstat newfstatat ?statx ?access ?faccessat
?faccessat2 ?readlink readlinkat ?getdents getdents64""".split()
FORK_CALLS = "?fork ?vfork clone ?clone3".split()

_CALL = re.compile(r"^\d+ +(?P<name>\w+)\(.* = (?P<result>-?\w+)", re.MULTILINE)
# A call that another process cut in two, as the last line of it tells the result.
_RESUMED = re.compile(
    r"^\d+ +<\.\.\. (?P<name>\w+) resumed>.* = (?P<result>-?\w+)", re.M
)


def find_missing() -> list[str]:
    """Return what the benchmarks need and this machine does not have."""
    missing = [name for name in ("strace", "bash") if shutil.which(name) is None]
    return missing if ENVCFG.exists() else [*missing, str(ENVCFG)]


def count_file_calls(command: Command) -> int:
    """Return how often *command* asks the system for a file, found or not."""
    return sum(_trace(command, FILE_CALLS, successful=False).values())


def count_processes(command: Command) -> tuple[int, int]:
    """Return the forks of *command*, and the programs it starts after its own."""
    calls = _trace(command, [*FORK_CALLS, "execve"], successful=True)
    executed = calls.pop("execve")
    return sum(calls.values()), executed - 1


def _trace(command: Command, calls: list[str], *, successful: bool) -> Counter[str]:
    log = Path("strace.log")
    chosen = f"trace={','.join(calls)}"
    subprocess.run(
        ["strace", "-f", "-qq", "-o", str(log), "-e", chosen, *command.argv],
        env=dict(command.env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    text = log.read_text(errors="replace")
    return Counter(
        call["name"]
        for pattern in (_CALL, _RESUMED)
        for call in pattern.finditer(text)
        if not successful or not call["result"].startswith("-")
    )
