"""Lines of envcfg itself in a script, read by its own parser before the job waits."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.errors import UsageError
from envcfg.findings import Severity
from envcfg.lint.model import Command
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.text import holes

_READERS = frozenset({"source", ".", "eval"})
_PRINTS = frozenset({"-h", "--help", "-V", "--version", "help"})
_UNKNOWN = "unknown option "


@detects("EC742")
def own_line(job: Job) -> Iterator[Fault]:
    """A line that envcfg refuses, or whose failure the job does not see."""
    for command in job.model.commands:
        if command.name == "envcfg" and job.read_line:
            yield from _read(command, job)
        elif command.name in _READERS:
            yield from _unguarded(command)


def _read(command: Command, job: Job) -> Iterator[Fault]:
    """Yield what the parser says; where a word is not known, of unknown options alone."""
    words, at = [], {}
    is_known = not command.is_open
    for word in command.arguments:
        if word.literal == "--":
            break
        is_known = is_known and word.literal is not None
        if not (word.is_loose and word.text[0].hole):
            words.append(word.shown)
            at[word.shown.partition("=")[0]] = word.at
    if not words or job.read_line is None or _PRINTS & {*words}:
        return
    try:
        found = [*job.read_line(words)]
    except UsageError as err:
        option = err.message.removeprefix(_UNKNOWN)
        if is_known or option in at:
            where = at.get(option.partition(" ")[0], command.at)
            yield _fault(where, None, f"envcfg refuses this: {err.message}", err.hint)
        return
    for each in found:
        where = at.get(each.subject.partition(" ")[0], command.at)
        yield _fault(where, each.severity, f"{each.subject}: {each.message}", each.fix)


def _unguarded(reader: Command) -> Iterator[Fault]:
    for word in reader.arguments:
        for hole in holes(word.text):
            if "envcfg wrap" in hole.text and "||" not in hole.text:
                yield Fault(hole.at, {}, "unguarded")


def _fault(at: int, severity: Severity | None, message: str, fix: str | None) -> Fault:
    return Fault(at, {"said": message, "instead": fix or ""}, "read", severity)
