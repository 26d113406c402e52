"""The files that ``check-log`` writes besides its answer: JUnit XML and a page of HTML."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.errors import UsageError
from envcfg.log.follow import present
from envcfg.log.verdict import LogReport

if TYPE_CHECKING:
    from envcfg.outputs import Output

_ENDINGS = {"junit": "xml", "html": "html"}  # of the files, by their option


def add_report_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that name a file."""
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
    """Return where reports go, all of which can be written.

    Args:
        options: as ``add_report_options`` defines them.
        names: the logs, as they were given.

    Raises:
        EnvcfgError: one cannot be written, or must not.
    """
    given = [each for each in _ENDINGS if getattr(options, each) is not None]
    if not given:
        return []
    from envcfg.outputs import STDOUT, Output, check_outputs, descriptor_of

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
    for output in outputs:
        if options.json and descriptor_of(output.name) == STDOUT:
            msg = f"--json and {output.option} both write to stdout"
            raise UsageError(msg, hint=f"as in {output.example}")
    return outputs


def put_reports(outputs: Sequence[Output], report: LogReport, title: str) -> bool:
    """Write *report* to all of *outputs*; return whether one of them was stdout.

    Raises:
        OutputError: one cannot be written, or must not.
    """
    if not outputs:
        return False
    from envcfg.outputs import STDOUT, descriptor_of, write_outputs
    from envcfg.report.log.html import log_html
    from envcfg.report.log.junit import log_junit

    texts = (
        log_junit(report) if each.option == "--junit" else log_html(report, title)
        for each in outputs
    )
    data = [text.encode("utf-8", "backslashreplace") for text in texts]
    write_outputs(list(zip(outputs, data, strict=True)))
    return any(descriptor_of(each.name) == STDOUT for each in outputs)


def _example(option: str, log: str) -> str:
    return f"--{option} report.{_ENDINGS[option]} {log}"
