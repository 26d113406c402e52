"""How much the fuzz suite tries: a fixed number in CI, N times as many with ``--fuzz N``.

What CI tries is the same each time, so that it fails for a change and not for luck; with
``--fuzz`` it is something else each time, and a failure says how to get it back.
"""

from __future__ import annotations

from random import Random, SystemRandom

from hypothesis import HealthCheck, settings

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


def chance() -> Random:
    """Return chance for a test that needs no hypothesis; its seed is printed."""
    seed = 0 if times == 1 else SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    return Random(seed)
