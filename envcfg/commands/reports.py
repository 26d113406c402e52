"""What ``check-log`` writes: its answer on stdout, and files beside it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.commands.formats import check_format, format_option
from envcfg.commands.options import add_option
from envcfg.errors import UsageError
from envcfg.failure import STDOUT
from envcfg.log.follow import present
from envcfg.log.verdict import LogReport

if TYPE_CHECKING:
    from envcfg.safe_output import Output

_ENDINGS = {"junit": "xml", "html": "html"}  # of the files, by their option


def add_report_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that say in which form, and where to."""
    group.add_argument(
        "--json", action="store_true", help="the answer as JSON on stdout"
    )
    add_option(group, format_option("the verdict and its findings, by file"))
    group.add_argument("--junit", metavar="FILE", help="also write JUnit XML")
    group.add_argument(
        "--html",
        metavar="FILE",
        help="also write a page that stands alone; -: on stdout, instead of the text",
    )
    group.add_argument(
        "--force",
        action="store_true",
        help="with --junit, --html: replace a file that envcfg did not write",
    )


def forgotten_name(options: argparse.Namespace) -> str | None:
    """Return a hint, where an option has taken the name of the log for its own."""
    for option in _ENDINGS:
        name = getattr(options, option)
        if name and os.path.isfile(name):
            return f"--{option} takes a file to write: {_example(option, name)}"
    return None


def check_reports(options: argparse.Namespace, names: Sequence[str]) -> list[Output]:
    """Return where reports go, all of which can be written; *names* are the logs.

    Raises:
        EnvcfgError: one cannot be written, or must not.
    """
    check_format(options, is_check=True)
    given = [each for each in _ENDINGS if getattr(options, each) is not None]
    if not given:
        return []
    from envcfg.safe_output import Output, check_outputs, descriptor_of

    outputs = [
        Output(
            name=getattr(options, each),
            option=f"--{each}",
            example=_example(each, names[0]),
            inputs=[*names, *present(names)],
            folders=[name for name in names if os.path.isdir(name)],
            force=options.force,
        )
        for each in given
    ]
    check_outputs(outputs)
    other = "--json" if options.json else "--format" if options.format else None
    for output in outputs:
        if other and descriptor_of(output.name) == STDOUT:
            msg = f"{other} and {output.option} both write to stdout"
            raise UsageError(msg, hint=f"as in {output.example}")
    return outputs


def put_reports(
    options: argparse.Namespace,
    report: LogReport,
    outputs: Sequence[Output],
    files: Sequence[str],
) -> None:
    """Write *report* to all of *outputs*, and to stdout if none of them is that.

    *files* are the logs that were read.

    Raises:
        OutputError: one cannot be written, or must not.
    """
    if outputs and _put_files(outputs, report, " ".join(options.files)):
        return
    if options.json:
        from envcfg.report.log.findings import log_json

        sys.stdout.write(log_json(report))
    elif options.format == "junit":  # has the ranks too
        from envcfg.report.log.junit import log_junit

        sys.stdout.write(log_junit(report))
    elif options.format not in {None, "text"}:
        from envcfg.report.findings import Result, write_findings
        from envcfg.report.log.findings import log_findings

        result = Result(log_findings(report, files))
        sys.stdout.write(write_findings(result, options.format))
    else:
        from envcfg.report.log.text import log_lines
        from envcfg.report.styled import put

        put((style, line) for line, style in log_lines(report))
    sys.stdout.flush()


def _put_files(outputs: Sequence[Output], report: LogReport, title: str) -> bool:
    """Write *report* to all of *outputs*; return whether one of them was stdout."""
    from envcfg.report.log.html import log_html
    from envcfg.report.log.junit import log_junit
    from envcfg.safe_output import descriptor_of, write_outputs

    texts = (
        log_junit(report) if each.option == "--junit" else log_html(report, title)
        for each in outputs
    )
    data = [text.encode("utf-8", "backslashreplace") for text in texts]
    write_outputs(list(zip(outputs, data, strict=True)))
    return any(descriptor_of(each.name) == STDOUT for each in outputs)


def _example(option: str, log: str) -> str:
    return f"--{option} report.{_ENDINGS[option]} {log}"
