"""Names: what nobody sets, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from envcfg.errors import is_slip
from envcfg.lint.flow import asks_whether_set, command_with
from envcfg.lint.model import Expansion
from envcfg.lint.rule import Fault, Job, detects, known_values, known_words

_NO_DIGIT = re.compile(r"\D+")
_SHORTEST = 5  # letters of a name of which another is a slip


@detects("EC106")
def undefined_variable(job: Job) -> Iterator[Fault]:
    """A name that Slurm is thought to set, or a slip of one that the script sets."""
    names = job.model.set_names()
    if job.model.scope != "batch":
        return
    sourced = any(each.what.startswith("source ") for each in job.model.opaque)
    slips: set[str] = set()
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_NO_DIGIT.sub("", name), []).append(name)
    for each in job.model.expansions:
        if each.is_known or each.name in names or each.hole.op:
            continue
        right = _of_slurm(each.name)
        own = None if right else _slip(each.name, alike)
        if right is None and (own is None or each.name in slips):
            continue
        if right is not None and sourced and not each.name.startswith("SLURM_"):
            continue
        if _is_asked_for(each, job):
            continue
        if right is not None:
            yield Fault(each.at, {"name": each.name, "right": right})
        elif own is not None and each.hole.scope != "unknown":
            slips.add(each.name)
            yield Fault(
                each.at,
                {"name": each.name, "right": own},
                "slip",
                "note" if sourced else "warning",
            )


def _is_asked_for(each: Expansion, job: Job) -> bool:
    """Return whether a test around it, or it itself, asks whether it is set."""
    if any(each.name in c for c in each.context.conditions):
        return True
    command = command_with(job.model.commands, each)
    return bool(command and asks_whether_set(command))


def _of_slurm(name: str) -> str | None:
    """Return the name of Slurm's that was meant; None where this is one, or none."""
    if right := known_values("EC106", "slips").get(name):
        return str(right)
    return _near_slurm(name) if name.startswith("SLURM_") else None


@lru_cache(maxsize=256)
def _near_slurm(name: str) -> str | None:
    from envcfg.knowledge.variables import find_variable, load_variables

    if name in known_words("EC106", "slurm") or find_variable(name) is not None:
        return None
    known = [each for each in load_variables() if each.startswith("SLURM_")]
    near = [each for each in known if is_slip(name, each)]
    return near[0] if len(near) == 1 else None


def _slip(name: str, alike: Mapping[str, list[str]]) -> str | None:
    """Return the one name that differs by a letter, of those with the same digits."""
    from envcfg.knowledge.variables import find_variable

    if len(name) < _SHORTEST or name.startswith(("SLURM_", "_")) or not name.isupper():
        return None
    names = alike.get(_NO_DIGIT.sub("", name), ())
    near = [each for each in names if is_slip(name, each)]
    return near[0] if len(near) == 1 and find_variable(name) is None else None
