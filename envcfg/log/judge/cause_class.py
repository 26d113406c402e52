"""The class of a cause: the part that must be changed before the next start.

The classes are data, in ``cause_classes.yaml``; each rule names one. An exception or a last
line without a rule of its own has a general class, which its words may make more precise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from envcfg.log.read.rulebook import CLASSES, LogRule
from envcfg.log.verdict import Action, CauseClass

_Signs = Mapping[CauseClass, Sequence[re.Pattern[str]]]


@cache
def _load_classes() -> tuple[Sequence[str], _Signs, Mapping[CauseClass, Action]]:
    """Return the general classes, the signs of the others, and the next step of each."""
    from envcfg.common.datafile import load_kept_file

    data = load_kept_file(CLASSES)
    classes = data["classes"]
    signs = {
        name: [re.compile(sign) for sign in record.get("signs", ())]
        for name, record in classes.items()
    }
    steps = {name: record["next"] for name, record in classes.items()}
    return data["general"], signs, steps


def class_of(rule: LogRule, words: str) -> CauseClass | Literal[""]:
    """Return the class of a cause with *rule* and *words*."""
    general, signs_of, _ = _load_classes()
    if rule.class_ not in general:
        return rule.class_
    names = (
        name
        for name, signs in signs_of.items()
        if any(sign.search(words) for sign in signs)
    )
    return next(names, rule.class_)


def next_of(rule: LogRule, class_: CauseClass | Literal[""]) -> Action:
    """Return the next step after a cause with *rule*, which its words put in *class_*."""
    if class_ and class_ != rule.class_:
        return _load_classes()[2][class_]
    return rule.next or "unknown"
