"""The facts of one job: what is chosen, what its image tells, what the user states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from envcfg.errors import UsageError, suggest
from envcfg.findings import Finding
from envcfg.launch.choose import GIVEN
from envcfg.launch.plan import Options
from envcfg.profile.conditions import FACTS, IN_JOB, Test, fact_problem
from envcfg.profile.facts import Fact, Facts
from envcfg.profile.model import Profile

STATED = GIVEN._replace(why="stated for this job", source="--fact")


def gather_facts(
    profile: Profile, options: Options, launcher: str, runtime: str
) -> tuple[Facts, list[Finding]]:
    """Return what is known, and where two who say something of the image differ.

    The user wins over what was read in the image, and that over the image's name.

    Args:
        runtime: the same, by kind; ``none`` without a container.
    """
    chosen = GIVEN._replace(why="the launcher of this job", source="envcfg")
    entered = GIVEN._replace(why="the runtime of this job", source="envcfg")
    by_image = GIVEN._replace(why="read in the image", source="--container")
    named, name = _named(profile, options)
    read = {
        fact: Fact(value, by_image._replace(why=f"{by_image.why}: {at}"))
        for fact, (value, at) in options.read.facts.items()
        if fact in FACTS and fact_problem(fact, value) is None
    }
    stated = {fact: Fact(said, STATED) for fact, said in options.facts.items()}
    known = {
        "launcher": Fact(launcher, chosen),
        "runtime": Fact(runtime, entered),
        "container": name,
        **named,
        **read,
        **stated,
    }
    return Facts(known), [
        *_conflicts(read, stated, "--fact says {0}, which wins: the image has {1}"),
        *_conflicts(
            {fact: each for fact, each in read.items() if fact not in stated},
            named,
            "the image has {1}, which wins: its name says {0}",
        ),
    ]


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


def _named(profile: Profile, options: Options) -> tuple[dict[str, Fact], Fact]:
    """Return the facts that the image's name tells, and the name itself.

    An image that was made from one of the site's counts as that one: its own file has the
    name that somebody gave it.
    """
    by_name = GIVEN._replace(why="the name of the image's file", source="--container")
    if options.container is None:
        return {}, Fact("none", by_name)
    own = _last_part(options.image_file or options.container)
    globs = list(_globs(profile)) if options.read.bases else []
    patterns = [each.pattern for each in profile.image_facts or ()]
    name, reason = own, by_name
    for each in (own, *map(_last_part, options.read.bases)):
        is_known = any(glob.holds_for(each) for glob in globs)
        if is_known or any(re.search(pattern, each) for pattern in patterns):
            if each != own:
                why = f"the image was made from {each}"
                name, reason = each, by_name._replace(why=why)
            break
    facts = {}
    for known in profile.image_facts or ():
        if match := re.search(known.pattern, name):
            groups = match.groupdict(default="")
            for fact, text in known.facts.items():
                value = text.format_map(groups)
                if fact_problem(fact, value) is None:  # a name may mislead
                    why = f"the image's name, {name}, says so: {known.reason.why}"
                    facts[fact] = Fact(value, known.reason._replace(why=why))
    return facts, Fact(name, reason)


def _globs(value: object) -> Iterator[Test]:
    """Yield the tests on the image's name, wherever in a profile they stand."""
    if isinstance(value, Test):
        if value.fact == "container" and not value.operand.startswith("!"):
            yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _globs(each)
    elif isinstance(value, tuple):  # records are tuples, too
        for each in value:
            yield from _globs(each)


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _conflicts(
    one: Mapping[str, Fact], other: Mapping[str, Fact], words: str
) -> Iterable[Finding]:
    """Yield where *one*, read in the image, and *other* differ in what both say."""
    for fact, read in one.items():
        said = other.get(fact)
        if said and not _is_same(read.value, said.value):
            what = words.format(said.value, f"{read.value} ({read.reason.why})")
            fix = (
                f"leave out --fact {fact}={said.value}, or take the image that has it"
                if said.reason is STATED
                else "rename the image's file, if its name is not the site's any more"
            )
            yield Finding("fact-conflict", "warning", fact, what, fix)


def _is_same(read: str, said: str) -> bool:
    """Tell whether one of two versions is the other, said more precisely."""
    parts, others = read.split("."), said.split(".")
    shorter = min(len(parts), len(others))
    return parts[:shorter] == others[:shorter]
