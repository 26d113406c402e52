"""Fixes: the edits of remarks, applied to the given files.

An edit is accepted only if its fault is gone, no other fault appears, and all commands
remain. The result is therefore the same for a second run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.lint_rule import Edit, Known, load_rules
from envcfg.lint.model_builder import read_models
from envcfg.lint.rule_runner import Remark, judge
from envcfg.lint.script_model import Model
from envcfg.lint.script_source import Sources

if TYPE_CHECKING:
    from envcfg.profile.profile_model import Profile

Texts = Mapping[str, bytes]
ProfileOf = Callable[[Sources], Callable[[Model], "Profile | None"]]
_MOST_LOOKS = 1000  # checks of the files; real scripts need a few


class FixResult(NamedTuple):
    """The result of fixing the files."""

    texts: Texts  # all files, by path
    # Rules with repaired faults, by path, with their number.
    rules: Mapping[str, Counter[str]]


class _Change(NamedTuple):
    """An edit of one file: offsets from its beginning; *offset*: of the fault."""

    path: str
    edit: Edit
    rule: str
    offset: int


class _Look(NamedTuple):
    """The faults in texts, and the programs that they run."""

    changes: Sequence[_Change]
    names: Sequence[str]
    bad: int


def mend(
    texts: Texts,
    *,
    rules: Sequence[str],
    profile_of: ProfileOf,
    known: Known,
) -> FixResult:
    """Apply the edits of *rules* to *texts* until no edit improves them.

    Args:
        texts: the bytes of each file, by its path; files that these read stay unchanged.
        rules: ids.
        profile_of: returns a function from a script's model to its profile.
        known: facts about the system: its Slurm version.
    """
    first, own = texts, [name for name in rules if not load_rules()[name].is_foreign]
    look = partial(_look, rules=own, profile_of=profile_of, known=known)
    faults = look(texts)
    done: dict[str, Counter[str]] = {path: Counter() for path in texts}
    looks = 0
    while looks < _MOST_LOOKS:
        for batch in _batches(faults.changes):
            changed = apply_changes(texts, batch)
            after = look(changed)
            looks += 1
            # The same commands in the same order prove that no program was lost.
            is_worse = faults.names != after.names or after.bad > faults.bad
            if not (is_worse or any(_is_left(c, batch, after.changes) for c in batch)):
                texts, faults = changed, after
                for change in batch:
                    done[change.path][change.rule] += 1
                # Offsets of the other edits are stale after a change.
                break
        else:
            return FixResult(
                texts, {path: counter for path, counter in done.items() if counter}
            )
    return FixResult(first, {})  # edits undo each other, so none is kept


def apply_changes(texts: Texts, changes: Iterable[_Change]) -> Texts:
    """Return *texts* with *changes*, which do not overlap."""
    changed = dict(texts)
    # From the last to the first, so that earlier offsets stay valid.
    for path, edit, *_ in sorted(changes, key=lambda c: c.edit, reverse=True):
        data = changed[path]
        text = edit.text.encode("utf-8")
        changed[path] = data[: edit.start] + text + data[edit.end :]
    return changed


def _look(
    texts: Texts,
    *,
    rules: Iterable[str],
    profile_of: ProfileOf,
    known: Known,
) -> _Look:
    sources = Sources()
    inputs = [sources.add(path, data) for path, data in texts.items()]
    models = read_models(inputs, sources)
    profile = profile_of(sources)
    remarks_by_file = judge(
        inputs, sources, models, rules=rules, profile_of=profile, known=known
    )
    remarks = [remark for remarks in remarks_by_file.values() for remark in remarks]
    scripts = {source.base for source in inputs if source.kind == "script"}
    return _Look(
        sorted(set(_changes(remarks, sources, scripts))),
        [
            command.name
            for model in models
            for command in model.commands
            # Names in substitutions are left out, because some edits remove those.
            if not command.substitution and command.name != "exec"
        ],
        sum(remark.finding.severity != "note" for remark in remarks),
    )


def _changes(
    remarks: Iterable[Remark], sources: Sources, scripts: set[int]
) -> Iterator[_Change]:
    for remark in remarks:
        edit = remark.edit if remark.is_safe else None
        if edit is None or edit.start < 0:
            continue
        source = sources.find(edit.start)
        base, end = source.base, len(source.chars)
        if base in scripts and edit.start <= edit.end <= base + end:
            moved = Edit(edit.start - base, edit.end - base, edit.text)
            yield _Change(source.path, moved, remark.finding.rule, remark.offset - base)


def _batches(changes: Sequence[_Change]) -> Iterator[Sequence[_Change]]:
    """Yield the batches to try: all changes that do not overlap, then one at a time."""
    together: list[_Change] = []
    for change in changes:
        last = together[-1] if together else None
        if (
            last is None
            or last.path != change.path
            or last.edit.end < change.edit.start
        ):
            together.append(change)
    # All together is one check instead of many, and usually succeeds.
    if len(together) > 1:
        yield together
    for change in changes:
        yield [change]


def _is_left(
    change: _Change, batch: Sequence[_Change], remaining: Sequence[_Change]
) -> bool:
    """Return whether the fault of *change* still exists at its new place."""
    low = high = change.offset
    for path, edit, *_ in batch:
        grown = len(edit.text.encode("utf-8")) - (edit.end - edit.start)
        if path == change.path and edit.start <= change.offset:
            high += grown
            low += (
                grown if edit.end <= change.offset and edit.start < change.offset else 0
            )
    same = [fault for fault in remaining if fault.path == change.path]
    places = range(min(low, high), max(low, high) + 1)
    return any(fault.rule == change.rule and fault.offset in places for fault in same)
