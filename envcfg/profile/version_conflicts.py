"""Versions that are known to conflict: data, and its evaluation."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from envcfg.common.datafile import load_kept_file
from envcfg.common.findings import Finding, Severity
from envcfg.profile.conditions import Condition, Test, Truth, judge, parse_tests

DATA = "stacks.yaml"


class Stack(NamedTuple):
    """A set of versions and settings that makes a job hang or fail."""

    id: str
    severity: Severity
    when: Condition
    meaning: str
    why: str
    fix: str
    source: str
    date: str  # the date of the source, or of reading it
    provider: str = ""  # glob on the libfabric provider; empty: any
    profile: str = ""  # globs on the system's profile, with `|`; empty: any
    env: Condition = ()  # the tests of variables; an unset variable has the value `''`


class KnownJob(NamedTuple):
    """The known facts about a job, or only about an image."""

    facts: Mapping[str, str]  # by their names
    provider: str | None = None  # the system's libfabric provider; None: unknown
    profile: str | None = None
    # The values of the ranks' variables; None: unknown, then they only raise a doubt.
    env: Mapping[str, str] | None = None


def load_stacks() -> list[Stack]:
    """Read all combinations that are known to fail."""
    stacks = []
    for data in load_kept_file(f"knowledge/{DATA}")["stacks"]:
        when = (
            test
            for fact, text in data.pop("when").items()
            for test in parse_tests(fact, str(text))
        )
        env = (Test(name, "glob", text) for name, text in data.pop("env", {}).items())
        stacks.append(Stack(when=tuple(when), env=tuple(env), **data))
    return stacks


def known_faults(job: KnownJob, stacks: Iterable[Stack] | None = None) -> list[Finding]:
    """Return the known problems of *job*.

    An unknown fact is never guessed, and problems that depend on it are not reported.
    Only the number of nodes may be open.
    """
    return [
        Finding(
            rule=stack.id,
            severity=severity,
            subject=_subject(stack, job),
            message=stack.meaning,
            why=stack.why,
            fix=stack.fix,
            source=f"{stack.source}, {stack.date}",
        )
        for stack in (load_stacks() if stacks is None else stacks)
        if (severity := _severity(stack, job))
    ]


def _severity(stack: Stack, job: KnownJob) -> Severity | None:
    truth, _, _ = judge(stack.when, job.facts)
    # A condition on the number of nodes is decided in the job, so the problem is
    # still possible.
    if truth not in (Truth.YES, Truth.IN_JOB):
        return None
    for glob, value in ((stack.provider, job.provider), (stack.profile, job.profile)):
        # Without the provider or profile, the problem cannot be confirmed, and a
        # guess would mislead.
        globs = glob.split("|") if glob else ()
        if globs and not any(fnmatchcase(value or "", each) for each in globs):
            return None
    environment = job.env or {}
    if not all(test.holds_for(environment.get(test.fact, "")) for test in stack.env):
        return None
    # The variables are unknown, so the problem is only possible. One that needs a
    # value of the user is not reported.
    return "note" if job.env is None and stack.env else stack.severity


def _subject(stack: Stack, job: KnownJob) -> str:
    facts = dict.fromkeys(test.fact for test in stack.when if test.fact in job.facts)
    environment = job.env or {}
    names = dict.fromkeys(test.fact for test in stack.env if test.fact in environment)
    return ", ".join(
        (
            *(f"{name} {job.facts[name]}" for name in facts),
            *(f"{name}={environment[name]}" for name in names),
        )
    )
