"""``envcfg preflight``: can the nodes of this job do its work, and the network between?"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from envcfg.commands.formats import STRICT, check_format, format_option, put_result
from envcfg.commands.options import add_table, read_step
from envcfg.commands.printing import say, write
from envcfg.core.diagnostics import DIAGNOSTICS
from envcfg.core.option import Option, Table, within
from envcfg.core.step import REQUIRE, SAME, Step
from envcfg.errors import JobError, UsageError
from envcfg.findings import exit_code
from envcfg.interrupts import raise_signals

if TYPE_CHECKING:
    from envcfg.preflight.records import Report, Wanted
    from envcfg.safe_output import Output

_EXAMPLE = "envcfg preflight --container pytorch.sif"


def _seconds(flag: str, what: str, default: float, most: float = 3600) -> Option:
    return Option(
        flag,
        f"{what} (default: {default:g})",
        metavar="SECONDS",
        read=within(1, most, "seconds"),
        write=lambda seconds: f"{seconds:g}",
        default=default,
    )


_OWN: Table = {
    "what is looked at": (
        REQUIRE,
        Option("--nodes-only", "the nodes alone, without a collective", kind="switch"),
        Option(
            "--nccl-diagnostics",
            "let NCCL (2.31 or newer) run its own, and pass on what they say",
            kind="switch",
        ),
        _seconds("--start", "for the first node to answer, and to load torch", 120.0),
        _seconds("--patience", "for the others, once the first is as far", 20.0),
        _seconds("--measure", "for what is measured, at most", 20.0, 20),
    ),
}
OPTIONS: Table = {
    **SAME,
    **_OWN,
    "what to write": (
        Option("--json", "the whole answer as JSON", kind="switch"),
        format_option("what was found, by node"),
        STRICT,
        Option(
            "--nodes-file",
            "write passing and failing nodes to FILE, as bash reads it",
            metavar="FILE",
        ),
        Option(
            "--force",
            "with --nodes-file: replace a file that envcfg did not write",
            kind="switch",
        ),
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``preflight``, and the values of those of a step that it lacks."""
    kept = {each.name for options in SAME.values() for each in options}
    parser.set_defaults(
        **{
            each.name: [] if each.kind == "many" else each.default
            for options in DIAGNOSTICS.values()
            for each in options
            if each.name not in kept
        }
    )
    add_table(parser, OPTIONS)


def run(options: argparse.Namespace) -> int:
    """Look, judge and report; return the exit code."""
    if options.command is not None:
        msg = "envcfg preflight takes no command"
        raise UsageError(
            msg, hint="envcfg wrap --preflight ... -- COMMAND runs one after it"
        )
    if options.require and options.nodes_only:
        msg = "--require needs the collective, which --nodes-only leaves out"
        raise UsageError(msg, hint="leave out one of them")
    check_format(options)
    from envcfg.preflight.records import Wanted

    needed, options.require = options.require, None
    step = read_step(options, _EXAMPLE)
    outputs: list[Output] = []
    if options.nodes_file is not None:
        from envcfg.safe_output import Output, check_outputs

        name, example = options.nodes_file, "--nodes-file nodes.txt"
        given = step.inputs
        outputs = [Output(name, "--nodes-file", example, given, force=options.force)]
        check_outputs(outputs)
    say([*step.findings, *step.notes])
    from envcfg.launch.tasks import choose_launcher
    from envcfg.starters import STARTERS

    starter = STARTERS[choose_launcher(step.profile, step.options)[1]]
    profile, expect = step.profile, step.profile.expect
    from envcfg.log.expectations import expectations_of

    wanted = Wanted(
        hosts=_hosts(starter.looking.hosts),
        interfaces=(profile.node.nics if profile.node else ())
        or (expect.interfaces if expect else ()),
        gpus=profile.node.gpus if profile.node else None,
        devices=expect.devices if expect else (),
        is_fast=expectations_of(profile).wants_fast,
        bandwidth=expect.bandwidth if expect else None,
        profile=profile.name,
    )
    began = time.monotonic()
    raise_signals()  # steps must be ended
    report = _look(options, step, wanted, needed)
    raise_signals(False)
    _write(options, report, wanted, outputs, time.monotonic() - began)
    found = [each for some in report.nodes.values() for each in some]
    return exit_code(
        [*found, *report.job],
        strict=options.strict,
        inconclusive=report.is_inconclusive,
    )


def _look(
    options: argparse.Namespace, step: Step, wanted: Wanted, needed: str | None
) -> Report:
    from envcfg.commands.preflight_steps import Steps
    from envcfg.preflight.judge import Seen, judge_all
    from envcfg.preflight.progress import Limits

    limits = Limits(options.start, options.patience, options.measure)
    steps = Steps(step, wanted, limits, options.argv)
    answers, ended = steps.look_at_nodes()
    seen = Seen(answers, ended)
    report = judge_all(wanted, seen, needs_fast=bool(needed))
    if report.failed or options.nodes_only:
        return report._replace(is_inconclusive=False) if options.nodes_only else report
    seen = steps.add(seen, diagnostics=options.nccl_diagnostics)
    return judge_all(wanted, seen, needs_fast=bool(needed))


def _hosts(command: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes of the job, in order.

    Raises:
        JobError: this is no job.
    """
    import subprocess

    hint = "run it in a job: in an sbatch script, or under salloc"
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=60,
        )
    except OSError as err:
        msg = f"cannot ask for the nodes of this job: {command[0]}: {err.strerror}"
        raise JobError(msg, hint=f"{hint}, or choose --launcher local") from err
    except subprocess.TimeoutExpired as err:
        msg = f"{command[0]} did not answer for 60 s"
        raise JobError(msg, hint="does the scheduler answer?") from err
    hosts = tuple(dict.fromkeys(done.stdout.split()))
    if done.returncode or not hosts:
        said = done.stderr.strip().splitlines()
        why = said[-1] if said else f"{command[0]} names none"
        msg = f"the nodes of this job are not known: {why}"
        raise JobError(msg, hint=f"{hint}, or choose --launcher local")
    return hosts


def _write(
    options: argparse.Namespace,
    report: Report,
    wanted: Wanted,
    outputs: Sequence[Output],
    seconds: float,
) -> None:
    if outputs:
        from envcfg.preflight.node_list import nodes_text
        from envcfg.provenance import marked
        from envcfg.safe_output import write_outputs

        text = marked("nodes", nodes_text(wanted.hosts, report.failed))
        write_outputs([(outputs[0], text.encode())])
    if options.json:
        from envcfg.report.preflight import preflight_json

        write(preflight_json(report, wanted, seconds))
    elif options.format is not None:
        from envcfg.report.findings import Result

        found: Mapping[str, Any] = report.nodes
        if report.job:
            found = {**found, "job": report.job}
        put_result(Result(found, "node"), options.format, strict=options.strict)
    else:
        from envcfg.report.preflight import preflight_lines
        from envcfg.report.styled import put

        put(preflight_lines(report, wanted, seconds))
        sys.stdout.flush()
