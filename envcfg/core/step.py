"""A step: what the user wants to run, with the profile that is chosen, to its plan."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.core.diagnostics import DIAGNOSTICS, SPEEDS
from envcfg.core.option import NO_DEFAULT, Option, Table, write_options
from envcfg.core.selection import (
    current_folder,
    job_nodes,
    open_catalog,
    overlays,
    select_profile,
)
from envcfg.core.site import ask, on_path
from envcfg.core.step_options import STEP, read_diagnostics
from envcfg.core.values import Change
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.container import choose_runtimes, named_runtimes
from envcfg.launch.diagnostics import is_path
from envcfg.launch.facts import check_facts
from envcfg.launch.image import locate_image, missing_sources
from envcfg.launch.notes import one_node_notes
from envcfg.launch.plan import Options, Plan, Read
from envcfg.launch.program import program_notes
from envcfg.launch.resolve import resolve
from envcfg.profile.conditions import CHOSEN
from envcfg.profile.model import Profile
from envcfg.profile.words import format_word
from envcfg.starters import OWN

# Those of wrap that make the nodes and ranks what they are in the job.
SAME: Table = {
    **{title: each for title, each in STEP.items() if title not in DIAGNOSTICS},
    "what comes first in each task": [
        each
        for options in DIAGNOSTICS.values()
        for each in options
        if each.flag == "--setup"
    ],
}
REQUIRE = Option(
    "--require",
    "fail, unless NCCL's log proves that traffic takes the fast network",
    choices=SPEEDS,
)


class Step(NamedTuple):
    """What the user wants to run.

    Attributes:
        profile_name: as it was given or detected; a name, with its layer, or a file.
        profile_hash: SHA-256 over the bytes of the profile's files.
        given: as it was asked for: the values of ``STEP``, by name.
        options: what that comes to.
        findings: what may go wrong, seen from this machine.
        notes: on the profile's files, for the plan.
        inputs: files that the step is made from, or needs.
        defaults: options that come from files, each with its place.
    """

    profile_name: str
    profile: Profile
    profile_hash: str
    given: Mapping[str, Any]
    options: Options
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    inputs: tuple[str, ...]
    defaults: tuple[str, ...] = ()


def make_step(
    values: Mapping[str, Any],
    command: Sequence[str] | None,
    example: str,
    *,
    is_line: bool = False,
) -> Step:
    """Return what is asked for, with the profile that is chosen.

    Args:
        values: what the user says, as options of ``STEP``, by name.
        command: the program and its arguments; None: a script of several steps.
        is_line: *command* is a launch line, with srun and the container.

    Raises:
        UsageError: they cannot be right; also ``ProfileError``.
    """
    if command is not None and not command:
        msg = "no command after --"
        raise UsageError(msg, hint=example)
    for name, given in (
        ("--profile", values["profile"]),
        ("--container", values["container"]),
        ("the command", command[0] if command else None),
    ):
        if given == "":
            msg = f"{name} is empty"
            raise UsageError(msg, hint="is the variable set that it comes from?")
    here = current_folder()
    findings: list[Finding] = []
    exports: Mapping[str, str] = {}
    if is_line:
        from envcfg.core.launch_line import take_line

        values, command, exports = take_line(values, command or ())
    if values["changes"]:
        findings += check_changes(values["changes"])
    facts = dict(values["fact"])
    check_facts(facts)
    for chosen in CHOSEN:
        if chosen in facts:
            msg = f"--fact {chosen}={facts[chosen]}: this is chosen, not stated"
            raise UsageError(msg, hint=f"--{chosen} {facts[chosen]} chooses it")
    catalog = open_catalog(here)
    name, reason = select_profile(catalog, values["profile"], values["launcher"])
    profile = catalog.load(name)
    said = {name: (text,) for name, text in exports.items() if name in profile.env}
    runtime = None if values["runtime"] == "auto" else values["runtime"]
    found = () if runtime else _runtimes_here(profile)
    first = choose_runtimes(
        profile, runtime, found, values["container"], values["launcher"]
    )[0]
    image, seen = locate_image(values["container"], here, first)
    read = Read()
    # A name is the runtime's to look up, whatever lies here under the same.
    named = not image or first.is_reference(image)
    described = image and image.endswith(first.described or "\0")
    if image and not (named or described or values["no_inspect"]):
        from envcfg.core.image_facts import read_image

        read, found_in = read_image(image)
        seen += found_in
    wanted = Options(
        container=image,
        image_file=image and os.path.realpath(image),
        read=read,
        runtime=runtime,
        found=found,
        runtime_args=tuple(values["runtime_arg"]),
        binds=tuple(bind for given in values["bind"] for bind in given),
        launcher=values["launcher"],
        starter_args={own: tuple(values[f"{own}_arg"]) for own in OWN},
        ranks=values["ranks"],
        settings={**said, **dict(values["changes"])},
        facts=facts,
        modules=tuple(dict.fromkeys(values["module"])),
        no_modules=values["no_modules"],
        command=tuple(command or ()),
        allowed=tuple(dict.fromkeys(values["allowed"])),
        as_said=is_line,
        diagnostics=read_diagnostics(values),
    )
    return Step(
        profile_name=catalog.qualified(name),
        profile=profile,
        profile_hash=catalog.digest(),
        given=values,
        options=wanted,
        findings=(*reason, *seen, *findings),
        notes=tuple(overlays(catalog)),
        inputs=(*catalog.files_read(), *_files_of(wanted)),
    )


def check_changes(changes: Sequence[Change]) -> Iterator[Finding]:
    """Yield what is known to be wrong with names and values; None is taken away.

    They are the user's word, which may be a slip.
    """
    from envcfg.knowledge.variables import check_variable

    last = dict(changes)
    for name, word in last.items():
        if any(each != (name, word) for each in changes if each[0] == name):
            what = "is given twice, with different values: the last one counts"
            yield Finding("option-twice", "note", name, what)
        option = "--unset" if word is None else "--set"
        value = None if word is None else format_word(word)
        for problem in check_variable(name, value):
            # Never an error: the user may know better.
            subject = f"{option} {name}"
            yield problem._replace(
                rule="setting-doubtful", severity="warning", subject=subject
            )


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
    plan = resolve(step.profile, step.profile_hash, step.options, step.notes)
    return plan._replace(defaults=step.defaults)


def complete(plan: Plan, step: Step, nodes: int) -> Plan:
    """Return *plan* with what only the machine and the whole job tell.

    Args:
        plan: of ``resolve_step``; its number of ranks may be the job's by now.

    Raises:
        UsageError: something cannot be right.
    """
    if plan.diagnostics.preflight:
        plan = _with_preflight(plan, step)
    seen = (
        *step.findings,
        *missing_sources(plan.container),
        *program_notes(
            plan.command, current_folder(), is_contained=plan.container is not None
        ),
        *one_node_notes(plan, nodes),
    )
    return plan._replace(notes=(*seen, *plan.notes))


def wrap_words(step: Step) -> list[str]:
    """Return all of ``envcfg wrap`` for *step*, whatever files say; not the command."""
    words = write_options(STEP, step_values(step))
    return ["envcfg", "wrap", NO_DEFAULT, "all", *words]


def step_values(step: Step) -> dict[str, Any]:
    """Return the values of all options of ``STEP`` as another command line takes them."""
    made, profile = step.options, step.profile_name
    return {
        **step.given,
        # A path is the job's too, whatever its folder.
        "profile": os.path.abspath(profile) if "/" in profile else profile,
        "container": made.container or "none",
        "ranks": made.ranks,
        "changes": made.settings.items(),  # each once
    }


def _runtimes_here(profile: Profile) -> tuple[str, ...]:
    """Return the signs of the profile's runtimes that are here, where they decide."""
    known = named_runtimes(profile)
    if len({each.kind for each in known}) == 1:
        return ()
    programs = [
        each.program for each in known if each.program and on_path(each.program)
    ]
    options = [each.option for each in known if each.option]
    known_here = ask(["srun", "--help"], 10) if options else ""  # plug-ins add to it
    return (*programs, *(each for each in options if f"{each}=" in known_here))


def _files_of(wanted: Options) -> Iterator[str]:
    if wanted.image_file:
        yield wanted.image_file
    if wanted.diagnostics.setup and is_path(wanted.diagnostics.setup):
        yield wanted.diagnostics.setup
    yield from (bind.source for bind in wanted.binds)


def _with_preflight(plan: Plan, step: Step) -> Plan:
    """Return *plan* with the command line that looks at the nodes of its job.

    Raises:
        UsageError: it is for several steps.
    """
    table = {**SAME, "": [REQUIRE]}
    # The command may name the launcher, and how many ranks there are.
    values = {**step_values(step), "launcher": plan.launcher, "ranks": plan.ranks}
    words = write_options(table, values)
    if not plan.command:
        msg = "--preflight goes with a command: several steps need it once"
        hint = "call it before them, with the same options: envcfg preflight"
        raise UsageError(msg, hint=hint)
    return plan._replace(preflight=("envcfg", "preflight", NO_DEFAULT, "all", *words))
