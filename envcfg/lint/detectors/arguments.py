"""Arguments: what is split, or read once more, on its way to the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from envcfg.lint.flow import TESTS, command_with
from envcfg.lint.model import Array, Command
from envcfg.lint.program import SHELLS
from envcfg.lint.rule import Edit, Fault, Job, detects
from envcfg.lint.text import Piece, Text, holes

_SILENT = TESTS | {
    "echo", "printf", "logger", "cat", "for", "set", "shift", "module", "source", ".",
    "exit", "return",
}  # fmt: skip
# --name "value" and name="value" inside of a string.
_BEFORE_QUOTED = re.compile(r"(?<![\w-])--[\w-]+[ =]$")
_BARE = re.compile(r"[A-Za-z0-9_{/.]")


@detects("EC105")
def reparsed_arguments(job: Job) -> Iterator[Fault]:
    """Arguments that are passed on and split, or read once more, on the way."""
    model = job.model
    for each in model.expansions:
        if each.name not in ("@", "*") or each.use != "word":
            continue
        if each.hole.op or each.number >= len(model.commands):
            continue
        command = command_with(model.commands, each)
        if command is None or not _passes_on(command):
            continue
        if not each.hole.quoted:
            sign = each.name
            is_braced = job.before(each.at + 2).endswith("{")
            form = f"${{{sign}}}" if is_braced else f"${sign}"
            edit = Edit(each.at, each.at + len(form), '"$@"')
            yield Fault(each.at, {"form": form}, edit=edit)
        elif command.name == "eval":
            yield Fault(each.at, {}, "eval")
    for command in model.commands:
        found = _pasted(command)
        if found is not None:
            yield Fault(found, {"form": "$@"}, "pasted")
    yield from _ended_quotes(job)


def _passes_on(command: Command) -> bool:
    if command.name in _SILENT or not command.words or command.substitution:
        return False
    return bool(command.name) or command.words[0].is_loose


def _pasted(command: Command) -> int | None:
    """Return where arguments were put into the text of a shell, if they were."""
    if command.name not in SHELLS:
        return None
    said = [each.shown for each in command.words]
    at = next(
        (n for n, w in enumerate(said) if re.fullmatch(r"-[abd-z]*c[a-z]*", w)), None
    )
    if at is None or at + 1 >= len(command.words):
        return None
    text = command.words[at + 1].text
    if len(text) < 2:
        return None  # the whole command is what was given: nothing is added to it
    for hole in holes(text):
        if hole.name in ("@", "*"):
            return hole.at
    return None


def _ended_quotes(job: Job) -> Iterator[Fault]:
    """Yield where a double quote was to stand in a string, and ends it."""
    texts = [each.value for each in job.model.assignments]
    for command in job.model.commands:
        if command.name in SHELLS:
            texts += [word.text for word in command.arguments]
    for text in texts:
        if not isinstance(text, tuple) or isinstance(text, Array):
            continue
        for before, here in pairwise(text):
            ends = _BEFORE_QUOTED.search(before.chars)
            if not ends or here.hole or not _BARE.match(here.chars):
                continue
            if here.at != before.at + len(before.chars) + 1 or before.at < 0:
                continue
            line = job.before(here.at)
            if not line.endswith('"') or line.endswith(('\\"', '""')):
                continue
            if _goes_on(text, here, job):
                yield Fault(here.at - 1, {}, "ended-quotes")


def _goes_on(text: Text, first: Piece, job: Job) -> bool:
    """Return whether the string goes on with a blank behind the next double quote."""
    begun = False
    for before, here in pairwise(text):
        begun = begun or before is first
        if not begun or here.hole or (before.hole and before.at < 0):
            continue
        if job.before(here.at).endswith('"'):
            return here.chars[:1].isspace()
    return False
