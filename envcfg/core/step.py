"""Build a step from the user's options and the selected profile."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from envcfg.backends.launchers import LAUNCHERS
from envcfg.backends.runtimes.runtime import Runtime
from envcfg.backends.scheduler_client import query
from envcfg.backends.starters import OWN
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding
from envcfg.core.diagnostic_options import DIAGNOSTICS, SPEEDS
from envcfg.core.option import NO_DEFAULT, Option, Table, write_options
from envcfg.core.option_values import Change
from envcfg.core.program_reading import read_file, read_program
from envcfg.core.selection import (
    NodeOptions,
    current_folder,
    job_nodes,
    node_options,
    open_catalog,
    overlays,
    select_kind,
    select_profile,
)
from envcfg.core.step_options import ROWS, STEP, check_together
from envcfg.job.plan.applicable_settings import GIVEN
from envcfg.job.plan.container import choose_runtimes, chosen_runtimes, named_runtimes
from envcfg.job.plan.diagnostics import is_path, profiler_words
from envcfg.job.plan.image_files import locate_image, missing_sources
from envcfg.job.plan.parallel_degrees import size_fault
from envcfg.job.plan.plan import ImageFacts, Options, Plan, Statement
from envcfg.job.plan.plan_facts import check_facts
from envcfg.job.plan.plan_notes import rank_notes
from envcfg.job.plan.program_file import literal_notes, literal_signs, program_notes
from envcfg.job.plan.resolve import resolve
from envcfg.profile.conditions import CHOSEN
from envcfg.profile.entries import BindMount
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import format_word, is_profile_path, with_kind
from envcfg.site.machine import on_path

# The options of wrap that shape the nodes and ranks of the job.
SAME: Table = {
    **{title: options for title, options in STEP.items() if title not in DIAGNOSTICS},
    "what comes first in each task": [
        option
        for options in DIAGNOSTICS.values()
        for option in options
        if option.flag == "--setup"
    ],
}
REQUIRE = Option(
    "--require",
    "fail, unless NCCL's log proves that traffic takes the fast network",
    choices=SPEEDS,
)


# Sections of a profile that do not change a step.
_OF_REQUESTS = frozenset(
    "summary verified node billing request rules partitions qos kind".split()
)


class Step(NamedTuple):
    """The step that the user wants to run."""

    profile_name: str  # given or detected; a name with its layer, or a file
    profile: Profile
    profile_hash: str  # SHA-256 over the bytes of the profile's files
    option_values: Mapping[str, Any]  # the values of the options `STEP`, by name
    options: Options
    findings: tuple[Finding, ...]  # possible problems, detected on this machine
    notes: tuple[Finding, ...]  # notes on the profile's files, for the plan
    inputs: tuple[str, ...]  # files from which the step is made, or that it needs

    @property
    def profile_and_image(self) -> str:
        """Its profile and image in one text, as the user named them."""
        return f"{self.profile_name} {self.options.container}"


def make_step(
    values: Mapping[str, Any],
    command: Sequence[str] | None,
    example: str,
    *,
    is_line: bool = False,
) -> Step:
    """Return the requested step with the selected profile.

    Args:
        values: the user's values for the options of ``STEP``, by name.
        command: the program and its arguments; None: a script of several steps.
        is_line: *command* is a launch line, with srun and the container.

    Raises:
        UsageError: the options are wrong; also ``ProfileError``.
    """
    _check_words(values, command, example)
    # The folder is read once: it may be removed while the command runs.
    folder = current_folder()
    findings: list[Finding] = []
    exports: Mapping[str, str] = {}
    # The words of a launch line become options before anything is checked.
    if is_line:
        from envcfg.core.launch_line_options import take_line

        values, command, exports = take_line(values, command or ())
    if values["changes"]:
        findings += check_changes(values["changes"])
    facts = _facts_of(values)
    # The profile is loaded after the simple checks, because reading YAML is slow.
    writable = bool(values["allow_writable"])
    catalog = open_catalog(folder, writable=writable)
    request = node_options(values)
    name, reason = select_profile(
        catalog, values["profile"], values["launcher"], request
    )
    profile = select_kind(catalog.load(name), name, request)
    project_files = catalog.project_files()
    if values["setup"] and is_path(values["setup"]):
        from envcfg.profile.guard import check_file

        check_file(values["setup"], writable=writable)
        project_files.append(values["setup"])
    # Only variables of the profile are repeated: others reach the ranks through
    # srun.
    exported = {name: (text,) for name, text in exports.items() if name in profile.env}
    runtime = None if values["runtime"] == "auto" else values["runtime"]
    runtimes = () if runtime else _runtimes_here(profile)
    first = choose_runtimes(
        profile, runtime, runtimes, values["container"], values["launcher"]
    )[0]
    image, reading, seen = _find_image(values, folder, first)
    check_together(values)
    statements: tuple[Statement, ...] = ()
    if command and not is_line:
        command, statements, notes = read_program(command)
        findings += notes
    own = {row.name: values[row.name] for row in ROWS if row.name in Options._fields}
    profiler = values["profiler"]
    options = Options(**own)._replace(
        container=image,
        image_file=image and os.path.realpath(image),
        image_facts=reading,
        runtime=runtime,
        runtimes_here=runtimes,
        runtime_args=tuple(values["runtime_arg"]),
        binds=tuple(bind for group in values["bind"] for bind in group),
        starter_args={own: tuple(values[f"{own}_arg"]) for own in OWN},
        settings={**exported, **dict(values["changes"])},
        facts=facts,
        # Repeated words count once, in the order of the first mention.
        modules=tuple(dict.fromkeys(values["module"])),
        allowed=tuple(dict.fromkeys(values["allowed"])),
        stage=tuple(dict.fromkeys(values["stage"])),
        command=tuple(command or ()),
        statements=statements,
        keeps_launch_line=is_line,
        project_files=tuple(project_files),
        switches={
            row.name: row.module
            for row in ROWS
            if row.kind == "switch" and values[row.name]
        },
        verify=values["verify"] or ("warn" if values["verify_after"] else None),
        profiler_words=profiler_words(profiler, values["profiler_arg"])
        if profiler
        else (),
    )
    return Step(
        # The digest and the list of files are taken last, when all files were read.
        profile_name=with_kind(catalog.qualified(name), profile.kind_name),
        profile=profile,
        profile_hash=catalog.digest(),
        option_values=values,
        options=options,
        findings=(*reason, *_kind_notes(profile, request), *seen, *findings),
        notes=tuple(overlays(catalog)),
        inputs=(*catalog.files_read(), *_files_of(options)),
    )


def _kind_notes(profile: Profile, request: NodeOptions | None) -> Iterator[Finding]:
    """Yield a note if no option decides the kind of node, and the kinds differ."""
    if request is not None or profile.kind is None:
        return
    from envcfg.profile.node_kinds import DEFAULT, all_kinds

    if profile.kind.sign != DEFAULT:
        return
    others = [
        with_kind(profile.name, each.kind.name)
        for each in all_kinds(profile)
        if each.kind
        and any(
            getattr(each, field) != getattr(profile, field)
            for field in Profile._fields
            if field not in _OF_REQUESTS
        )
    ]
    if others:
        message = (
            f"for {profile.kind.name}, the default: other nodes need other settings"
        )
        fix = f"for them: --profile {' or '.join(others)}"
        yield Finding("kind-by-default", "note", "kind of node", message, fix)


def _check_words(
    values: Mapping[str, Any], command: Sequence[str] | None, example: str
) -> None:
    """Refuse a command without words, and empty values."""
    if command is not None and not command:
        msg = "no command after --"
        raise UsageError(msg, hint=example)
    # An empty value usually comes from a shell variable that is not set.
    for name, value in (
        ("--profile", values["profile"]),
        ("--container", values["container"]),
        ("the command", command[0] if command else None),
    ):
        if value == "":
            msg = f"{name} is empty"
            raise UsageError(msg, hint="is the variable set that it comes from?")


def _facts_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the stated facts, which must be known and not chosen by other options."""
    facts = dict(values["fact"])
    check_facts(facts)
    # A stated launcher would not change the command line, so the statement could be
    # false.
    for option in CHOSEN:
        if option in facts:
            msg = f"--fact {option}={facts[option]}: this is chosen, not stated"
            raise UsageError(msg, hint=f"--{option} {facts[option]} chooses it")
    return facts


def _find_image(
    values: Mapping[str, Any], folder: str, runtime: Runtime
) -> tuple[str | None, ImageFacts, list[Finding]]:
    """Return the image, its content as far as it can be read, and findings."""
    image, findings = locate_image(values["container"], folder, runtime)
    # The runtime resolves a name, even if a local file has the same name.
    if not image or runtime.is_reference(image) or values["no_inspect"]:
        return image, ImageFacts(), findings
    # A file that only describes an image has nothing to inspect.
    if image.endswith(runtime.described or "\0"):
        return image, ImageFacts(), findings
    from envcfg.core.image_cache import read_image

    reading, problems = read_image(image)
    return image, reading, [*findings, *problems]


def check_changes(changes: Sequence[Change]) -> Iterator[Finding]:
    """Yield known problems of names and values; None means unset.

    The user typed them, and may have made a mistake.
    """
    from envcfg.knowledge.variables import check_variable

    # Only the last value of a name is checked, because the others have no effect.
    last = dict(changes)
    for name, word in last.items():
        if any(change != (name, word) for change in changes if change[0] == name):
            message = "is given twice, with different values: the last one counts"
            yield Finding("option-twice", "note", name, message)
        option = "--unset" if word is None else "--set"
        value = None if word is None else format_word(word)
        for problem in check_variable(name, value):
            # A warning at most: the user may know a newer version.
            subject = f"{option} {name}"
            yield problem._replace(
                rule="setting-doubtful", severity="warning", subject=subject
            )


def plan_step(step: Step) -> Plan:
    """Return the plan of *step*, with notes on this machine.

    Raises:
        UsageError: options contradict each other, or the profile.
    """
    return complete(resolve_step(step), step, job_nodes())


def resolve_step(step: Step) -> Plan:
    """Return the plan of *step* from its profile; it is not complete yet.

    Raises:
        UsageError: options contradict each other, or the profile.
    """
    plan = resolve(step.profile, step.profile_hash, step.options, step.notes)
    check_degrees(plan.options, step.profile.gpus)
    image = step.options.container
    if image and any(note.rule == "image-without-plugin" for note in plan.notes):
        options, notes = _with_host_parts(step, image)
        plan = resolve(step.profile, step.profile_hash, options, notes)
    return plan


def check_degrees(options: Options, gpus: int | None) -> None:
    """Refuse sizes that the job's GPUs contradict; unknown numbers contradict nothing.

    Args:
        options: with the statements that decide the start.
        gpus: the number of GPUs per node.

    Raises:
        UsageError: sizes that do not fit, with their places.
    """
    nodes, gpus = options.known_nodes, options.gpus or gpus
    if not nodes or not gpus:
        return
    lines: list[tuple[str, Sequence[str]]] = [
        ("", (*options.agent_options, *options.command))
    ]
    lines += [(f"{s.path}:{s.line}: ", s.words) for s in options.statements if s.path]
    launcher = LAUNCHERS.get(options.launcher or "")
    is_cluster = bool(launcher and launcher.is_once)
    fault = size_fault(
        lines, nodes, gpus, options.ranks, read_file, is_cluster=is_cluster
    )
    if fault:
        raise UsageError(fault, hint="change the sizes, or request other nodes or GPUs")


def _with_host_parts(step: Step, image: str) -> tuple[Options, tuple[Finding, ...]]:
    """Return options and notes with the plug-in of this machine, if the image loads it."""
    runtime = chosen_runtimes(step.profile, step.options)[0]
    # The loader would find the parts by a variable that the user decides about.
    if not runtime.makes_targets or "LD_LIBRARY_PATH" in step.options.settings:
        return step.options, step.notes
    from envcfg.core.inspection import host_parts

    parts = host_parts(image, step.profile)
    reason = GIVEN._replace(
        why="the image lacks it for this network, and it fits the image",
        source="this machine",
    )
    mounts = tuple(
        # Another node may lack the file: then NCCL_NET ends the job.
        BindMount(mount._replace(options=("ro",)), reason, if_exists=mount.source)
        for mount in parts.mounts
    )
    return (
        step.options._replace(host_parts=mounts),
        (*parts.findings, *step.notes),
    )


def complete(plan: Plan, step: Step, nodes: int) -> Plan:
    """Return *plan* with the facts that need the machine and the whole job.

    Args:
        plan: from ``resolve_step``; its number of ranks may have been replaced by the
            job's.

    Raises:
        UsageError: options contradict each other, or the profile.
    """
    if "preflight" in plan.options.switches:
        plan = _with_preflight(plan, step)
    # Findings of this machine come first: the user can correct them before
    # submitting.
    findings = (
        *step.findings,
        *missing_sources(plan.container),
        *program_notes(
            plan.options.command,
            current_folder(),
            is_contained=plan.container is not None,
        ),
        # The job's shell has expanded the words of a launch line.
        *(() if plan.options.keeps_launch_line else _literal_words(plan)),
        *rank_notes(plan, nodes),
    )
    return plan._replace(notes=(*findings, *plan.notes))


def _literal_words(plan: Plan) -> Iterator[Finding]:
    """Yield what is said of words in which a variable or a sign stays literal: those of
    the program, its starter, the runtime, and the image's name from its first dollar; a
    path has its own note."""
    options, container = plan.options, plan.container
    reference = container.image if container and not container.is_file else ""
    others = [
        *chain.from_iterable(options.starter_args.values()),
        *options.runtime_args,
        "".join(reference.partition("$")[1:]),
    ]
    yield from literal_notes(options.command, others)
    yield from literal_signs(options.command)


def step_values(step: Step) -> dict[str, Any]:
    """Return the values of all options of ``STEP`` for another command line."""
    options, profile = step.options, step.profile_name
    return {
        **step.option_values,
        # The other command may run in another folder.
        "profile": os.path.abspath(profile) if is_profile_path(profile) else profile,
        "container": options.container or "none",
        "ranks": options.ranks,
        "changes": options.settings.items(),  # without repetitions
    }


def _runtimes_here(profile: Profile) -> tuple[str, ...]:
    """Return the available runtimes of the profile, if they affect the choice."""
    runtimes = named_runtimes(profile)
    # With one kind of runtime there is no choice, and asking srun takes time.
    if len({runtime.kind for runtime in runtimes}) == 1:
        return ()
    programs = [
        runtime.program
        for runtime in runtimes
        if runtime.program and on_path(runtime.program)
    ]
    options = [runtime.option for runtime in runtimes if runtime.option]
    known_here = query(["srun", "--help"]).text if options else ""  # lists plug-ins
    return (*programs, *(option for option in options if f"{option}=" in known_here))


def _files_of(options: Options) -> Iterator[str]:
    if options.image_file:
        yield options.image_file
    if options.setup and is_path(options.setup):
        yield options.setup
    yield from (bind.source for bind in options.binds)


def _with_preflight(plan: Plan, step: Step) -> Plan:
    """Return *plan* with the command line that checks the nodes of its job.

    Raises:
        UsageError: the script has several steps.
    """
    table = {**SAME, "": [REQUIRE]}
    # The command itself may have named the launcher and the number of ranks.
    values = {**step_values(step), "launcher": plan.launcher, "ranks": plan.ranks}
    words = write_options(table, values)
    if not plan.options.command:
        msg = "--preflight goes with a command: several steps need it once"
        hint = "call it before them, with the same options: envcfg preflight"
        raise UsageError(msg, hint=hint)
    # Defaults of files are already in the words; reading them again in the job
    # could change the plan.
    return plan._replace(preflight=("envcfg", "preflight", NO_DEFAULT, "all", *words))
