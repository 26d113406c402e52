"""The options that say what a step runs, in what, and with which settings.

Every command that makes such a step takes them: ``wrap``, ``job``.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg import runtimes
from envcfg.commands.machine import current_folder, srun_has
from envcfg.commands.options.arguments import (
    read_binds,
    read_module,
    read_pair,
    read_removal,
    read_setting,
    write_binds,
    write_pair,
    write_removal,
    write_setting,
)
from envcfg.commands.options.diagnostics import DIAGNOSTICS, read_diagnostics
from envcfg.commands.options.numbers import number_of
from envcfg.commands.options.option import Option, Table, write_options
from envcfg.commands.options.selection import open_catalog, overlays, select_profile
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.container import choose_runtimes, named_runtimes
from envcfg.launch.diagnostics import is_path
from envcfg.launch.facts import check_facts
from envcfg.launch.image import locate_image
from envcfg.launch.plan import ALLOWABLE, Options, Read
from envcfg.launchers import LAUNCHERS
from envcfg.profile.conditions import CHOSEN
from envcfg.profile.model import Profile
from envcfg.starters import OWN

STEP: Table = {
    "what to run, and where": (
        Option(
            "--profile",
            "the system, as in lumi-g or builtin:lumi-g (default: the one detected here)",
            metavar="NAME|FILE",
        ),
        Option(
            "--container",
            "image file or URI; none: no container",
            metavar="IMAGE",
            required=True,
        ),
        Option(
            "--runtime",
            "container runtime (default: the first of the profile's that is there): "
            + ", ".join(runtimes.NAMES),
            metavar="NAME",
            choices=("auto", *runtimes.NAMES),
            default="auto",
        ),
        Option(
            "--runtime-arg",
            "argument for the runtime, as in --runtime-arg=--nv; may be repeated",
            metavar="ARG",
            kind="many",
        ),
        Option(
            "--bind",
            "SOURCE[:TARGET[:OPTIONS]]; may be repeated",
            metavar="SPEC",
            kind="many",
            read=read_binds,
            write=write_binds,
        ),
        Option(
            "--launcher",
            "how ranks start (default: as the command shows, or the profile's first): "
            + ", ".join(LAUNCHERS),
            metavar="NAME",
            choices=tuple(LAUNCHERS),
        ),
        Option(
            "--srun-arg",
            "option for srun, as in --srun-arg=--mpi=pmix; may be repeated",
            metavar="ARG",
            kind="many",
        ),
        Option(
            "--mpiexec-arg",
            "the same for mpiexec in a PBS job, as in --mpiexec-arg=--no-vni",
            metavar="ARG",
            kind="many",
        ),
        Option(
            "--ranks",
            "processes per node (default: as the job says, else one per GPU; local: 1)",
            metavar="N",
            read=number_of("processes"),
        ),
        Option(
            "--module",
            "load a module of your own, after those of the profile; may be repeated",
            metavar="NAME",
            kind="many",
            read=read_module,
        ),
        Option(
            "--allow",
            "run also where a script stops: as one of several tasks, with idle nodes, on "
            "another cluster, with the loopback to meet at; may be repeated",
            kind="many",
            choices=ALLOWABLE,
            dest="allowed",
        ),
        Option(
            "--no-modules",
            "load none of the profile's modules",
            kind="switch",
        ),
    ),
    "what to set": (
        Option(
            "--set",
            "set a variable, whatever profile and job say",
            metavar="NAME=VALUE",
            kind="many",
            dest="changes",
            read=read_setting,
            write=write_setting,
        ),
        Option(
            "--unset",
            "take a variable from the program's environment",
            metavar="NAME",
            kind="many",
            dest="changes",
            read=read_removal,
            write=write_removal,
        ),
        Option(
            "--fact",
            "state what a condition asks for, as in rocm=6.2.4",
            metavar="NAME=VALUE",
            kind="many",
            read=read_pair,
            write=write_pair,
        ),
        Option(
            "--no-inspect",
            "do not read facts in the image: state them, or do without",
            kind="switch",
        ),
    ),
    **DIAGNOSTICS,
}


class Step(NamedTuple):
    """What the user wants to run.

    Attributes:
        profile_name: as it was given or detected; a name, with its layer, or a file.
        profile_hash: SHA-256 over the bytes of the profile's files.
        given: the values of all options of ``STEP``, by name, as they were read.
        options: what they come to.
        findings: what may go wrong, seen from this machine.
        notes: on the profile's files, for the plan.
        inputs: files that the step is made from, or needs.
    """

    profile_name: str
    profile: Profile
    profile_hash: str
    given: Mapping[str, Any]
    options: Options
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    inputs: tuple[str, ...]


def read_step(
    options: argparse.Namespace, command: Sequence[str] | None, example: str
) -> Step:
    """Return what the options say, with the profile that they choose.

    Args:
        options: with the values of ``STEP``.
        command: the words behind ``--``; None if there was no ``--``.
        example: a command line that is right, for the hint.

    Raises:
        UsageError: they cannot be right; also ``ProfileError``.
    """
    if command is not None and not command:
        msg = "no command behind --"
        raise UsageError(msg, hint=example)
    for name, given in (
        ("--profile", options.profile),
        ("--container", options.container),
        ("the command", command[0] if command else None),
    ):
        if given == "":
            msg = f"{name} is empty"
            raise UsageError(msg, hint="is the variable set that it comes from?")
    here = current_folder()
    findings: list[Finding] = []
    if options.changes:
        from envcfg.commands.options.changes import check_changes

        findings += check_changes(options.changes)
    facts = dict(options.fact)
    check_facts(facts)
    for chosen in CHOSEN:
        if chosen in facts:
            msg = f"--fact {chosen}={facts[chosen]}: this is chosen, not stated"
            raise UsageError(msg, hint=f"--{chosen} {facts[chosen]} chooses it")
    catalog = open_catalog(here)
    name, reason = select_profile(catalog, options.profile, options.launcher)
    profile = catalog.load(name)
    runtime = None if options.runtime == "auto" else options.runtime
    found = () if runtime else _runtimes_here(profile)
    first = choose_runtimes(
        profile, runtime, found, options.container, options.launcher
    )[0]
    image, seen = locate_image(options.container, here, first)
    read = Read()
    # A name is the runtime's to look up, whatever lies here under the same.
    named = not image or first.is_reference(image)
    described = image and image.endswith(first.described or "\0")
    if image and not (named or described or options.no_inspect):
        from envcfg.commands.options.inspection import read_image

        read, found_in = read_image(image)
        seen += found_in
    wanted = Options(
        container=image,
        image_file=image and os.path.realpath(image),
        read=read,
        runtime=runtime,
        found=found,
        runtime_args=tuple(options.runtime_arg),
        binds=tuple(bind for given in options.bind for bind in given),
        launcher=options.launcher,
        starter_args={own: tuple(getattr(options, f"{own}_arg")) for own in OWN},
        ranks=options.ranks,
        settings=dict(options.changes),
        facts=facts,
        modules=tuple(dict.fromkeys(options.module)),
        no_modules=options.no_modules,
        command=tuple(command or ()),
        allowed=tuple(dict.fromkeys(options.allowed)),
        diagnostics=read_diagnostics(options),
    )
    return Step(
        profile_name=catalog.qualified(name),
        profile=profile,
        profile_hash=catalog.digest(),
        given=vars(options),
        options=wanted,
        findings=(*reason, *seen, *findings),
        notes=tuple(overlays(catalog)),
        inputs=(*catalog.files_read(), *_files_of(wanted)),
    )


def _runtimes_here(profile: Profile) -> tuple[str, ...]:
    """Return the signs of the profile's runtimes that are here, where they decide."""
    known = named_runtimes(profile)
    if len({each.kind for each in known}) == 1:
        return ()
    from shutil import which

    programs = [each.program for each in known if each.program and which(each.program)]
    options = [each.option for each in known if each.option]
    return (*programs, *(srun_has(options) if options else ()))


def _files_of(wanted: Options) -> Iterator[str]:
    if wanted.image_file:
        yield wanted.image_file
    if wanted.diagnostics.setup and is_path(wanted.diagnostics.setup):
        yield wanted.diagnostics.setup
    yield from (bind.source for bind in wanted.binds)


def wrap_words(step: Step) -> list[str]:
    """Return the command line of ``envcfg wrap`` for *step*, without the command."""
    return ["envcfg", "wrap", *write_options(STEP, step_values(step))]


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
