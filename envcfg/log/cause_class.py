"""The class of a cause: the part that must be changed before the next start.

The classes are data, in ``cause_classes.yaml``; each rule names one. An exception or a last
line without a rule of its own has a general class, which its words may make more precise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from envcfg.log.rulebook import CLASSES, Rule
from envcfg.log.verdict import CauseClass, LogReport

_Signs = tuple[Sequence[str], Mapping[CauseClass, Sequence[re.Pattern[str]]]]


@cache
def _signs() -> _Signs:
    """Return the general classes, and the signs of the others."""
    from envcfg.common.datafile import load_kept

    data = load_kept("cause-classes", [CLASSES])[0]
    signs = {
        name: [re.compile(sign) for sign in record.get("signs", ())]
        for name, record in data["classes"].items()
    }
    return data["general"], signs


def class_of(rule: Rule, words: str) -> CauseClass | Literal[""]:
    """Return the class of a cause with *rule* and *words*."""
    general, classes = _signs()
    if rule.class_ not in general:
        return rule.class_
    known = (
        name
        for name, signs in classes.items()
        if any(sign.search(words) for sign in signs)
    )
    return next(known, rule.class_)


def with_class(report: LogReport, rules: Mapping[str, Rule]) -> LogReport:
    """Return *report* with the class of its cause, if it has a cause with a rule."""
    cause = report.cause
    if cause is None or cause.rule not in rules:
        return report
    class_ = class_of(rules[cause.rule], cause.message)
    return report._replace(cause=cause._replace(class_=class_))
