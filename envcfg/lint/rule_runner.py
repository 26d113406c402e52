"""All rules on all scripts: from sources to findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.common.findings import EvidenceLine, Finding
from envcfg.job.request.scheduler_options import option_table
from envcfg.lint.bash_check import NoBashError, find_refusal
from envcfg.lint.detectors import load_detectors
from envcfg.lint.grammar import parse, unread_spans
from envcfg.lint.lint_rule import (
    NOTHING,
    Edit,
    Fault,
    Form,
    Known,
    LintRule,
    ScriptJob,
    load_rules,
)
from envcfg.lint.model_builder import read_models
from envcfg.lint.resource_facts import job_shape
from envcfg.lint.script_model import Model, ShellText
from envcfg.lint.script_source import BASH, LARGEST, Source, Sources
from envcfg.lint.shellcheck import ShellcheckError, find_comments

if TYPE_CHECKING:
    from envcfg.profile.profile_model import Profile

_IGNORE = re.compile(r"#\s*envcfg:\s*ignore\s+([A-Z0-9, -]+)")
_COMMENT = re.compile(r"\s*#")
_LONGEST = 200
_NEAR = 3  # lines between the begin of a command and the fault of shellcheck in it
_LARGE = f"it has more than {LARGEST >> 10} KiB"


class Remark(NamedTuple):
    """A finding of a rule, with its fix if that is certain."""

    finding: Finding
    offset: int
    edit: Edit | None = None

    @property
    def is_safe(self) -> bool:
        """Whether ``--fix`` tries the edit; a note may be about a deliberate choice."""
        return self.edit is not None and self.finding.severity != "note"


def judge(
    given_sources: Sequence[Source],
    sources: Sources,
    models: Iterable[Model] | None = None,
    *,
    rules: Iterable[str],
    profile_of: Callable[[Model], Profile | None] = lambda _: None,
    known: Known = NOTHING,
) -> Mapping[str, list[Remark]]:
    """Return the findings, by the path of each file that was given or read with it.

    Args:
        given_sources: the files.
        sources: all files, with their offsets.
        models: models of *given_sources*; None: they are read now.
        rules: ids.
        profile_of: returns the ``Profile`` of a script's system, or None.
        known: the parser of envcfg's lines, facts about the system, and the variables
            of the submission.
    """
    remarks: dict[str, dict[tuple[str, int], Remark]] = {
        s.path: {} for s in given_sources
    }
    rule_ids = list(rules)
    for model in read_models(given_sources, sources) if models is None else models:
        profile = profile_of(model)
        for remark in judge_model(
            model,
            sources,
            rule_ids,
            profile,
            known=known,
        ):
            where = remark.finding.place
            path = where.path if where else model.path
            # Two scripts that source one file find its faults twice.
            key = (remark.finding.rule, remark.offset)
            remarks.setdefault(path, {}).setdefault(key, remark)
    _add_comments(remarks, given_sources, sources, rule_ids)
    for source in sources.all:
        if source.is_cut:
            last = source.base + len(source.chars) - 1
            remarks.setdefault(source.path, {})["", last] = _unread(
                sources, last, _LARGE
            )
    return {
        path: sorted(remarks_of_file.values(), key=lambda r: (r.offset, r.finding.rule))
        for path, remarks_of_file in remarks.items()
    }


def _add_comments(
    remarks: Mapping[str, dict[tuple[str, int], Remark]],
    given_sources: Sequence[Source],
    sources: Sources,
    names: Iterable[str],
) -> None:
    """Add the findings of shellcheck, except those that a rule of lint replaces."""
    rules = load_rules()
    codes = [name for name in names if rules[name].is_foreign]
    try:
        comments = [*find_comments(given_sources, codes)]
    except ShellcheckError as err:
        first = given_sources[0]
        why = f"shellcheck did not read the scripts: {err}"
        remarks[first.path]["", first.base] = _unread(sources, first.base, message=why)
        return
    for name, offset in comments:
        place, rule = sources.place(offset), rules[name]
        distances = {name: 0, **dict.fromkeys(rule.same_as.split(), _NEAR)}
        is_known = any(
            0 <= place.line - sources.line_number(other) <= distances.get(known, -1)
            for known, other in remarks[place.path]
        )
        is_right = rule.unless and re.search(rule.unless, sources.line(offset))
        if not (is_known or is_right or is_ignored(name, sources, offset)):
            remark = _remark(rule, Fault(offset), sources, "slurm")
            remarks[place.path][name, offset] = remark


def judge_model(
    model: Model,
    sources: Sources,
    rules: Iterable[str],
    profile: Profile | None = None,
    *,
    known: Known = NOTHING,
) -> list[Remark]:
    """Return the findings of one script and the programs that it starts."""
    job = ScriptJob(
        model,
        job_shape(model),
        profile,
        before=sources.before,
        behind=sources.behind,
        around=lambda offset: "\n".join(sources.lines(offset)),
        known=known,
    )
    all_rules, detectors = load_rules(), load_detectors()
    remarks = [
        _unread(sources, max(offset, model.own), why)
        for why, offset in model.unread.items()
    ]
    remarks += _unparsed(model, sources)
    closed = job._replace(model=model.without_unknown_words())
    for name in rules:
        rule = all_rules[name]
        if rule.is_foreign or (rule.batch and model.scope != "batch"):
            continue
        # The first fault at one place is the most specific one of its detector.
        faults: dict[int, Fault] = {}
        for fault in detectors[name](job):
            faults.setdefault(fault.offset, fault)
        if closed.model is not model and any(
            fault.offset not in faults for fault in detectors[name](closed)
        ):
            model.undecided.add(name)
        remarks += [
            _remark(rule, fault, sources, model.scheduler)
            for offset, fault in faults.items()
            if offset >= 0 and not is_ignored(name, sources, offset)
        ]
    return remarks


def _unparsed(model: Model, sources: Sources) -> Iterator[Remark]:
    """Yield a note for each part that bash accepts and the grammar cannot read."""
    for text in model.texts:
        root = parse(text.flat.chars)
        if text.shell in BASH and root.has_error and not _is_refused(text):
            for begin, end in unread_spans(root):
                first, last = text.flat.origin(begin), text.flat.origin(end - 1)
                lines = f"{sources.line_number(first)} to {sources.line_number(last)}"
                message = f"lint cannot read lines {lines}, and may miss faults there"
                yield _unread(sources, first, message=message)


def _is_refused(text: ShellText) -> bool:
    """Return whether EC748 reports that a text ends too early."""
    try:
        return find_refusal(text.flat.chars) is not None
    except NoBashError:
        return False


def _unread(sources: Sources, offset: int, why: str = "", message: str = "") -> Remark:
    """Return a note that a part of a script, usually from *offset* on, was not read."""
    message = message or f"from here on, lint did not look at all of it: {why}"
    fix = "check this part yourself, or make it simpler"
    place = sources.place(offset)
    return Remark(
        Finding("part-not-read", "note", "", message, fix, place=place), offset
    )


def is_ignored(rule: str, sources: Sources, offset: int) -> bool:
    """Return whether a comment on the line, or alone on the line above, disables *rule*."""
    *above, last_line = sources.lines(offset)
    for line in (last_line, *filter(_COMMENT.match, above)):
        match = _IGNORE.search(line)
        if match and rule in re.split(r"[\s,]+", match[1]):
            return True
    return False


def _remark(rule: LintRule, fault: Fault, sources: Sources, scheduler: str) -> Remark:
    place = sources.place(fault.offset)
    form, words = rule.also.get(fault.form, Form()), dict(fault.words)
    message = (form.message or rule.message).format_map(words) + fault.unless
    fix = (form.fix or "").format_map(words) or rule.fix.format_map(words)
    # Rules are written for Slurm; other schedulers get their own option names.
    for of_slurm, own in option_table(scheduler).hints.items():
        fix = fix.replace(of_slurm, own)
    line = "" if fault.is_secret else sources.line(fault.offset)[:_LONGEST]
    finding = Finding(
        rule=rule.id,
        severity=fault.severity or form.severity or rule.severity,
        subject="",
        message=message,
        fix=fix,
        source=rule.source,
        why=rule.why,
        evidence=EvidenceLine(place.path, place.line, line),
        place=place,
    )
    return Remark(finding, fault.offset, fault.edit)
