"""``envcfg check-log``: what a job's log says of its network, for every rank."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from envcfg.characters import one_line
from envcfg.commands.options import add_defaults, use_defaults
from envcfg.commands.printing import say, tell
from envcfg.commands.reports import (
    add_report_options,
    check_reports,
    forgotten_name,
    put_reports,
)
from envcfg.core.log import check_logs, expected_by, follow_logs
from envcfg.core.option import number_of, within
from envcfg.core.values import read_silence
from envcfg.errors import UsageError
from envcfg.findings import exit_code
from envcfg.interrupts import raise_signals
from envcfg.log.expectations import Expectations
from envcfg.log.follow import present
from envcfg.log.source import LARGE, expand
from envcfg.log.verdict import LogReport, next_start
from envcfg.report.log.findings import verdict_finding
from envcfg.report.styled import is_screen

_BAD = ("degraded", "broken")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check-log``."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="log, also .gz .xz .zst; folder; pattern; - for standard input; what ncclras "
        "printed, Flight Recorder dumps, the Inspector's lines",
    )
    wanted = parser.add_argument_group("what the log must show")
    wanted.add_argument(
        "--profile", metavar="NAME|FILE", help="what this system's profile expects"
    )
    wanted.add_argument(
        "--expect-ranks", metavar="N", type=number_of("ranks"), help="size of the world"
    )
    wanted.add_argument(
        "--expect-network",
        metavar="NAME",
        action="append",
        default=[],
        help="as NCCL names it, as in 'AWS Libfabric'; may be repeated",
    )
    wanted.add_argument(
        "--expect-provider", metavar="NAME", help="libfabric provider, as in cxi"
    )
    wanted.add_argument(
        "--expect-nics",
        metavar="N",
        type=number_of("NICs"),
        help="NICs that each process sees",
    )
    wanted.add_argument(
        "--require-gdr", action="store_true", help="GPU RDMA must be proven"
    )
    wanted.add_argument(
        "--allow-socket",
        action="store_true",
        help="TCP between nodes is what is wanted",
    )
    wanted.add_argument(
        "--strict",
        action="store_true",
        help="inconclusive counts as a finding: exit code 1",
    )
    out = parser.add_argument_group("what to write")
    add_report_options(out)
    out.add_argument(
        "--next",
        action="store_true",
        help="one line, for a script: restart, restart without NODES, or stop, and why",
    )
    live = parser.add_argument_group("while the job runs")
    live.add_argument(
        "--follow",
        action="store_true",
        help="read on while the log grows, until the verdict is safe",
    )
    live.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=within(0, 1e9, "seconds"),
        help="with --follow: answer then, whatever is known (default: wait on)",
    )
    live.add_argument(
        "--on-bad",
        metavar="COMMAND",
        help="with --follow: run by sh when degraded or broken, with ENVCFG_VERDICT and "
        "ENVCFG_SUMMARY set",
    )
    live.add_argument(
        "--watch-step",
        choices=("warn", "stop", "off"),
        help="what wrap --verify starts: FILE is NCCL's log or output of the step",
    )
    live.add_argument(
        "--since",
        metavar="N",
        action="append",
        default=[],
        type=int,
        help="with --watch-step: first byte of the step, for each FILE of output",
    )
    live.add_argument(
        "--on-silence",
        metavar="TIME[=stop]",
        type=read_silence,
        help="with --watch-step: ask envcfg hang where nothing was written for this long",
    )
    add_defaults(parser, "profile")


def run(options: argparse.Namespace) -> int:
    """Read, judge and report; return the exit code of the verdict."""
    names = [*options.files, *(options.command or ())]
    _check(options, names)
    if options.watch_step:
        from envcfg.commands.watch_step import run_watch

        return run_watch(options, names, _expectations(options))
    use_defaults(options)
    outputs = check_reports(options, names)
    expect = _expectations(options)
    files, proof = names, None
    if options.follow:
        if not present(names):
            absent = one_line(" ".join(names))
            tell(f"waiting for {absent}, not there yet")
        report, proof = follow_logs(names, expect, options.timeout)
    else:
        files = expand(names)
        report = check_logs(files, expect, _reading)
    if options.next:
        sys.stdout.write(f"{one_line(next_start(report))}\n")
    else:
        put_reports(options, report, outputs, files)
    if options.on_bad and proof and report.verdict in _BAD:
        _act(options.on_bad, report, proof)
    return exit_code(
        [verdict_finding(report)],
        strict=options.strict,
        inconclusive=report.verdict == "inconclusive",
    )


def _check(options: argparse.Namespace, names: Sequence[str]) -> None:
    if not names:
        msg = "no log given"
        hint = "envcfg check-log slurm-123.out; - reads standard input"
        raise UsageError(msg, hint=forgotten_name(options) or hint)
    if "" in names:
        msg = "the name of a log is empty"
        raise UsageError(msg, hint="is the variable set that it comes from?")
    for name in names if options.json and not options.follow else ():
        if name.endswith(".json") and not os.path.exists(name):
            msg = f"--json takes no file, and {name} is not a log"
            raise UsageError(msg, hint=f"it goes to standard output: >{name}")
    if options.follow and "-" in names:
        msg = "--follow reads files, not standard input"
        raise UsageError(msg, hint="tail -f is not needed: name the file itself")
    for given, option in ((options.timeout, "--timeout"), (options.on_bad, "--on-bad")):
        if given is not None and not options.follow:
            msg = f"{option} belongs to --follow"
            raise UsageError(msg, hint="add --follow, or leave it out")


def _expectations(options: argparse.Namespace) -> Expectations:
    expect = Expectations()
    if options.profile is not None:
        expect, notes = expected_by(options.profile)
        say(notes)
    return expect._replace(
        ranks=options.expect_ranks or expect.ranks,
        networks=tuple(options.expect_network) or expect.networks,
        provider=options.expect_provider or expect.provider,
        nics=options.expect_nics or expect.nics,
        prove_nics=bool(options.expect_nics),
        gdr=options.require_gdr or expect.gdr,
        allow_socket=options.allow_socket,
    )


@contextmanager
def _reading(files: Sequence[str]) -> Iterator[Any]:
    """Show how far reading is, on a terminal and for much to read."""
    total = sum(os.path.getsize(name) for name in files if os.path.isfile(name))
    if total < LARGE or not is_screen(sys.stderr):
        yield lambda _: None
        return
    raise_signals()  # the bar hides the terminal's cursor
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = ("reading", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def _act(command: str, report: LogReport, proof: LogReport) -> None:
    """Run what was given for a bad verdict, if lines that are certain show that it is."""
    import subprocess

    if proof.network_verdict not in _BAD:
        why = "its program ended, and no certain line shows that its network is bad"
        if proof.verdict not in _BAD:
            why = "no certain line shows it"
            if report.network_verdict not in _BAD:
                why = "it is about a hang, not about the network"
        tell(f"--on-bad: not run: {why}")
        return
    raise_signals()  # it is not left alone
    env = {
        **os.environ,
        "ENVCFG_VERDICT": proof.verdict,
        "ENVCFG_SUMMARY": one_line(proof.summary),
    }
    done = subprocess.run(["/bin/sh", "-c", command], env=env, check=False)
    if done.returncode:
        said = f"--on-bad: exit code {done.returncode}: {one_line(command)}"
        tell(said, severity="warning")
