"""The parts of a profile that apply to a job, as far as the facts are known; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from envcfg.common.findings import Finding, Place
from envcfg.job.plan.plan import Options
from envcfg.profile.conditions import ALWAYS, Truth
from envcfg.profile.entries import (
    Argument,
    BindMount,
    Bundle,
    Case,
    Export,
    Prefix,
    Setting,
)
from envcfg.profile.job_facts import Facts, Reason
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import EnvironmentModule
from envcfg.profile.words import Word

Entry = TypeVar("Entry", Argument, Bundle, Export, EnvironmentModule, BindMount, Prefix)
# An option on the command line needs no other reason.
GIVEN = Reason(
    why="given for this job",
    source="command line",
    date="",
    place=Place(path="command line", line=1),
)


def recorded(name: str, value: Word, record: Mapping[str, Any]) -> Setting:
    """Return the setting of an option, with the reason in a record of ``knowledge/``."""
    why, source, date = record["why"], record["source"], str(record["date"])
    return Setting(name, (Case(value, Reason(why, source, date, GIVEN.place)),))


def choose_cases(setting: Setting, facts: Facts) -> Iterable[Case]:
    """Yield the cases that can still apply; the last one may be ``otherwise``."""
    case: Case | None = None
    for case in setting.cases:
        truth, tests = facts.judge(case.when, setting.name)
        if truth is Truth.YES:
            yield case._replace(when=ALWAYS)
            return
        if truth is Truth.IN_JOB:
            yield case._replace(when=tests)
        if truth is Truth.UNKNOWN:
            break
    if case is not None and setting.otherwise is not None:
        reason = case.reason._replace(why=f"otherwise; {case.reason.why}")
        yield Case(value=setting.otherwise, reason=reason)


def choose_bundles(
    profile: Profile, options: Options, keys: Sequence[str], facts: Facts
) -> tuple[list[Bundle], list[Finding]]:
    """Return the bundles that can apply, and a note on each bundle split by an option.

    Args:
        keys: the keys of a bundle for this starter, as in ``Starter.bundled``.
    """
    selected, notes = [], []
    own = [
        bundle for bundle in profile.bundles.values() if bundle and bundle.is_for(keys)
    ]
    for bundle in applying(own, facts, attrgetter("name")):
        touched = [name for name in bundle.env if name in options.settings]
        if touched:
            message = f"is left out as a whole: {touched[0]} is given for this job"
            fix = f"its parts work together only: {', '.join(bundle.env)}"
            source, name = bundle.reason.source, bundle.name
            notes.append(Finding("bundle-left-out", "note", name, message, fix, source))
            continue
        own_network = bundle.network if "network" in keys else ()
        selected.append(bundle._replace(network=own_network))
    return selected, notes


def choose_arguments(
    arguments: Mapping[str, Argument | None], facts: Facts
) -> Iterator[Argument]:
    """Yield the arguments that can apply."""
    return applying(arguments.values(), facts, attrgetter("word"))


def applying(
    entries: Iterable[Entry | None], facts: Facts, name: Callable[[Entry], str]
) -> Iterator[Entry]:
    """Yield the entries that may apply, each with the conditions left to the job.

    An entry that depends on an unknown fact is noted by its *name*.
    """
    for entry in filter(None, entries):
        truth, tests = facts.judge(entry.when, name(entry))
        if truth in {Truth.YES, Truth.IN_JOB}:
            yield entry._replace(when=tests)


def choose_modules(
    profile: Profile, options: Options, facts: Facts
) -> tuple[tuple[EnvironmentModule, ...], tuple[EnvironmentModule, ...]]:
    """Return the modules that the step loads, in order, and those of the profile.

    The user's modules come last. The profile's are only mentioned if the user does not
    want them: the job may still lack their programs.
    """
    modules = tuple(applying(profile.modules.values(), facts, attrgetter("name")))
    own = tuple(EnvironmentModule(name, "load", GIVEN) for name in options.modules)
    return (own if "no_modules" in options.switches else (*modules, *own)), modules
