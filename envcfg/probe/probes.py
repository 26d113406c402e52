"""The three probes: the shell of each, its command, and how its lines are split; data.

A line is ``TAG HOST ...``, where the tag tells the probe. Lines of several nodes come
mixed, with those of others between them, as of srun; any of them may be torn.
"""

import os.path
from typing import NamedTuple

from envcfg.datafile import read_text

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Probe(NamedTuple):
    """What runs on each node for a command of envcfg.

    Attributes:
        name: of the command.
        shell: what the nodes run it by.
        files: its text, from this folder, in order.
    """

    name: str
    shell: str
    files: tuple[str, ...]

    def script(self) -> str:
        """Return its text."""
        texts = [read_text(os.path.join(_FOLDER, each)) for each in self.files]
        return "\n".join(texts)

    def command(self, *words: str) -> tuple[str, ...]:
        """Return the command of a node; the probe gets *words*."""
        return (self.shell, "-c", self.script(), f"envcfg-{self.name}", *words)


_PLACE = os.path.join("..", "bash", "modules", "place.sh")
# In the container, whose only shell this may be.
PREFLIGHT = Probe("preflight", "/bin/sh", ("gpus.sh", _PLACE, "preflight.sh"))
SITE = Probe("preflight", "/bin/sh", ("gpus.sh", _PLACE, "site.sh", "preflight.sh"))
HANG = Probe("hang", "/bin/bash", ("gpus.sh", "hang.sh"))
MONITOR = Probe("monitor", "/bin/sh", ("gpus.sh", "monitor.sh"))


def words_of(line: str, tag: str, count: int) -> list[str] | None:
    """Return what stands behind *tag*: *count* words, of which the last is all the rest.

    Words that lack are empty. None: the line is of another.
    """
    first, *words = line.rstrip("\r\n").split(" ", count)
    return words + [""] * (count - len(words)) if first == tag else None
