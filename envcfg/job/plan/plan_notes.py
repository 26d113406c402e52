"""Notes for the user on a plan; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from envcfg.common.findings import Finding
from envcfg.job.plan.container import asks_runtime, named_runtimes
from envcfg.job.plan.plan import Container, Options, Plan
from envcfg.profile.conditions import FACTS, VERSIONS
from envcfg.profile.entries import Setting
from envcfg.profile.job_facts import Fact
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import format_word

# By the state in ``verified``; a profile in the state ``run`` has been proven.
_WRITTEN = {
    "site documentation": "written from documentation",
    "user repository": "written from scripts and quotes of users",
    "inferred": "partly inferred from other systems",
    "generated": "generated from the values of another tool",
}


_LOOPBACK = r"localhost|127\.|::1$|0\.0\.0\.0$"


def unknown_notes(unknown: Mapping[str, list[str]]) -> Iterable[Finding]:
    """Yield a note for each unknown fact, with the settings that depend on it."""
    for fact, users in unknown.items():
        names = ", ".join(users)
        message = f"depends on {fact}, which is unknown: the safe value is used"
        fix = f"state it, as in --fact {fact}={FACTS[fact].example}"
        yield Finding("fact-unknown", "note", names, message, fix)


def stack_notes(
    profile: Profile, facts: Mapping[str, Fact], env: Mapping[str, str]
) -> list[Finding]:
    """Warn of versions that are known to conflict with each other or with a setting.

    Args:
        env: the known values of the ranks' variables.
    """
    values = {name: fact.value for name, fact in facts.items()}
    if not values.keys() & VERSIONS:  # the table is not read either
        return []
    from envcfg.profile.version_conflicts import KnownJob, known_faults

    provider = profile.expect.provider if profile.expect else None
    return known_faults(KnownJob(values, provider, profile.name, env))


def first_values(planned: Mapping[str, Setting]) -> dict[str, str]:
    """Return the first possible value of each variable that is set."""
    return {
        name: format_word(case.value)
        for name, entry in planned.items()
        for case in entry.cases[:1]
        if case.value is not None
    }


def masking_notes(
    profile: Profile, planned: Mapping[str, Setting]
) -> Iterable[Finding]:
    """Warn of settings that mask GPUs on top of the profile."""
    layer = profile.visibility
    for name in filter(None, (layer.numbers, *layer.clear)) if layer else ():
        if name in planned and layer:
            message = (
                f"masks GPUs on top of {layer.variable}, and indices then count "
                "what that left over"
            )
            fix = f"set {layer.variable} alone"
            source = layer.reason.source
            yield Finding("gpu-masked-twice", "warning", name, message, fix, source)


def image_notes(container: Container | None) -> Iterable[Finding]:
    """Warn of an image that every rank would pull, or that looks harmful."""
    if container is None:
        return
    runtime = container.runtimes[0]
    if doubt := runtime.doubt(container.image):
        yield Finding("image-under-signals", "warning", container.image, *doubt)
    if runtime.is_pulled(container.image):
        message, way, image = runtime.pulled, runtime.pull, container.image
        yield Finding("image-pulled-by-every-rank", "warning", image, message, way)


def runtime_notes(
    profile: Profile, options: Options, container: Container | None
) -> Iterable[Finding]:
    """Yield notes on a runtime that was chosen without evidence, and on ignored options."""
    if container is None:
        return
    first = container.runtimes[0]
    runtimes_named = named_runtimes(profile)
    kinds = {runtime.kind for runtime in runtimes_named}
    if options.runtime is None and not options.runtimes_here and len(kinds) > 1:
        place = "first runtime" + (
            " that takes this image" if first != runtimes_named[0] else ""
        )
        literal_string = f"is the profile's {place}, and none of them is on PATH here"
        fix = "if the compute nodes have another: --runtime NAME"
        yield Finding("runtime-not-here", "note", first.name, literal_string, fix)
    words = [
        word
        for word, argument in profile.arguments.items()
        if argument
        and first.kind
        not in (kinds if asks_runtime(argument) else {runtimes_named[0].kind})
    ]
    if words:
        message = f"left out: the profile has this for its own, not for {first.name}"
        way = (
            "docs/runtimes.md says how GPUs get into its containers; "
            "what it takes is given by --runtime-arg"
        )
        yield Finding(
            "runtime-arguments-left-out", "note", " ".join(words), message, way
        )


def status_notes(profile: Profile) -> Iterable[Finding]:
    """Warn of a system that is not in production, and of a profile that never ran on it."""
    status = profile.lifecycle
    if status and status.state != "active":
        yield Finding(
            rule="system-not-active",
            severity="warning",
            subject=f"profile {profile.name}",
            message=f"the system is not active ({status.state}): {status.reason.why}",
            source=status.reason.source,
        )
    origin = profile.verified
    if origin and origin.state in _WRITTEN:
        # Import late: a proven profile has no such note.
        from envcfg.profile.evidence import by_users

        names = [
            setting.name
            for setting in filter(None, profile.env.values())
            if any(
                case.reason.place.path == origin.reason.place.path
                and by_users(case.reason.cited)
                for case in setting.cases
            )
        ]
        weak = f" (values of users' scripts: {', '.join(names)})" if names else ""
        message = f"{_WRITTEN[origin.state]}, never tested{weak}: "
        yield Finding(
            rule="profile-never-run",
            severity="note",
            subject=f"profile {profile.name}",
            message=f"{message}run envcfg profiles probe",
            source=origin.reason.source,
            why=origin.reason.why,
        )


def rank_notes(plan: Plan, nodes: int) -> Iterable[Finding]:
    """Warn of ranks that share GPUs, that start on one of several nodes, or that
    cannot meet."""
    gpus, ranks = plan.options.gpus or plan.profile.gpus, plan.options.ranks
    if ranks and gpus and ranks > gpus:
        message = f"counts on each node, and a node has {gpus} GPUs: ranks share them"
        fix = f"one rank per GPU: --ranks {gpus}"
        yield Finding("ranks-share-gpus", "warning", f"--ranks {ranks}", message, fix)
    address = plan.options.settings.get("MASTER_ADDR")
    text = format_word(address) if address else ""
    if nodes > 1 and re.match(_LOOPBACK, text):
        message = f"the ranks of {nodes} nodes cannot meet there, and the script stops"
        fix = "leave it out: envcfg sets the first node"
        subject = f"--set MASTER_ADDR={text}"
        yield Finding("loopback-set", "warning", subject, message, fix)
    if not plan.starter.spans_nodes and nodes > 1:
        message = f"the job has {nodes} nodes, but all ranks start on one of them"
        fix = (
            "--launcher srun starts them on all, where the profile allows it; "
            "--allow nodes, if one node is meant"
        )
        yield Finding(
            "one-node-of-several", "warning", f"launcher {plan.launcher}", message, fix
        )
