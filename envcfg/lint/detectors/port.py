"""Ports: what another job may have, and what cannot be computed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.characters import whole_number
from envcfg.lint.facts import is_many
from envcfg.lint.flow import is_alone, is_port_name, options, text_of
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.system import shares_nodes
from envcfg.lint.text import Hole, Text, holes, literal, start

_PORT_OPTIONS = frozenset({"master-port", "main-process-port", "rdzv-port"})
_ALL_OPTIONS = _PORT_OPTIONS | {"rdzv-endpoint"}
_OCTAL = re.compile(
    r"(?<!10#)(?:\$\{SLURM_JOB_?ID:\s*(?:-\d|\(-\d\))(?::\d+)?\}|\$\([^()]*tail\s+-c\s*-?\d[^()]*\))"
)
_EPHEMERAL = range(32768, 61000)


@detects("EC419")
def port(job: Job) -> Iterator[Fault]:
    """A port that another job may have, or that cannot be computed."""
    for name, value, scope in _port_values(job):
        yield from _judged(name, value, scope, job)


def _port_values(job: Job) -> Iterator[tuple[str, Text, str]]:
    for each in job.model.assignments:
        if is_port_name(each.name) and each.value is not None:
            yield each.name, text_of(each.value), each.scope
    for command in job.model.commands:
        for option in () if command.substitution else options(command):
            if option.name not in _ALL_OPTIONS or is_alone(command):
                continue
            if option.name in _PORT_OPTIONS:
                yield f"--{option.name}", option.value.text, command.scope
            elif option.name == "rdzv-endpoint":
                said = option.value.text
                if said and not said[-1].hole and ":" in said[-1].chars:
                    piece = said[-1]
                    skip = piece.chars.rindex(":") + 1
                    at = piece.at + skip if piece.at >= 0 else -1
                    rest = piece._replace(chars=piece.chars[skip:], at=at)
                    yield f"--{option.name}", (rest,), command.scope


def _judged(name: str, value: Text, scope: str, job: Job) -> Iterator[Fault]:
    said, at = literal(value), start(value)
    if (number := whole_number(said)) and at >= 0:
        is_taken = number in _EPHEMERAL and scope != "unknown"
        is_shared = shares_nodes(job) and scope == "batch"
        form = "taken" if is_taken else "shared" if is_shared else "fixed"
        yield Fault(at, {"port": said, "name": name}, form)
    for hole in holes(value):
        if hole.kind == "arithmetic" and _OCTAL.search(hole.text):
            yield Fault(hole.at, {"port": "", "name": name}, "octal")
        elif (
            hole.scope in ("task", "container")
            and _is_random(hole)
            and is_many(job.shape)
        ):
            yield Fault(hole.at, {"port": "", "name": name}, "random")


def _is_random(hole: Hole) -> bool:
    return hole.name == "RANDOM" or (
        hole.kind == "arithmetic" and "RANDOM" in hole.text
    )
