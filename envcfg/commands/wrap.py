"""``envcfg wrap``: from a container and a command to the bash that runs them."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from envcfg.commands.arguments import assignment, pair, positive, removal
from envcfg.commands.machine import current_folder, interfaces
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.image import locate_image, missing_sources
from envcfg.launch.plan import Options, Plan
from envcfg.launch.render import render_exec_line, render_script
from envcfg.launch.resolve import check_facts, resolve
from envcfg.parser import Formatter
from envcfg.profile.catalog import Catalog, profile_folders
from envcfg.profile.launchers import LAUNCHERS
from envcfg.profile.loader import RUNTIMES

_EPILOG = """\
The command stands behind a --. Without one, the script defines envcfg_run, for several
steps in one job.

examples:
  # in an sbatch script, on the system you are on
  source <(envcfg wrap --container pytorch.sif -- python train.py)

  # several steps
  source <(envcfg wrap --profile lumi-g --container pytorch.sif --fact rocm=6.2.4)
  envcfg_run python prepare.py
  envcfg_run python train.py

  # on a laptop: two ranks, no container
  envcfg wrap --container none --launcher local --ranks 2 -o job.sh -- python train.py
  ./job.sh

  # what would be set, and why
  envcfg wrap --profile lumi-g --container pytorch.sif --print plan

values: ${NAME} and ${NAME:-default} refer to a variable, $$ is a dollar, all else is as
        it stands. What refers to something of a rank (${LOCAL_RANK}) is set in each rank.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the options of ``wrap``."""
    parser = commands.add_parser(
        "wrap",
        help="make the bash that runs a command in a container, on every rank",
        description="Make the bash that runs a command in a container, on every rank.",
        usage="envcfg wrap --container IMAGE|none [options] [-- COMMAND...]",
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
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
        choices=("auto", *RUNTIMES),
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
        default=[],
        help="SOURCE[:TARGET[:OPTIONS]]; may be repeated",
    )
    what.add_argument(
        "--launcher",
        choices=LAUNCHERS,
        help="how ranks start (default: as the command shows, or the profile's first)",
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
        type=positive,
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
    out = parser.add_argument_group("what to print")
    out.add_argument(
        "--print",
        choices=("script", "plan", "exec-line"),
        default="script",
        dest="what",
        help="default: script",
    )
    out.add_argument("--json", action="store_true", help="the plan as JSON")
    out.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the script to FILE, executable",
    )
    out.add_argument(
        "--force",
        action="store_true",
        help="with -o: replace a file that envcfg did not write",
    )


def run(
    options: argparse.Namespace, command: Sequence[str] | None, argv: Sequence[str]
) -> int:
    """Print or write what was asked for.

    Args:
        options: as ``add_parser`` defines them.
        command: the words behind ``--``; None if there was no ``--``.
        argv: the whole command line, for the script's header.
    """
    if command is not None and not command:
        msg = "no command behind --"
        raise UsageError(
            msg, hint="envcfg wrap --container pytorch.sif -- python train.py"
        )
    if options.output and (options.json or options.what != "script"):
        msg = "-o writes the script, so it excludes --json and --print"
        raise UsageError(msg, hint="redirect stdout to a file instead")
    for option, given in (
        ("--container", [options.container]),
        ("--bind", options.bind),
    ):
        if "" in given:
            msg = f"{option} is empty"
            raise UsageError(msg, hint="is the variable set that it comes from?")
    here = current_folder()
    image, findings = locate_image(options.container, here)
    facts = dict(options.fact)
    check_facts(facts)
    catalog = Catalog(profile_folders(os.environ, here))
    name, reason = _select_profile(catalog, options.profile)
    wanted = Options(
        container=image,
        image_file=image and os.path.realpath(image),
        runtime=None if options.runtime == "auto" else options.runtime,
        runtime_args=tuple(options.runtime_arg),
        # The runtime would split them too, at commas that no backslash takes away.
        binds=tuple(
            part for spec in options.bind for part in re.split(r"(?<!\\),", spec)
        ),
        launcher=options.launcher,
        srun_args=tuple(options.srun_arg),
        ranks=options.ranks,
        settings=dict(options.changes),
        facts=facts,
        command=tuple(command or ()),
    )
    profile = catalog.load(name)
    plan = resolve(profile, catalog.digest(), wanted)
    _say([*reason, *findings, *missing_sources(plan.container), *plan.notes])
    _put(options, plan, argv)
    return 0


def _put(options: argparse.Namespace, plan: Plan, argv: Sequence[str]) -> None:
    if options.json:
        from envcfg.report.plan import plan_json

        _write(plan_json(plan))
    elif options.what == "plan":
        from envcfg.report.plan import plan_text, print_table

        if sys.stdout.isatty():
            print_table(plan)
        else:
            _write(plan_text(plan))
    elif options.what == "exec-line":
        _write(render_exec_line(plan) + "\n")
    elif options.output:
        from envcfg.launch.output import write_script

        data = render_script(plan, argv).encode("utf-8", "surrogateescape")
        write_script(options.output, data, force=options.force)
    else:
        _write(render_script(plan, argv))


def _select_profile(catalog: Catalog, given: str | None) -> tuple[str, list[Finding]]:
    if given is not None:
        return given, []
    if chosen := os.environ.get("ENVCFG_PROFILE"):
        return chosen, []
    cluster, host = os.environ.get("SLURM_CLUSTER_NAME"), os.uname().nodename
    detected = catalog.detect(cluster, host, interfaces(), os.path.exists)
    broken = [
        Finding(
            rule="profile-broken",
            severity="warning",
            subject=path,
            message="cannot be used, so it was not asked whether it knows this system",
            fix=f"envcfg wrap --profile {path} ... says what is wrong",
        )
        for path in catalog.broken
    ]
    if detected and catalog.guess:
        guess = Finding(
            rule="profile-by-devices",
            severity="note",
            subject=f"profile {detected}",
            message=f"is taken for what is in this machine: {catalog.guess}",
            fix="choose another with --profile; envcfg profiles detect says more",
        )
        return detected, [*broken, guess]
    if detected:
        return detected, broken
    note = Finding(
        rule="profile-not-detected",
        severity="note",
        subject="profile workstation",
        message=f"no profile knows cluster {cluster or '(none)'} or host {host}",
        fix=f"choose one with --profile; known: {', '.join(catalog.names())}",
    )
    return "workstation", [*broken, note]


def _say(findings: Sequence[Finding]) -> None:
    for finding in findings:
        sys.stderr.write("\n".join(finding.lines()) + "\n")


def _write(text: str) -> None:
    """Write *text* to stdout, byte for byte as the arguments were given."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
