"""Which modules a step loads, of the profile's and of the user's own; pure."""

from __future__ import annotations

from collections.abc import Iterable

from envcfg.launch.choose import GIVEN
from envcfg.launch.plan import Options, PlannedModule
from envcfg.profile.conditions import Truth
from envcfg.profile.facts import Facts
from envcfg.profile.model import Profile


def choose_modules(
    profile: Profile, options: Options, facts: Facts
) -> tuple[tuple[PlannedModule, ...], tuple[PlannedModule, ...]]:
    """Return the modules that the step loads, in order, and those that it only names.

    The user's own come last. Those of the profile are only named if the user does not want
    them: the job may still lack what they bring.
    """
    known = tuple(_of_profile(profile, facts))
    own = tuple(
        PlannedModule(name=name, action="load", reason=GIVEN, is_own=True)
        for name in options.modules
    )
    return (own if options.no_modules else (*known, *own)), known


def _of_profile(profile: Profile, facts: Facts) -> Iterable[PlannedModule]:
    for module in profile.modules.values():
        if module is None:
            continue
        truth, tests = facts.judge(module.when, module.name)
        if truth in {Truth.YES, Truth.IN_JOB}:
            yield PlannedModule(
                name=module.name,
                action=module.action,
                reason=module.reason,
                tests=tests,
            )
