"""All rules on all scripts: from sources to findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.findings import Evidence, Finding
from envcfg.lint.facts import job_shape
from envcfg.lint.model import Model
from envcfg.lint.program import load_words
from envcfg.lint.reading import read_models
from envcfg.lint.rule import (
    Edit,
    Fault,
    Form,
    Job,
    ReadLine,
    Rule,
    load_detectors,
    load_rules,
)
from envcfg.lint.source import LARGEST, Source, Sources

if TYPE_CHECKING:
    from envcfg.profile.model import Profile

_IGNORE = re.compile(r"#\s*envcfg:\s*ignore\s+([A-Z0-9, -]+)")
_COMMENT = re.compile(r"\s*#")
_LONGEST = 200
_NONE: Mapping[str, str] = {}
_LARGE = f"it has more than {LARGEST >> 10} KiB"


class Remark(NamedTuple):
    """A finding of a rule, with what mends it where that is certain."""

    finding: Finding
    at: int
    edit: Edit | None = None


def judge(
    given: Sequence[Source],
    sources: Sources,
    models: Iterable[Model] | None = None,
    *,
    rules: Iterable[str],
    profile_of: Callable[[Model], Profile | None] = lambda _: None,
    read_line: ReadLine | None = None,
    facts: Mapping[str, str] = _NONE,
) -> Mapping[str, list[Remark]]:
    """Return what is wrong, by the path of each file that was given or read with it.

    Args:
        models: what was read of *given* before; None: they are read now.
        rules: ids.
        profile_of: the ``Profile`` of the system that a script is for, or None.
        read_line: envcfg's own parser.
        facts: what is known of that system: its Slurm.
    """
    found: dict[str, dict[tuple[str, int], Remark]] = {s.path: {} for s in given}
    wanted = list(rules)
    for model in read_models(given, sources) if models is None else models:
        profile = profile_of(model)
        for remark in judge_model(
            model, sources, wanted, profile, read_line=read_line, facts=facts
        ):
            where = remark.finding.place
            path = where.path if where else model.path
            key = (remark.finding.rule, remark.at)
            found.setdefault(path, {}).setdefault(key, remark)
    for each in sources.all:
        if each.is_cut:
            last = each.base + len(each.chars) - 1
            found.setdefault(each.path, {})["", last] = _unread(sources, last, _LARGE)
    return {
        path: sorted(each.values(), key=lambda r: (r.at, r.finding.rule))
        for path, each in found.items()
    }


def judge_model(
    model: Model,
    sources: Sources,
    rules: Iterable[str],
    profile: Profile | None = None,
    *,
    read_line: ReadLine | None = None,
    facts: Mapping[str, str] = _NONE,
) -> list[Remark]:
    """Return what is wrong in one script and what it starts."""
    job = Job(
        model,
        job_shape(model),
        profile,
        before=sources.before,
        behind=sources.behind,
        around=lambda at: "\n".join(sources.lines(at)),
        read_line=read_line,
        facts=facts,
    )
    known, detectors = load_rules(), load_detectors()
    found = [
        _unread(sources, max(at, model.own), why) for why, at in model.unread.items()
    ]
    for name in rules:
        faults: dict[int, Fault] = {}
        for fault in detectors[name](job):
            faults.setdefault(fault.at, fault)
        found += [
            _remark(known[name], fault, sources, model.scheduler)
            for at, fault in faults.items()
            if at >= 0 and not is_ignored(name, sources, at)
        ]
    return found


def _unread(sources: Sources, at: int, why: str) -> Remark:
    """Return that a part of a script, which begins at *at*, was not looked at."""
    message = f"from here on, lint did not look at all of it: {why}"
    fix = "check this part yourself, or make it simpler"
    place = sources.place(at)
    return Remark(Finding("part-not-read", "note", "", message, fix, place=place), at)


def is_ignored(rule: str, sources: Sources, at: int) -> bool:
    """Return whether a comment on the line, or alone on the one above, says so."""
    *above, here = sources.lines(at)
    for line in (here, *filter(_COMMENT.match, above)):
        said = _IGNORE.search(line)
        if said and rule in re.split(r"[\s,]+", said[1]):
            return True
    return False


def _remark(rule: Rule, fault: Fault, sources: Sources, scheduler: str) -> Remark:
    place = sources.place(fault.at)
    form, words = rule.also.get(fault.form, Form()), dict(fault.words)
    message = (form.message or rule.message).format_map(words)
    fix = (form.fix or "").format_map(words) or rule.fix.format_map(words)
    for of_slurm, own in load_words()["hints"].get(scheduler, {}).items():
        fix = fix.replace(of_slurm, own)
    line = sources.line(fault.at)[:_LONGEST]
    finding = Finding(
        rule=rule.id,
        severity=fault.severity or form.severity or rule.severity,
        subject="",
        message=message,
        fix=fix,
        source=rule.source,
        why=rule.why,
        evidence=Evidence(place.path, place.line, line),
        place=place,
    )
    return Remark(finding, fault.at, fault.edit)
