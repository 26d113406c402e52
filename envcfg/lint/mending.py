"""Faults that are mended: the edits of remarks, put into the files that were given.

An edit counts only if what it leaves is better: its fault is gone, no other came, and all
the commands are there still. So the end is the same however often it begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.judge import Remark, judge
from envcfg.lint.model import Model
from envcfg.lint.reading import read_models
from envcfg.lint.rule import Edit
from envcfg.lint.source import Sources

if TYPE_CHECKING:
    from envcfg.profile.model import Profile

Texts = Mapping[str, bytes]
ProfileOf = Callable[[Sources], Callable[[Model], "Profile | None"]]
_MOST_LOOKS = 1000  # at a script; nobody's needs so many


class Mended(NamedTuple):
    """What became of the files.

    Attributes:
        texts: all of them, by path.
        rules: whose faults were mended, by path, each as often as it was.
    """

    texts: Texts
    rules: Mapping[str, Counter[str]]


class _Change(NamedTuple):
    """An edit of one file: offsets from its beginning; *at*: of the fault."""

    path: str
    edit: Edit
    rule: str
    at: int


class _Look(NamedTuple):
    """What is wrong in texts, and what they run."""

    changes: Sequence[_Change]
    names: Sequence[str]
    bad: int


def mend(
    texts: Texts,
    *,
    rules: Sequence[str],
    profile_of: ProfileOf,
    facts: Mapping[str, str],
) -> Mended:
    """Put the edits of *rules* into *texts* until none is left that makes them better.

    Args:
        texts: the bytes of each file, by its path; others that are read along stay.
        rules: ids.
        profile_of: makes of sources what says for which system each script is.
        facts: what is known of that system: its Slurm.
    """
    first = texts
    look = partial(_look, rules=rules, profile_of=profile_of, facts=facts)
    seen = look(texts)
    done: dict[str, Counter[str]] = {path: Counter() for path in texts}
    looks = 0
    while looks < _MOST_LOOKS:
        for batch in _batches(seen.changes):
            changed = apply_changes(texts, batch)
            after = look(changed)
            looks += 1
            is_worse = seen.names != after.names or after.bad > seen.bad
            if not (is_worse or any(_is_left(c, batch, after.changes) for c in batch)):
                texts, seen = changed, after
                for each in batch:
                    done[each.path][each.rule] += 1
                break
        else:
            return Mended(texts, {path: each for path, each in done.items() if each})
    return Mended(first, {})  # it goes round in circles


def apply_changes(texts: Texts, changes: Iterable[_Change]) -> Texts:
    """Return *texts* with *changes*, which do not overlap."""
    changed = dict(texts)
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
    facts: Mapping[str, str],
) -> _Look:
    sources = Sources()
    given = [sources.add(path, data) for path, data in texts.items()]
    models = read_models(given, sources)
    profile = profile_of(sources)
    found = judge(given, sources, models, rules=rules, profile_of=profile, facts=facts)
    remarks = [each for remarks in found.values() for each in remarks]
    scripts = {each.base for each in given if each.kind == "script"}
    return _Look(
        sorted(set(_changes(remarks, sources, scripts))),
        [
            each.name
            for model in models
            for each in model.commands
            if not each.substitution and each.name != "exec"
        ],
        sum(each.finding.severity != "note" for each in remarks),
    )


def _changes(
    remarks: Iterable[Remark], sources: Sources, scripts: set[int]
) -> Iterator[_Change]:
    for remark in remarks:
        if (edit := remark.edit) is None or edit.start < 0:
            continue
        if remark.finding.severity == "note":
            continue  # it may be meant
        source = sources.find(edit.start)
        base, end = source.base, len(source.chars)
        if base in scripts and edit.start <= edit.end <= base + end:
            moved = Edit(edit.start - base, edit.end - base, edit.text)
            yield _Change(source.path, moved, remark.finding.rule, remark.at - base)


def _batches(changes: Sequence[_Change]) -> Iterator[Sequence[_Change]]:
    """Yield what to try: all that do not overlap, then each by itself."""
    together: list[_Change] = []
    for each in changes:
        last = together[-1] if together else None
        if last is None or last.path != each.path or last.edit.end < each.edit.start:
            together.append(each)
    if len(together) > 1:
        yield together
    for each in changes:
        yield [each]


def _is_left(
    change: _Change, batch: Sequence[_Change], left: Sequence[_Change]
) -> bool:
    """Return whether the fault of *change* is found again where it has moved to."""
    low = high = change.at
    for path, edit, *_ in batch:
        grown = len(edit.text.encode("utf-8")) - (edit.end - edit.start)
        if path == change.path and edit.start <= change.at:
            high += grown
            low += grown if edit.end <= change.at and edit.start < change.at else 0
    same = [each for each in left if each.path == change.path]
    places = range(min(low, high), max(low, high) + 1)
    return any(each.rule == change.rule and each.at in places for each in same)
