"""The options that say what a step runs, in what, and with which settings.

Every command that makes such a step takes them: ``wrap``, ``sbatch``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg import runtimes
from envcfg.bind import Bind, parse_binds
from envcfg.commands.arguments import assignment, number_of, pair, removal
from envcfg.commands.diagnostic_options import (
    add_diagnostic_options,
    diagnostic_words,
    read_diagnostics,
)
from envcfg.commands.machine import current_folder
from envcfg.commands.selection import open_catalog, overlays, select_profile
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.choose import choose_runtimes
from envcfg.launch.diagnostics import is_path
from envcfg.launch.image import locate_image
from envcfg.launch.plan import Options
from envcfg.launch.resolve import check_facts
from envcfg.launchers import LAUNCHERS
from envcfg.profile.model import Profile
from envcfg.profile.words import format_word


class Step(NamedTuple):
    """What the user wants to run.

    Attributes:
        profile_name: as it was given or detected; a name or a file.
        profile_hash: SHA-256 over the bytes of the profile's files.
        diagnostics: their options, as words of a command line.
        findings: what may go wrong, seen from this machine.
        notes: on the profile's files, for the plan.
        inputs: files that the step is made from, or needs.
    """

    profile_name: str
    profile: Profile
    profile_hash: str
    options: Options
    diagnostics: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    inputs: tuple[str, ...]


def add_step_options(parser: argparse.ArgumentParser) -> None:
    """Add the two groups of options."""
    what = parser.add_argument_group("what to run, and where")
    what.add_argument(
        "--profile",
        metavar="NAME|FILE",
        help="the system (default: the one detected here)",
    )
    what.add_argument(
        "--container",
        metavar="IMAGE",
        required=True,
        help="image file or URI; none: no container",
    )
    what.add_argument(
        "--runtime",
        choices=("auto", *runtimes.NAMES),
        default="auto",
        help="container runtime (default: the first that the job finds)",
    )
    what.add_argument(
        "--runtime-arg",
        metavar="ARG",
        action="append",
        default=[],
        help="argument for the runtime, as in --runtime-arg=--nv; may be repeated",
    )
    what.add_argument(
        "--bind",
        metavar="SPEC",
        action="append",
        type=_binds,
        default=[],
        help="SOURCE[:TARGET[:OPTIONS]]; may be repeated",
    )
    what.add_argument(
        "--launcher",
        metavar="NAME",
        choices=LAUNCHERS,
        help="how ranks start (default: as the command shows, or the profile's first): "
        + ", ".join(LAUNCHERS),
    )
    what.add_argument(
        "--srun-arg",
        metavar="ARG",
        action="append",
        default=[],
        help="option for srun, as in --srun-arg=--mpi=pmix; may be repeated",
    )
    what.add_argument(
        "--ranks",
        metavar="N",
        type=number_of("processes"),
        help="processes per node (default: as the job says, else one per GPU; local: 1)",
    )
    env = parser.add_argument_group("what to set")
    env.add_argument(
        "--set",
        metavar="NAME=VALUE",
        dest="changes",
        action="append",
        default=[],
        type=assignment,
        help="set a variable, whatever profile and job say",
    )
    env.add_argument(
        "--unset",
        metavar="NAME",
        dest="changes",
        action="append",
        type=removal,
        help="take a variable from the program's environment",
    )
    env.add_argument(
        "--fact",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=pair,
        help="state what a condition asks for, as in rocm=6.2.4",
    )
    add_diagnostic_options(parser)


def _binds(text: str) -> list[Bind]:
    try:
        return parse_binds(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err)) from err


def read_step(
    options: argparse.Namespace, command: Sequence[str] | None, example: str
) -> Step:
    """Return what the options say, with the profile that they choose.

    Args:
        options: as ``add_step_options`` defines them.
        command: the words behind ``--``; None if there was no ``--``.
        example: a command line that is right, for the hint.

    Raises:
        UsageError: they cannot be right; also ``ProfileError``.
    """
    if command is not None and not command:
        msg = "no command behind --"
        raise UsageError(msg, hint=example)
    for option, given in (
        ("--profile", [options.profile]),
        ("--container", [options.container]),
    ):
        if "" in given:
            msg = f"{option} is empty"
            raise UsageError(msg, hint="is the variable set that it comes from?")
    here = current_folder()
    findings: list[Finding] = []
    if options.changes:
        from envcfg.commands.changes import check_changes

        findings += check_changes(options.changes)
    facts = dict(options.fact)
    check_facts(facts)
    catalog = open_catalog(here)
    name, reason = select_profile(catalog, options.profile, options.launcher)
    profile = catalog.load(name)
    runtime = None if options.runtime == "auto" else options.runtime
    first = choose_runtimes(profile, runtime)[0]
    image, seen = locate_image(options.container, here, first)
    wanted = Options(
        container=image,
        image_file=image and os.path.realpath(image),
        runtime=runtime,
        runtime_args=tuple(options.runtime_arg),
        binds=tuple(bind for given in options.bind for bind in given),
        launcher=options.launcher,
        srun_args=tuple(options.srun_arg),
        ranks=options.ranks,
        settings=dict(options.changes),
        facts=facts,
        command=tuple(command or ()),
        diagnostics=read_diagnostics(options),
    )
    return Step(
        profile_name=name,
        profile=profile,
        profile_hash=catalog.digest(),
        options=wanted,
        diagnostics=tuple(diagnostic_words(options)),
        findings=(*reason, *seen, *findings),
        notes=tuple(overlays(catalog)),
        inputs=(*catalog.files_read(), *_files_of(wanted)),
    )


def _files_of(wanted: Options) -> Iterator[str]:
    if wanted.image_file:
        yield wanted.image_file
    if wanted.diagnostics.setup and is_path(wanted.diagnostics.setup):
        yield wanted.diagnostics.setup
    yield from (bind.source for bind in wanted.binds)


def wrap_words(step: Step) -> list[str]:
    """Return the command line of ``envcfg wrap`` for *step*, without the command."""
    return ["envcfg", "wrap", *_wrap_options(step)]


def _wrap_options(step: Step) -> Iterator[str]:
    given, name = step.options, step.profile_name
    # A path is the job's too, whatever its folder.
    yield from ("--profile", os.path.abspath(name) if "/" in name else name)
    yield from ("--container", given.container or "none")
    if given.runtime:
        yield from ("--runtime", given.runtime)
    yield from (f"--runtime-arg={word}" for word in given.runtime_args)
    yield from (f"--bind={bind}" for bind in given.binds)
    if given.launcher:
        yield from ("--launcher", given.launcher)
    yield from (f"--srun-arg={word}" for word in given.srun_args)
    if given.ranks:
        yield from ("--ranks", str(given.ranks))
    for variable, word in given.settings.items():
        if word is None:
            yield f"--unset={variable}"
        else:
            yield f"--set={variable}={format_word(word)}"
    yield from (f"--fact={fact}={value}" for fact, value in given.facts.items())
    yield from step.diagnostics
