"""Python's model of the environment that a plan gives to a rank.

Written from docs/profiles.md, not from the generated bash: the tests hold one against the
other.
"""

from __future__ import annotations

from collections.abc import Mapping

from envcfg.job.plan.plan import Plan
from envcfg.profile.conditions import Condition
from envcfg.profile.entries import Bundle, Setting
from envcfg.profile.setting_scope import INSIDE
from envcfg.profile.words import Word

Environ = Mapping[str, str]


class NotSetError(Exception):
    """A value refers to a variable that nobody has set: the step must end."""


def environment(plan: Plan, job: Environ, identity: Environ, nodes: int) -> Environ:
    """Return the environment of a rank.

    Args:
        plan: what the profile and the options come to.
        job: what the batch script has exported.
        identity: what is set for the rank itself: ``RANK``, ``LOCAL_RANK``.
        nodes: how many the job has.

    Raises:
        NotSetError: if the step cannot start.
    """
    given: dict[str, str | None] = {}
    for setting in (each for each in plan.settings if each.scope == "host"):
        given |= made(setting, job, job, nodes)
    for bundle in applied(plan, job, nodes):
        given |= {name: evaluated(word, job) for name, word in bundle.env.items()}
    seen = {**job, **given, **identity}
    present = {name: value for name, value in seen.items() if value is not None}
    known = INSIDE | {setting.name for setting in plan.settings}
    for setting in (each for each in plan.settings if each.scope != "host"):
        # Settings and the rank's own are seen as they are by now, all else as in the job.
        now = {name: value for name, value in present.items() if name in known}
        outside = {name: value for name, value in job.items() if name not in known}
        for name, value in made(setting, {**outside, **now}, job, nodes).items():
            if value is None:
                present.pop(name, None)
            else:
                present[name] = value
    return present


def applied(plan: Plan, job: Environ, nodes: int) -> list[Bundle]:
    """Return the bundles that apply: all of each, or nothing of it."""
    return [
        bundle
        for bundle in plan.bundles
        if holds(bundle.when, nodes)
        and all(job.get(name, value) == value for name, value in plain(bundle).items())
    ]


def networks(plan: Plan, job: Environ, nodes: int) -> list[str]:
    """Return the values of srun's ``--network`` that all bundles want."""
    values = [value for value in job.get("SLURM_NETWORK", "").split(",") if value]
    for bundle in applied(plan, job, nodes):
        values += [value for value in bundle.network if value not in values]
    return values


def made(
    setting: Setting, seen: Environ, job: Environ, nodes: int
) -> dict[str, str | None]:
    """Return what becomes of one variable; nothing, if it is left alone."""
    for case in setting.cases:
        if holds(case.when, nodes):
            refers = [part for part in case.value or () if not isinstance(part, str)]
            unset = [r for r in refers if r.default is None and r.name not in seen]
            if unset and setting.optional:
                return {}
            value = None if case.value is None else evaluated(case.value, seen)
            wins = setting.name in job and not setting.force
            return {setting.name: job[setting.name] if wins else value}
    return {}


def holds(tests: Condition, nodes: int) -> bool:
    return all(test.holds_for(str(nodes)) for test in tests)


def evaluated(word: Word, seen: Environ) -> str:
    text = ""
    for part in word:
        if isinstance(part, str):
            text += part
        elif part.default is None and part.name not in seen:
            raise NotSetError(part.name)
        else:
            text += seen.get(part.name, "") or part.default or ""
    return text


def plain(bundle: Bundle) -> dict[str, str]:
    return {name: evaluated(word, {}) for name, word in bundle.env.items()}
