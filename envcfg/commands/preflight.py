"""``envcfg preflight``: check the nodes of this job, and the network between them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from envcfg.commands.formats import STRICT, check_format, format_option, put_result
from envcfg.commands.option_arguments import add_table, read_step
from envcfg.commands.printing import say, write
from envcfg.common.errors import UsageError
from envcfg.common.findings import exit_code
from envcfg.common.interrupts import raise_signals
from envcfg.core.option import Option, Table, no_default, switch, within
from envcfg.core.step import REQUIRE, SAME, Step

if TYPE_CHECKING:
    from envcfg.nodes.preflight.preflight_records import Report, Requirements

_EXAMPLE = "envcfg preflight --container pytorch.sif"


def _seconds(flag: str, subject: str, default: float, most: float = 3600) -> Option:
    return Option(
        flag,
        f"{subject} (default: {default:g})",
        metavar="SECONDS",
        read=within(1, most, "seconds"),
        write=lambda seconds: f"{seconds:g}",
        default=default,
    )


_OWN: Table = {
    "what is looked at": (
        REQUIRE,
        switch("--nodes-only", "the nodes alone, without a collective"),
        _seconds("--start", "for the first node to answer, and to load torch", 120.0),
        _seconds("--patience", "for the others, once the first is as far", 20.0),
        _seconds("--measure", "for what is measured, at most", 20.0, 20),
    ),
}
OPTIONS: Table = {
    **SAME,
    **_OWN,
    "defaults": (no_default(SAME),),
    "what to write": (
        switch("--json", "the whole answer as JSON"),
        format_option("what was found, by node"),
        STRICT,
        Option(
            "--exclude-from",
            "add failing nodes to the list that envcfg job --exclude-from leaves out",
            metavar="FILE",
        ),
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``preflight``."""
    add_table(parser, OPTIONS)


def run(options: argparse.Namespace) -> int:
    """Examine the nodes, judge and report; return the exit code."""
    if options.require and options.nodes_only:
        msg = "--require needs the collective, which --nodes-only leaves out"
        raise UsageError(msg, hint="leave out one of them")
    check_format(options)
    needed, options.require = options.require, None
    step = read_step(options, _EXAMPLE)
    say([*step.findings, *step.notes])
    from envcfg.commands.preflight_steps import wanted_of

    requirements = wanted_of(step)
    began = time.monotonic()
    raise_signals()  # an interruption must end the steps
    report = _look(options, step, requirements, needed)
    raise_signals(False)
    _write(options, report, requirements, time.monotonic() - began)
    findings = [finding for some in report.nodes.values() for finding in some]
    return exit_code(
        [*findings, *report.job],
        strict=options.strict,
        inconclusive=report.is_inconclusive,
    )


def _look(
    options: argparse.Namespace,
    step: Step,
    requirements: Requirements,
    needed: str | None,
) -> Report:
    from envcfg.commands.preflight_steps import Steps
    from envcfg.nodes.preflight.preflight_judge import Answers, judge_all
    from envcfg.nodes.preflight.progress import Limits

    limits = Limits(options.start, options.patience, options.measure)
    steps = Steps(step, requirements, limits, options.argv)
    answers, ended = steps.look_at_nodes()
    observations = Answers(answers, ended)
    report = judge_all(requirements, observations, needs_fast=bool(needed))
    if report.failed or options.nodes_only:
        return report._replace(is_inconclusive=False) if options.nodes_only else report
    observations = steps.add(observations)
    return judge_all(requirements, observations, needs_fast=bool(needed))


def _write(
    options: argparse.Namespace,
    report: Report,
    requirements: Requirements,
    seconds: float,
) -> None:
    if options.exclude_from is not None:
        from envcfg.core.bad_nodes import add_bad_nodes

        say(add_bad_nodes(options.exclude_from, report.node_faults))
    if options.json:
        from envcfg.report.preflight_report import preflight_json

        write(preflight_json(report, requirements, seconds))
    elif options.format is not None:
        from envcfg.common.findings import Result

        findings: Mapping[str, Any] = report.nodes
        if report.job:
            findings = {**findings, "job": report.job}
        put_result(Result(findings, "node"), options.format, strict=options.strict)
    else:
        from envcfg.report.preflight_report import preflight_lines
        from envcfg.report.styled import put

        put(preflight_lines(report, requirements, seconds))
        sys.stdout.flush()
