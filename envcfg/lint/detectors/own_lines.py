"""Lines of envcfg in a script: what it refuses, and what fails in them unseen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from envcfg.errors import UsageError
from envcfg.findings import Severity
from envcfg.lint.expand import closing
from envcfg.lint.model import Command, Expansion
from envcfg.lint.rule import Fault, Job, detects, known_words
from envcfg.lint.text import holes

_READERS = frozenset({"source", ".", "eval"})
_PRINTS = frozenset({"-h", "--help", "-V", "--version", "help"})
_UNKNOWN = "unknown option "
_RUNS = frozenset({"source", ".", "eval", "bash"})
_FORMS = {"process": "<( )", "command": "$( )"}
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])(?:<<|>>)?=(?!=)")
_ITEMS = re.compile(r"\$\{[A-Za-z_]\w*\[[@*]\]")  # no error where there is none
_DEFAULTS = frozenset({"-", ":-", "+", ":+"})
_MUSTS = frozenset({"?", ":?", "=", ":="})
_CLOSED_BY = {"${": "}", "$(": ")"}


@detects("EC742")
def own_line(job: Job) -> Iterator[Fault]:
    """A line that envcfg refuses, or whose failure the job does not see."""
    for command in job.model.commands:
        if command.name == "envcfg" and job.read_line:
            yield from _read(command, job)
        elif command.name in _READERS:
            for word in command.arguments:
                for hole in holes(word.text):
                    if "envcfg wrap" in hole.text and "||" not in hole.text:
                        yield Fault(hole.at, {}, "unguarded")


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


def _fault(at: int, severity: Severity | None, message: str, fix: str | None) -> Fault:
    return Fault(at, {"said": message, "instead": fix or ""}, "read", severity)


class _Subshell(NamedTuple):
    """A substitution that runs ``envcfg wrap``, and whose output a shell reads.

    Attributes:
        begin, end: offsets of the command, and of what closes the substitution.
        raw: what was written between them.
    """

    command: Command
    form: str
    begin: int
    end: int
    raw: str


@detects("EC141")
def lost_words(job: Job) -> Iterator[Fault]:
    """Words of a step that must be expanded by the shell that runs it."""
    found = {each.begin: each for each in _subshells(job)}.values()
    spans = [(each.begin, each.end) for each in found]
    for subshell in found:
        lost: dict[int, str] = {}
        inner: list[tuple[int, int]] = []  # what is judged as a whole, or not at all
        for hole in (h for word in subshell.command.words for h in holes(word.text)):
            if hole.kind == "process":  # closed by the line that it stands in
                lost[hole.at] = hole.text
            if not subshell.begin < hole.at < subshell.end:
                continue
            said = _written(subshell, hole.at, hole.text)
            is_count = hole.kind == "arithmetic" and _CHANGES.search(hole.text)
            if is_count:
                lost[hole.at] = said
            if is_count or hole.kind in _FORMS:
                inner.append((hole.at, hole.at + len(said)))
        for each in job.model.expansions:
            if not subshell.begin < each.at < subshell.end or _is_in(each.at, inner):
                continue
            if each.is_known or not _is_lost(each, subshell):
                continue
            if not _is_asked_for(each, job, spans):
                lost[each.at] = _written(subshell, each.at, f"${each.name}")
        if lost:
            words = ", ".join(dict.fromkeys(lost[at] for at in sorted(lost)))
            yield Fault(min(lost), {"words": words, "form": subshell.form})


def _subshells(job: Job) -> Iterator[_Subshell]:
    """Yield where ``envcfg wrap`` runs in a substitution that a shell reads."""
    wraps = [
        each
        for each in job.model.commands
        if each.name == "envcfg"
        and each.substitution
        and [word.literal for word in each.words[1:2]] == ["wrap"]
    ]
    for reader in job.model.commands:
        if reader.name not in _RUNS:
            continue
        for hole in (h for word in reader.arguments for h in holes(word.text)):
            if hole.kind not in _FORMS:
                continue
            raw = hole.text if hole.kind == "process" else f"$({hole.text})"
            end = hole.at + len(raw)
            for each in wraps:
                if hole.at < each.at < end:
                    written = raw[each.at - hole.at :]
                    yield _Subshell(each, _FORMS[hole.kind], each.at, end, written)


def _is_in(at: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(begin <= at < end for begin, end in spans)


def _is_lost(each: Expansion, subshell: _Subshell) -> bool:
    """Return whether it may end the subshell, or sets what only the subshell has."""
    name, op = each.name, each.hole.op
    if name in known_words("EC141", "always"):
        return False
    if not (name.isidentifier() or name.isdigit()):
        return False
    if op in _DEFAULTS or _ITEMS.match(_written(subshell, each.at, "")):
        return False
    return op in _MUSTS or "nounset" in subshell.command.context.options


def _is_asked_for(each: Expansion, job: Job, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether the job's own shell has failed before where it is unset."""
    if any(each.name in test for test in each.context.conditions):
        return True
    return any(
        other.name == each.name
        and other.at < each.at
        and other.hole.op not in _DEFAULTS
        and not _is_in(other.at, spans)
        for other in job.model.expansions
    )


def _written(subshell: _Subshell, at: int, otherwise: str) -> str:
    """Return what stands at an offset as it was written, up to where it ends."""
    raw, begin = subshell.raw, at - subshell.begin
    close = _CLOSED_BY.get(raw[begin : begin + 2])
    if close is None:
        return otherwise
    return raw[begin : closing(raw, begin + 2, len(raw), close) + 1]
