"""The three probes: their shells, their commands, and the format of their lines; data.

A line is ``TAG HOST ...``, and the tag identifies the probe. Lines of several nodes are
mixed with those of other programs, such as srun; any line may be torn.
"""

import os.path
from typing import NamedTuple

from envcfg.common.datafile import read_text


class Probe(NamedTuple):
    """The probe that a command of envcfg runs on each node."""

    name: str  # of the command
    shell: str  # the shell that runs it on the nodes
    files: tuple[str, ...]  # its text, from this folder, in order

    def script(self) -> str:
        """Return the text of the probe's script."""
        texts = [read_text(f"nodes/probe/{file}") for file in self.files]
        return "\n".join(texts)

    def command(self, *words: str) -> tuple[str, ...]:
        """Return the command that runs the probe on a node, with *words* after it."""
        return (self.shell, "-c", self.script(), f"envcfg-{self.name}", *words)


_PLACE = os.path.join("..", "..", "job", "script", "modules", "place.sh")
# The container may have no other shell.
PREFLIGHT = Probe(
    "preflight", "/bin/sh", ("gpus.sh", _PLACE, "nics.sh", "preflight.sh")
)
SITE = Probe(
    "preflight", "/bin/sh", ("gpus.sh", _PLACE, "nics.sh", "site.sh", "preflight.sh")
)
HANG = Probe("hang", "/bin/bash", ("gpus.sh", "processes.sh", "hang.sh"))
MONITOR = Probe("monitor", "/bin/sh", ("gpus.sh", "monitor.sh"))
# For the watcher of a step: also the ranks, which only bash can read.
WATCH = Probe(
    "monitor", "/bin/bash", ("gpus.sh", "processes.sh", "ranks.sh", "monitor.sh")
)


def words_of(line: str, tag: str, count: int) -> list[str] | None:
    """Return the *count* words after *tag*; the last one is the rest of the line.

    Missing words are empty. None: the line has another tag.
    """
    first, *words = line.rstrip("\r\n").split(" ", count)
    return words + [""] * (count - len(words)) if first == tag else None
