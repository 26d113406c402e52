"""Lines of envcfg in a script: rejected options, and failures without notice."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from envcfg.common.errors import UsageError
from envcfg.common.findings import Severity
from envcfg.common.provenance import sha256_of
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.script_model import (
    Command,
    Expansion,
    between,
    by_offset,
)
from envcfg.lint.script_source import read_beside
from envcfg.lint.traced_text import holes
from envcfg.lint.word_expansion import closing

_READERS = frozenset({"source", ".", "eval"})
_PRINTS = frozenset("-h --help -V --version help".split())
_UNKNOWN = "unknown option "
_OTHER_OUTPUT = re.compile(r"-h|-o|--(?:help|json|output|print)")
_BLOCK_OUTPUT = re.compile(r"(?:\b(?:done|esac|fi)|[)}])[ \t]*\d?[>|]|\bexec\b[^\n]*>")
_RUNS = frozenset("source . eval bash".split())
_FORMS = {"process": "<( )", "command": "$( )"}
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])(?:<<|>>)?=(?!=)")
_ITEMS = re.compile(r"\$\{[A-Za-z_]\w*\[[@*]\]")  # an empty array causes no error
_DEFAULTS = frozenset("- :- + :+".split())
_MUSTS = frozenset("? :? = :=".split())
_COMPANION = re.compile(r"/[0-9a-f]{32}\.bash$")
_CLOSED_BY = {"${": "}", "$(": ")"}


@detects("EC742")
def own_line(job: ScriptJob) -> Iterator[Fault]:
    """A line that envcfg rejects, or that may fail unnoticed by the job."""
    for command in job.model.commands:
        if command.name == "envcfg":
            yield from _option_faults(command, job)
            if _is_only_printed(command, job):
                yield Fault(command.offset, {}, "printed")
        elif command.name in _READERS:
            if [word.literal for word in command.arguments[:2]] == ["envcfg", "wrap"]:
                yield Fault(command.offset, {}, "printed")
            for word in command.arguments:
                for hole in holes(word.text):
                    # With "||" the script itself handles the failure.
                    if "envcfg wrap" in hole.text and "||" not in hole.text:
                        yield Fault(hole.offset, {}, "unguarded")
    for assignment in job.model.assignments:
        if assignment.name == "ENVCFG_FILE":
            path = assignment.literal or ""
            if _COMPANION.search(path) and not _is_companion_there(path):
                yield Fault(assignment.offset, {"file": path}, "companion")


def _is_only_printed(command: Command, job: ScriptJob) -> bool:
    """Return whether the output of ``envcfg wrap`` is bash that no shell reads."""
    words = [word.shown for word in command.arguments]
    if words[:1] != ["wrap"] or "--" not in words or command.is_open:
        return False
    if command.substitution or command.output or command.context.piped:
        return False
    # A block or the whole script may write to a file.
    script = job.model.flat
    if script is None or _BLOCK_OUTPUT.search(script.chars):
        return False
    return not any(map(_OTHER_OUTPUT.match, words[: words.index("--")]))


def _is_companion_there(path: str) -> bool:
    """Return whether the unchanged second file of a script is where the job looks for it.

    The job tries the path, and the folder in which it was submitted.
    """
    name = os.path.basename(path)
    places = (read_beside(place) for place in (path, f".envcfg/{name}"))
    return any(data and name.startswith(sha256_of(data)[:32]) for data in places)


def _option_faults(command: Command, job: ScriptJob) -> Iterator[Fault]:
    """Yield the errors of the parser; if a word is unknown, only those on unknown
    options."""
    words, offsets = [], {}
    is_known = not command.is_open
    for word in command.arguments:
        if word.literal == "--":
            break
        is_known = is_known and word.literal is not None
        # An unknown word may be empty, so the parser must not see it.
        if not (word.is_loose and word.text[0].hole):
            words.append(word.shown)
            offsets[word.shown.partition("=")[0]] = word.offset
    if not words or job.known.read_line is None or _PRINTS & {*words}:
        return
    try:
        findings = [*job.known.read_line(words)]
    except UsageError as err:
        option = err.message.removeprefix(_UNKNOWN)
        # With unknown words the command line is incomplete, so other errors are unsure.
        if is_known or option in offsets:
            where = offsets.get(option.partition(" ")[0], command.offset)
            yield _fault(where, None, f"envcfg refuses this: {err.message}", err.hint)
        return
    for finding in findings:
        where = offsets.get(finding.subject.partition(" ")[0], command.offset)
        yield _fault(
            where,
            finding.severity,
            f"{finding.subject}: {finding.message}",
            finding.fix,
        )


def _fault(
    offset: int, severity: Severity | None, message: str, fix: str | None
) -> Fault:
    return Fault(offset, {"said": message, "instead": fix or ""}, "read", severity)


class _Subshell(NamedTuple):
    """A substitution that runs ``envcfg wrap`` for a shell that reads its output."""

    command: Command
    form: str
    begin: int  # offset of the command
    end: int  # offset of the end of the substitution
    raw: str  # the source text between them


@detects("EC141")
def lost_words(job: ScriptJob) -> Iterator[Fault]:
    """Words of a step that the shell that runs it must expand.

    In each substitution, process substitutions and sums that change a variable are always
    lost. A variable is lost if it may end the subshell, unless it is inside one of those,
    or the job's own shell has already read it.
    """
    subshells = {subshell.begin: subshell for subshell in _subshells(job)}.values()
    expansions = by_offset(job.model.expansions)
    inside = {
        expansion.offset
        for subshell in subshells
        for expansion in between(expansions, subshell.begin - 1, subshell.end)
    }
    # The first expansion of each variable in the job's own shell.
    asked_at = {
        expansion.name: expansion.offset
        for expansion in reversed(expansions)
        if expansion.hole.op not in _DEFAULTS and expansion.offset not in inside
    }
    for subshell in subshells:
        lost: dict[int, str] = {}
        inner: list[
            tuple[int, int]
        ] = []  # spans that are judged as a whole, or not at all
        for hole in (h for word in subshell.command.words for h in holes(word.text)):
            if hole.kind == "process":  # it is closed at the end of its line
                lost[hole.offset] = hole.text
            if not subshell.begin < hole.offset < subshell.end:
                continue
            text = _written(subshell, hole.offset, hole.text)
            is_count = hole.kind == "arithmetic" and _CHANGES.search(hole.text)
            if is_count:
                lost[hole.offset] = text
            if is_count or hole.kind in _FORMS:
                inner.append((hole.offset, hole.offset + len(text)))
        for expansion in between(expansions, subshell.begin, subshell.end):
            if _is_in(expansion.offset, inner):
                continue
            if expansion.is_known or not _is_lost(expansion, subshell):
                continue
            if not _is_asked_for(expansion, asked_at):
                lost[expansion.offset] = _written(
                    subshell, expansion.offset, f"${expansion.name}"
                )
        if lost:
            words = ", ".join(dict.fromkeys(lost[offset] for offset in sorted(lost)))
            yield Fault(min(lost), {"words": words, "form": subshell.form})


def _subshells(job: ScriptJob) -> Iterator[_Subshell]:
    """Yield each ``envcfg wrap`` in a substitution that a shell reads."""
    wraps = by_offset(
        command
        for command in job.model.commands
        if command.name == "envcfg"
        and command.substitution
        and [word.literal for word in command.words[1:2]] == ["wrap"]
    )
    for reader in job.model.commands:
        if reader.name not in _RUNS:
            continue
        for hole in (h for word in reader.arguments for h in holes(word.text)):
            if hole.kind not in _FORMS:
                continue
            # The form of a process substitution is part of its text already.
            raw = hole.text if hole.kind == "process" else f"$({hole.text})"
            end = hole.offset + len(raw)
            for wrap in between(wraps, hole.offset, end):
                written = raw[wrap.offset - hole.offset :]
                yield _Subshell(wrap, _FORMS[hole.kind], wrap.offset, end, written)


def _is_in(offset: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(begin <= offset < end for begin, end in spans)


def _is_lost(expansion: Expansion, subshell: _Subshell) -> bool:
    """Return whether an unset variable ends the subshell, or is set only inside it."""
    name, op = expansion.name, expansion.hole.op
    if name in known_words("EC141", "always"):
        return False
    if not (name.isidentifier() or name.isdigit()):
        return False
    if op in _DEFAULTS or _ITEMS.match(_written(subshell, expansion.offset, "")):
        return False
    # Without "nounset" an unset variable is empty in both shells.
    return op in _MUSTS or "nounset" in subshell.command.context.options


def _is_asked_for(expansion: Expansion, asked_at: Mapping[str, int]) -> bool:
    """Return whether the job's own shell would already have failed on the unset
    variable."""
    if any(expansion.name in test for test in expansion.context.conditions):
        return True
    return asked_at.get(expansion.name, expansion.offset) < expansion.offset


def _written(subshell: _Subshell, offset: int, otherwise: str) -> str:
    """Return the source text of the substitution at *offset*, else *otherwise*."""
    raw, begin = subshell.raw, offset - subshell.begin
    close = _CLOSED_BY.get(raw[begin : begin + 2])
    if close is None:
        return otherwise
    return raw[begin : closing(raw, begin + 2, len(raw), close) + 1]
