"""Versions that are known not to go together: data, and the judge of it."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from envcfg.datafile import knowledge_path, load_kept
from envcfg.findings import Finding, Severity
from envcfg.profile.conditions import Condition, Test, Truth, judge, parse_tests

DATA = "stacks.yaml"


class Stack(NamedTuple):
    """A set of versions and settings with which a job hangs or is wrong.

    Attributes:
        id: of the rule.
        severity: of what is found.
        when: the facts that it takes.
        provider: glob on the libfabric provider; empty: any.
        profile: glob on the system's profile; empty: any.
        env: the tests on variables; one that is not set has the value ``''``.
        meaning: what happens.
        why: how it comes to that.
        fix: what to do.
        source: who has seen it.
        date: when that was read, or written.
    """

    id: str
    severity: Severity
    when: Condition
    meaning: str
    why: str
    fix: str
    source: str
    date: str
    provider: str = ""
    profile: str = ""
    env: Condition = ()


class Job(NamedTuple):
    """What is known of a job, or only of an image.

    Attributes:
        facts: by their names.
        provider: libfabric's, of the system; None: not known.
        profile: the system's; None: not known.
        env: the values that ranks get; None: not known, then what hangs on one is a doubt.
    """

    facts: Mapping[str, str]
    provider: str | None = None
    profile: str | None = None
    env: Mapping[str, str] | None = None


def load_stacks() -> list[Stack]:
    """Read all stacks that are known to fail."""
    found = []
    for data in load_kept("stacks", [knowledge_path(DATA)])[0]["stacks"]:
        when = (
            test
            for fact, text in data.pop("when").items()
            for test in parse_tests(fact, str(text))
        )
        env = (Test(name, "glob", text) for name, text in data.pop("env", {}).items())
        found.append(Stack(when=tuple(when), env=tuple(env), **data))
    return found


def known_faults(job: Job, stacks: Iterable[Stack] | None = None) -> list[Finding]:
    """Return what is known to go wrong with *job*.

    A fact that is not known is never guessed: what hangs on it is not said. The number of
    nodes alone may be open.
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


def _severity(stack: Stack, job: Job) -> Severity | None:
    truth, _, _ = judge(stack.when, job.facts)
    if truth not in (Truth.YES, Truth.IN_JOB):
        return None
    for glob, value in ((stack.provider, job.provider), (stack.profile, job.profile)):
        if glob and (value is None or not fnmatchcase(value, glob)):
            return None
    if job.env is None and stack.env:
        return "note"
    known = job.env or {}
    holds = all(test.holds_for(known.get(test.fact, "")) for test in stack.env)
    return stack.severity if holds else None


def _subject(stack: Stack, job: Job) -> str:
    facts = dict.fromkeys(test.fact for test in stack.when if test.fact in job.facts)
    known = job.env or {}
    names = dict.fromkeys(test.fact for test in stack.env if test.fact in known)
    return ", ".join(
        (
            *(f"{name} {job.facts[name]}" for name in facts),
            *(f"{name}={known[name]}" for name in names),
        )
    )
