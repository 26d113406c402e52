"""``envcfg check-log``: the network use in a job's log, for every rank."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from envcfg.commands.formats import add_own
from envcfg.commands.option_arguments import add_defaults, use_defaults
from envcfg.commands.printing import say, tell
from envcfg.commands.reports import (
    check_page,
    forgotten_name,
    put_reports,
    report_code,
)
from envcfg.common.characters import one_line
from envcfg.common.errors import UsageError
from envcfg.common.interrupts import raise_signals
from envcfg.core.log_checking import (
    check_logs,
    expected_by,
    expected_by_default,
    follow_logs,
)
from envcfg.core.option import number_of, within
from envcfg.core.option_values import read_after, read_silence
from envcfg.log.expectations import Expectations
from envcfg.log.follow import present
from envcfg.log.judge.next_step import with_unknown
from envcfg.log.read.log_source import LARGE, expand
from envcfg.log.verdict import LogReport
from envcfg.report.styled import is_screen

if TYPE_CHECKING:
    from envcfg.core.defaults import Default

# Only these verdicts start the command of --on-bad: a hang is not a fault of the
# network.
_BAD = ("degraded", "broken")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check-log``."""
    add_own(
        parser,
        "check-log",
        ranks=number_of("ranks"),
        NICs=number_of("NICs"),
        seconds=within(0, 1e9, "seconds"),
        offset=int,
        silence=read_silence,
        after=read_after,
    )
    add_defaults(parser, "profile")


def run(options: argparse.Namespace) -> int:
    """Read, judge and report; return the exit code of the verdict."""
    names = [*options.files, *(options.command or ())]
    _check(options, names)
    defaults = getattr(options, "defaults", ())
    # The watcher has its own output and never fails, so it leaves before the
    # defaults are read.
    if options.watch_step:
        if options.verify_after is None:
            options.verify_after = 300
        from envcfg.commands.watch_step import run_watch

        return run_watch(options, names, _expectations(options, defaults))
    use_defaults(options)
    # The file of the page is checked before reading, because a large log takes
    # minutes.
    page = check_page(options, names)
    expect = _expectations(options, defaults)
    files, proof = names, None
    if options.follow:
        # Slurm creates the log only when the job starts.
        if not present(names):
            absent = one_line(" ".join(names))
            tell(f"waiting for {absent}, not there yet")
        report, proof = follow_logs(names, expect, options.timeout)
    else:
        # Without --follow, a pattern is expanded once; with it, new files may
        # appear.
        files = expand(names)
        report = check_logs(files, expect, _reading)
    if options.store:
        from envcfg.core.many_jobs import with_store
        from envcfg.jobs.store import Store

        store = Store(options.store, is_made=True)
        report, history = with_store(report, files, store)
        if history:
            tell(f"same cause: {history}")
    report = with_unknown(report, options.unknown)
    bugs = list(dict.fromkeys((*report.bugs, *(proof.bugs if proof else ()))))
    # --next is for scripts, so it prints exactly one line.
    if options.next:
        if options.exclude_from is not None:
            from envcfg.core.bad_nodes import without_bad_nodes

            report, notes = without_bad_nodes(report, options.exclude_from)
            say(notes)
        sys.stdout.write(f"{one_line(report.next.words)}\n")
    else:
        bugs += put_reports(options, report, page, files)
    # The command runs after the report, so that its output does not split the
    # report.
    if options.on_bad and proof and report.verdict in _BAD:
        _act(options.on_bad, report, proof)
    return report_code(options, report, bugs)


def _check(options: argparse.Namespace, names: Sequence[str]) -> None:
    if not names:
        msg = "no log given"
        hint = "envcfg check-log slurm-123.out; - reads standard input"
        raise UsageError(msg, hint=forgotten_name(options) or hint)
    if "" in names:
        # An empty name usually comes from a shell variable that is not set.
        msg = "the name of a log is empty"
        raise UsageError(msg, hint="is the variable set that it comes from?")
    # check-log --json out.json is a frequent mistake: the word is taken as a log.
    for name in names if options.json and not options.follow else ():
        if name.endswith(".json") and not os.path.exists(name):
            msg = f"--json takes no file, and {name} is not a log"
            raise UsageError(msg, hint=f"it goes to standard output: >{name}")
    # A pipe cannot be read again, and it has no size to compare.
    if options.follow and "-" in names:
        msg = "--follow reads files, not standard input"
        raise UsageError(msg, hint="tail -f is not needed: name the file itself")
    for value, option, owner, is_given in (
        (options.exclude_from, "--exclude-from", "--next", options.next),
        (options.timeout, "--timeout", "--follow", options.follow),
        (options.on_bad, "--on-bad", "--follow", options.follow),
        (options.since or None, "--since", "--watch-step", options.watch_step),
        (options.on_silence, "--on-silence", "--watch-step", options.watch_step),
        (options.verify_after, "--verify-after", "--watch-step", options.watch_step),
    ):
        if value is not None and not is_given:
            msg = f"{option} belongs to {owner}"
            raise UsageError(msg, hint=f"add {owner}, or leave it out")


def _expectations(
    options: argparse.Namespace, defaults: Sequence[Default]
) -> Expectations:
    expect = Expectations()
    # Notes of the profile are printed at once, because reading may take long.
    if options.profile is not None:
        writable = options.allow_writable
        if "profile" in getattr(options, "given", ()):
            expect, notes = expected_by(options.profile, writable=writable)
        else:
            # A value of the environment overrides the project's, and is the user's own.
            is_projects = not os.environ.get("ENVCFG_PROFILE") and any(
                row.is_projects and row.option.name == "profile" for row in defaults
            )
            expect, notes = expected_by_default(
                options.profile, is_projects=is_projects, writable=writable
            )
        say(notes)
    return expect._replace(
        ranks=options.expect_ranks or expect.ranks,
        networks=tuple(options.expect_network) or expect.networks,
        provider=options.expect_provider or expect.provider,
        nics=options.expect_nics or expect.nics,
        # A number from the command line must be proven; one from the profile may be
        # missing in the log.
        prove_nics=bool(options.expect_nics),
        gdr=options.require_gdr or expect.gdr,
        allow_socket=options.allow_socket,
    )


@contextmanager
def _reading(files: Sequence[str]) -> Iterator[Any]:
    """Show the progress of reading, on a terminal and for large inputs only."""
    # Pipes and compressed files have no known length, so only plain files count.
    total = sum(os.path.getsize(name) for name in files if os.path.isfile(name))
    if total < LARGE or not is_screen(sys.stderr):
        yield lambda _: None
        return
    raise_signals()  # otherwise the cursor of the terminal stays hidden
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = ("reading", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def _act(command: str, report: LogReport, proof: LogReport) -> None:
    """Run the command for a bad verdict if certain lines prove the verdict."""
    import subprocess

    # A kill of the job cannot be undone, so the lines must be certain.
    if proof.network_verdict not in _BAD:
        why = "its program ended, and no certain line shows that its network is bad"
        if proof.verdict not in _BAD:
            why = "no certain line shows it"
            if report.network_verdict not in _BAD:
                why = "it is about a hang, not about the network"
        tell(f"--on-bad: not run: {why}")
        return
    raise_signals()  # an interruption must reach the command too
    env = {
        **os.environ,
        "ENVCFG_VERDICT": proof.verdict,
        "ENVCFG_SUMMARY": one_line(proof.summary),
    }
    # A fixed shell, because the user's may be csh, with another syntax.
    done = subprocess.run(["/bin/sh", "-c", command], env=env, check=False)
    if done.returncode:
        message = f"--on-bad: exit code {done.returncode}: {one_line(command)}"
        tell(message, severity="warning")
