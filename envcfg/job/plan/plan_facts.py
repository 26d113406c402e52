"""The facts of a job: from runtime and launcher, the image, and the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from envcfg.common.errors import UsageError, suggest
from envcfg.common.findings import Finding
from envcfg.job.plan.applicable_settings import GIVEN
from envcfg.job.plan.plan import Options
from envcfg.profile.conditions import FACTS, IN_JOB, Test, fact_problem
from envcfg.profile.job_facts import Fact, Facts
from envcfg.profile.profile_model import Profile

STATED = GIVEN._replace(why="stated for this job", source="--fact")


def gather_facts(
    profile: Profile, options: Options, launcher: str, runtime: str
) -> tuple[Facts, list[Finding]]:
    """Return the known facts, and findings for contradictions on the image.

    The user wins over the image's content, and the content over the image's name.

    Args:
        runtime: the kind of the runtime; ``none`` without a container.
    """
    decision = f": {options.statements[0]}" if options.statements else ""
    reason = GIVEN._replace(why=f"the launcher of this job{decision}", source="envcfg")
    entered = GIVEN._replace(why="the runtime of this job", source="envcfg")
    by_image = GIVEN._replace(why="read in the image", source="--container")
    named_facts, name = _name_facts(profile, options)
    read_facts = {
        fact: Fact(value, by_image._replace(why=f"{by_image.why}: {evidence}"))
        for fact, (value, evidence) in options.image_facts.facts.items()
        if fact in FACTS and fact_problem(fact, value) is None
    }
    stated = {fact: Fact(value, STATED) for fact, value in options.facts.items()}
    facts = {
        "launcher": Fact(launcher, reason),
        "runtime": Fact(runtime, entered),
        "container": name,
        **named_facts,
        **read_facts,
        **stated,
    }
    return Facts(facts), [
        *_conflicts(
            read_facts, stated, "--fact says {0}, which wins: the image has {1}"
        ),
        *_conflicts(
            {
                fact: fact_read
                for fact, fact_read in read_facts.items()
                if fact not in stated
            },
            named_facts,
            "the image has {1}, which wins: its name says {0}",
        ),
    ]


def wrong_architecture(
    profile: Profile, facts: Facts, image: str | None
) -> Iterator[Finding]:
    """Yield an error if the image's programs cannot run on the nodes of *profile*."""
    machine = profile.node.architecture if profile.node else None
    fact = facts.known.get("architecture")
    if machine and fact and fact.value != machine:
        message = f"is for {fact.value}, and the nodes of {profile.name} are {machine}"
        fix = f"use an image for {machine}"
        yield Finding("image-architecture", "error", image or "", message, fix)


def check_facts(facts: Mapping[str, str]) -> None:
    """Check the form of stated facts.

    Raises:
        UsageError: for an unknown name or a value of the wrong kind.
    """
    for name, value in facts.items():
        if name not in FACTS:
            msg = f"--fact {name}={value}: unknown fact {name!r}"
            raise UsageError(msg, hint=suggest(name, FACTS))
        if problem := fact_problem(name, value):
            msg = f"--fact {name}={value}: {problem}"
            raise UsageError(msg)
    if facts.keys() & IN_JOB and facts.get("nodes") == "0":
        msg = "--fact nodes=0: a job has at least one node"
        raise UsageError(msg)


def _name_facts(profile: Profile, options: Options) -> tuple[dict[str, Fact], Fact]:
    """Return the facts in the image's name, and the name itself.

    An image built from one of the site's images counts as that one, because its own
    file has an arbitrary name.
    """
    by_name = GIVEN._replace(why="the name of the image's file", source="--container")
    if options.container is None:
        return {}, Fact("none", by_name)
    own = _last_part(options.image_file or options.container)
    globs = list(_globs(profile)) if options.image_facts.bases else []
    patterns = [name_fact.pattern for name_fact in profile.image_facts or ()]
    name, reason = own, by_name
    for image_name in (own, *map(_last_part, options.image_facts.bases)):
        is_known = any(glob.holds_for(image_name) for glob in globs)
        if is_known or any(re.search(pattern, image_name) for pattern in patterns):
            if image_name != own:
                why = f"the image was made from {image_name}"
                name, reason = image_name, by_name._replace(why=why)
            break
    facts = {}
    for name_fact in profile.image_facts or ():
        if match := re.search(name_fact.pattern, name):
            groups = match.groupdict(default="")
            for fact, text in name_fact.facts.items():
                value = text.format_map(groups)
                if fact_problem(fact, value) is None:  # a name may be misleading
                    why = (
                        f"according to the image's name, {name}: {name_fact.reason.why}"
                    )
                    facts[fact] = Fact(value, name_fact.reason._replace(why=why))
    return facts, Fact(name, reason)


def _globs(value: object) -> Iterator[Test]:
    """Yield the tests on the image's name in all parts of a profile."""
    if isinstance(value, Test):
        if value.fact == "container" and not value.operand.startswith("!"):
            yield value
    elif isinstance(value, Mapping):
        for element in value.values():
            yield from _globs(element)
    elif isinstance(value, tuple):  # records are tuples, too
        for element in value:
            yield from _globs(element)


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _conflicts(
    facts: Mapping[str, Fact], second: Mapping[str, Fact], words: str
) -> Iterable[Finding]:
    """Yield the differences between *facts*, read in the image, and *second*."""
    for fact, fact_read in facts.items():
        fact_stated = second.get(fact)
        if fact_stated and not _is_same(fact_read.value, fact_stated.value):
            message = words.format(
                fact_stated.value, f"{fact_read.value} ({fact_read.reason.why})"
            )
            fix = (
                f"leave out --fact {fact}={fact_stated.value}, "
                "or take the image that has it"
                if fact_stated.reason is STATED
                else "rename the image's file, if its name is not the site's any more"
            )
            yield Finding("fact-conflict", "warning", fact, message, fix)


def _is_same(first: str, second: str) -> bool:
    """Return whether one of two versions is a more precise form of the other."""
    parts, other_parts = first.split("."), second.split(".")
    shorter = min(len(parts), len(other_parts))
    return parts[:shorter] == other_parts[:shorter]
