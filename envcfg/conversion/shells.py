"""Whether the text of a shell only starts one command, which could stand without it."""

from __future__ import annotations

import re

from envcfg.conversion.trace import Script
from envcfg.conversion.words import is_foreign
from envcfg.launch.recognise import decided_words
from envcfg.lint.model import Command
from envcfg.lint.text import holes
from envcfg.profile.identity import INSIDE

# Variables of Slurm that hold a number, and so are one word to any shell.
_COUNT = re.compile(
    r"SLURM_(?:\w+_ID|NNODES|\w+_NUM_NODES|NTASKS|NPROCS|NTASKS_PER_NODE|CPUS_PER_TASK"
    r"|GPUS_ON_NODE)"
)


def is_transparent(script: Script, shell: Command, inner: Command) -> bool:
    """Return whether the text of *shell* only starts *inner*, which could stand alone.

    It could not where the text sets a variable that the program is to see, but that wrap
    cannot set; where a program between the two is told what only the shell of the task
    knows; and where that shell makes other words of the command than it was given: names of
    files, or several words of a variable that was pasted in. What the job decides of a
    launcher's options is not looked at, as it goes anyway.
    """
    if "-c" not in {each.literal for each in shell.words}:
        return False
    started = [inner]
    while len(below := script.model.children(started[-1])) == 1:
        started.append(below[0])
    program = started[-1].words
    between = [
        word.text
        for each in started
        for word in each.words[: len(each.words) - len(program)]
    ]
    if any(map(is_foreign, between)) or not _can_set_all(script, started):
        return False
    decided = decided_words([each.shown for each in program])
    words = [each for n, each in enumerate(program) if n not in decided]
    if any(set("*?[{~") & {*(each.literal or "")} for each in words):
        return False
    # What is pasted into the text the shell would split, and read as its own.
    found = (hole for each in words for hole in holes(each.text))
    if not all(_COUNT.fullmatch(hole.name) for hole in found):
        return False
    return not any(is_foreign(each.text) for each in words)


def _can_set_all(script: Script, started: list[Command]) -> bool:
    """Return whether all that the text sets is for one of the commands, and known here."""
    numbers = {each.number for each in started}
    return all(
        isinstance(note.value, tuple)
        and note.command in numbers
        and not is_foreign(note.value)  # type: ignore[arg-type]
        for note in script.model.assignments
        if note.unit == started[0].unit and note.name not in INSIDE
    )
