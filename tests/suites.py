"""Two suites: the daily one, and the complete one of each night (``--all``).

A test with the mark ``nightly`` is left out of the daily suite. Profiles differ in data
only, so the daily suite takes one system of each archetype.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

Case = TypeVar("Case")
NIGHTLY = pytest.mark.nightly
ARCHETYPES = {
    "lumi-g": "Slingshot, AMD",
    "perlmutter": "Slingshot, NVIDIA",
    "mahti": "InfiniBand",
    "oci-h100": "RoCE",
    "aws-p5": "EFA",
    "alps-clariden": "Container Engine",
    "polaris": "PBS",
    "tuolumne": "Flux",
}
DAILY = frozenset({*ARCHETYPES, "workstation"})
FEW = frozenset({"lumi-g", "mahti", "polaris"})


def mark_systems(
    cases: Iterable[str | tuple[object, ...]], daily: frozenset[str] = DAILY
) -> list[ParameterSet]:
    """Return parameters of a test, in which all but the archetypes are nightly.

    A case is the name of a profile, or a tuple that begins with one. A test that takes
    seconds for each gives the few that it needs each day.
    """
    return [
        pytest.param(*values, marks=() if values[0] in daily else NIGHTLY)
        for values in ((case,) if isinstance(case, str) else case for case in cases)
    ]


def mark_sample(cases: Iterable[object], *, every: int) -> list[ParameterSet]:
    """Return parameters of a test, of which one in *every* is daily, the others nightly.

    For cases that differ in data only: those of each day are spread over the whole list.
    """
    return [
        pytest.param(case, marks=NIGHTLY if number % every else ())
        for number, case in enumerate(cases)
    ]


def in_groups(cases: Iterable[Case], size: int = 50) -> list[Sequence[Case]]:
    """Return *cases* in groups, for a test that runs over a whole group.

    A test costs pytest some milliseconds, which is more than one of such cases. Their
    assertions name the case.
    """
    every = list(cases)
    return [every[start : start + size] for start in range(0, len(every), size)]
