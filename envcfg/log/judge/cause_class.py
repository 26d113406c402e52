"""The class of a cause: the part that must be changed before the next start.

The classes are data, in ``cause_classes.yaml``; each rule names one. An exception or a last
line without a rule of its own has a general class, which its words may make more precise.
"""

import re
from typing import Literal

from envcfg.log.read.rulebook import CLASSES, LogRule
from envcfg.log.tables import load_table
from envcfg.log.verdict import Action, CauseClass


def class_of(
    rule: LogRule, words: str, *, some_nodes: bool = False
) -> CauseClass | Literal[""]:
    """Return the class of a cause with *rule* and *words*, of all or only *some_nodes*."""
    data = load_table(CLASSES)
    if some_nodes and rule.id in data["some-nodes"]:
        class_: CauseClass = data["some-nodes"][rule.id]
        return class_
    if rule.class_ not in data["general"]:
        return rule.class_
    with_sign = (
        name
        for name, own in data["classes"].items()
        for sign in own.get("signs", ())
        if re.search(sign, words)
    )
    return next(with_sign, rule.class_)


def next_of(rule: LogRule, class_: CauseClass | Literal[""]) -> Action:
    """Return the next step after a cause with *rule*, which its words put in *class_*."""
    if class_ and class_ != rule.class_:
        action: Action = load_table(CLASSES)["classes"][class_]["next"]
        return action
    return rule.next or "unknown"
