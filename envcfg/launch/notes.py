"""What the user should know of a plan, beside the plan itself; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envcfg import runtimes
from envcfg.findings import Finding
from envcfg.launch.container import asks_runtime, named_runtimes
from envcfg.launch.plan import Container, Options, Plan, Planned
from envcfg.profile.conditions import FACTS, VERSIONS
from envcfg.profile.facts import Fact
from envcfg.profile.model import Profile
from envcfg.profile.words import format_word
from envcfg.starters import STARTERS


def unknown_notes(unknown: Mapping[str, list[str]]) -> Iterable[Finding]:
    """Say which settings wait for a fact that nobody stated."""
    for fact, users in unknown.items():
        names = ", ".join(users)
        said = f"depends on {fact}, which is unknown: the safe value is used"
        fix = f"state it, as in --fact {fact}={FACTS[fact].example}"
        yield Finding("fact-unknown", "note", names, said, fix)


def stack_notes(
    profile: Profile, facts: Mapping[str, Fact], env: Mapping[str, str]
) -> list[Finding]:
    """Warn of versions that are known not to go together, or not with a setting.

    Args:
        env: the values that ranks get, as far as they are known.
    """
    known = {name: fact.value for name, fact in facts.items()}
    if not known.keys() & VERSIONS:  # nor is the table read
        return []
    from envcfg.profile.stacks import Job, known_faults

    provider = profile.expect.provider if profile.expect else None
    return known_faults(Job(known, provider, profile.name, env))


def first_values(planned: Mapping[str, Planned]) -> dict[str, str]:
    """Return of each variable that is set the first value that it can have."""
    return {
        name: format_word(case.value)
        for name, each in planned.items()
        for case in each.cases[:1]
        if case.value is not None
    }


def masking_notes(
    profile: Profile, planned: Mapping[str, Planned]
) -> Iterable[Finding]:
    """Warn of settings that mask GPUs on top of the profile."""
    layer = profile.visibility
    for name in layer.clear if layer else ():
        if name in planned and layer:
            said = (
                f"masks GPUs on top of {layer.variable}, and indices then count "
                "what that left over"
            )
            fix = f"set {layer.variable} alone"
            source = layer.reason.source
            yield Finding("gpu-masked-twice", "warning", name, said, fix, source)


def image_notes(container: Container | None) -> Iterable[Finding]:
    """Warn of an image that every rank would pull, or that signals harm."""
    if container is None:
        return
    known = runtimes.runtime(container.runtimes[0])
    if doubt := known.doubt(container.image):
        yield Finding("image-under-signals", "warning", container.image, *doubt)
    if known.is_pulled(container.image):
        what, way, image = known.pulled, known.pull, container.image
        yield Finding("image-pulled-by-every-rank", "warning", image, what, way)


def runtime_notes(
    profile: Profile, options: Options, container: Container | None
) -> Iterable[Finding]:
    """Say which of several kinds of runtimes was taken unseen, and what it does not get."""
    if container is None:
        return
    first = runtimes.runtime(container.runtimes[0])
    known = named_runtimes(profile)
    kinds = {each.kind for each in known}
    if options.runtime is None and not options.found and len(kinds) > 1:
        place = "first runtime" + (
            " that takes this image" if first != known[0] else ""
        )
        said = f"is the profile's {place}, and none of them is on PATH here"
        fix = "if the compute nodes have another: --runtime NAME"
        yield Finding("runtime-not-here", "note", first.name, said, fix)
    words = [
        word
        for word, each in profile.arguments.items()
        if each and first.kind not in (kinds if asks_runtime(each) else {known[0].kind})
    ]
    if words:
        what = f"left out: the profile has this for its own, not for {first.name}"
        way = (
            "docs/runtimes.md says how GPUs get into its containers; "
            "what it takes is given by --runtime-arg"
        )
        yield Finding("runtime-arguments-left-out", "note", " ".join(words), what, way)


def lifecycle_notes(profile: Profile) -> Iterable[Finding]:
    """Warn of a system that is not in production."""
    status = profile.lifecycle
    if status and status.state != "active":
        yield Finding(
            rule="system-not-active",
            severity="warning",
            subject=f"profile {profile.name}",
            message=f"the system is not active ({status.state}): {status.reason.why}",
            source=status.reason.source,
        )


def one_node_notes(plan: Plan, nodes: int) -> Iterable[Finding]:
    """Warn of ranks that start on one node of a job that has more."""
    if not STARTERS[plan.starter].spans_nodes and nodes > 1:
        said = f"the job has {nodes} nodes, but all ranks start on one of them"
        fix = (
            "--launcher srun starts them on all, where the profile allows it; "
            "--allow nodes, if one node is meant"
        )
        yield Finding(
            "one-node-of-several", "warning", f"launcher {plan.launcher}", said, fix
        )
