"""The output of ``check-log``: the answer on stdout, and the page of ``--html``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.commands.formats import check_format
from envcfg.commands.printing import tell
from envcfg.common.characters import one_line
from envcfg.common.errors import EXIT_BUG, UsageError
from envcfg.common.failure import STDOUT
from envcfg.common.findings import exit_code
from envcfg.log.bugs import Bugs
from envcfg.log.follow import present
from envcfg.log.verdict import Bug, LogReport
from envcfg.report.log.log_findings import verdict_finding

if TYPE_CHECKING:
    from envcfg.common.safe_output import Output


def forgotten_name(options: argparse.Namespace) -> str | None:
    """Return a hint if an option has taken the name of the log as its own value."""
    name = options.html
    if name and os.path.isfile(name):
        return f"--html takes a file to write: {_example(name)}"
    return None


def check_page(options: argparse.Namespace, names: Sequence[str]) -> Output | None:
    """Return the destination of the page, checked to be writable; *names* are the logs.

    Raises:
        EnvcfgError: the destination is not writable, or is protected.
    """
    check_format(options, is_check=True)
    if options.html is None:
        return None
    from envcfg.common.safe_output import Output, check_outputs, descriptor_of

    output = Output(
        name=options.html,
        option="--html",
        example=_example(names[0]),
        # A log must never be overwritten by its own report, not even through a link.
        inputs=[*names, *present(names)],
        folders=[name for name in names if os.path.isdir(name)],
        force=options.force,
    )
    check_outputs([output])
    option = "--json" if options.json else "--format" if options.format else None
    # Two texts on one stream could not be separated.
    if option and descriptor_of(output.name) == STDOUT:
        msg = f"{option} and --html both write to stdout"
        raise UsageError(msg, hint=f"as in {output.example}")
    return output


def put_reports(
    options: argparse.Namespace,
    report: LogReport,
    page: Output | None,
    files: Sequence[str],
) -> list[Bug]:
    """Write *report* as *page*, and as text to stdout unless the page goes there.

    Args:
        options: the command's options, which choose the form.
        report: the answer.
        page: the destination of the page, if it is wanted.
        files: the logs that were read.

    Returns:
        The bugs that stopped a form of the report, or a section of it.

    Raises:
        OutputError: a destination is not writable, or is protected.
    """
    bugs = Bugs()
    # The page comes first: a closed pipe on stdout must not prevent it.
    if not (page and _put_page(page, report, " ".join(options.files), bugs)):
        # A bug in one form of the report must not hide the verdict.
        if options.json or options.format not in {None, "text"}:
            name = "json" if options.json else options.format
            text = bugs.attempt(
                f"the report as {name}", lambda: _text_of(options, report, files), ""
            )
            sys.stdout.write(text)
        else:
            from envcfg.report.log.log_text import log_lines
            from envcfg.report.styled import put

            put((style, line) for line, style in log_lines(report, bugs))
        sys.stdout.flush()
    return bugs.found


def _text_of(
    options: argparse.Namespace, report: LogReport, files: Sequence[str]
) -> str:
    """Return *report* as text for programs, in the form that *options* choose."""
    if options.json:
        from envcfg.report.log.log_findings import log_json

        return log_json(report)
    from envcfg.common.findings import Result
    from envcfg.report.finding_report import write_findings
    from envcfg.report.log.log_findings import log_findings, rank_findings

    findings = log_findings(report, files)
    if options.format == "junit":  # a test for each rank, too
        findings |= rank_findings(report)
    return write_findings(Result(findings), options.format)


def _put_page(output: Output, report: LogReport, title: str, bugs: Bugs) -> bool:
    """Write *report* as a page to *output*; return whether that was stdout."""
    from envcfg.common.safe_output import descriptor_of, write_outputs
    from envcfg.report.log.log_html import log_html

    page = bugs.attempt("the file of --html", lambda: log_html(report, title), "")
    # A page that failed is left out; its bug is reported.
    if not page:
        return False
    # Logs may contain characters that UTF-8 cannot represent.
    write_outputs([(output, page.encode("utf-8", "backslashreplace"))])
    return descriptor_of(output.name) == STDOUT


def report_code(
    options: argparse.Namespace, report: LogReport, bugs: Sequence[Bug]
) -> int:
    """Return the exit code of *report*, and print *bugs* that were found while judging."""
    # A bug outranks the verdict: some part of the report may be missing.
    if bugs:
        return _tell_bugs(report, bugs)
    return exit_code(
        [verdict_finding(report)],
        strict=options.strict,
        inconclusive=report.verdict == "inconclusive",
    )


def _tell_bugs(report: LogReport, bugs: Sequence[Bug]) -> int:
    """Report *bugs* on stderr, with the verdict of *report*; return the exit code."""
    from envcfg import __version__

    for bug in bugs:
        text = f"this is a bug in envcfg {__version__}: {one_line(bug.part)}"
        tell(f"{text}: {bug.error} ({bug.place})", severity="error")
    # The exit code is that of a bug, but the verdict is still useful to the reader.
    sys.stderr.write("  hint: please report the lines above; the other parts hold:\n")
    sys.stderr.write(f"  {one_line(report.summary)}\n")
    return EXIT_BUG


def _example(log: str) -> str:
    return f"--html report.html {log}"
