"""A step to the plan of its job, with all that is to be said of it."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.commands.machine import job_nodes
from envcfg.commands.options.step import Step
from envcfg.launch.image import missing_sources
from envcfg.launch.notes import one_node_notes
from envcfg.launch.plan import Plan
from envcfg.launch.resolve import resolve


def plan_step(step: Step) -> Plan:
    """Return the plan of *step*, in whose notes is what was seen on this machine, too.

    Raises:
        UsageError: something cannot be right.
    """
    return complete(resolve_step(step), step, job_nodes())


def resolve_step(step: Step) -> Plan:
    """Return the plan of *step* as its profile has it, which is not complete yet.

    Raises:
        UsageError: something cannot be right.
    """
    return resolve(step.profile, step.profile_hash, step.options, step.notes)


def complete(plan: Plan, step: Step, nodes: int) -> Plan:
    """Return *plan* with what only the machine and the whole job tell.

    Args:
        plan: of ``resolve_step``; its number of ranks may be the job's by now.
        step: which it is of.
        nodes: how many the job has.

    Raises:
        UsageError: something cannot be right.
    """
    if plan.diagnostics.preflight:
        from envcfg.commands.options.preflight import with_preflight

        plan = with_preflight(plan, step)
    seen = (
        *step.findings,
        *missing_sources(plan.container),
        *one_node_notes(plan, nodes),
    )
    return plan._replace(notes=(*seen, *plan.notes))


def made_by(argv: Sequence[str], step: Step) -> tuple[str, ...]:
    """Return the command line that makes the same again: it names the profile's layer.

    Args:
        argv: the command line as it was given.
        step: what it has come to.
    """
    name = step.profile_name
    if ":" not in name or "/" in name:  # a file, or what is the same everywhere
        return tuple(argv)
    end = argv.index("--") if "--" in argv else len(argv)
    words = list(argv[:end])
    for at, word in enumerate(words):
        if word == "--profile" and at + 1 < end:
            words[at + 1] = name
            break
        if word.startswith("--profile="):
            words[at] = f"--profile={name}"
            break
    else:
        words += ["--profile", name]
    return (*words, *argv[end:])
