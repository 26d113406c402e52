"""How much the fuzz suite tries: a fixed number in CI, N times as many with ``--fuzz N``.

What CI tries is the same each time, so that it fails for a change and not for luck; with
``--fuzz`` it is something else each time, and a failure says how to get it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random, SystemRandom
from typing import TypeVar

from hypothesis import HealthCheck, settings

Case = TypeVar("Case")

# What --fuzz and --all say; conftest.py sets both before a test is collected.
times = 1
is_complete = False


def tries(examples: int) -> settings:
    """Return hypothesis' settings for a fuzz test that tries *examples* in CI."""
    return settings(
        max_examples=examples * times,
        derandomize=times == 1,
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
    )


def part(examples: int) -> settings:
    """Return hypothesis' settings that try *examples* at night, and an eighth each day."""
    return settings(max_examples=examples if is_complete else examples // 8)


def of_today(cases: Mapping[str, Case], *, every: int) -> dict[str, Case]:
    """Return all *cases* at night, and one in *every* each day."""
    return dict([*cases.items()][:: 1 if is_complete else every])


def chance() -> Random:
    """Return chance for a test that needs no hypothesis; its seed is printed."""
    seed = 0 if times == 1 else SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    return Random(seed)
