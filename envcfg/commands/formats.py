"""The options of checks, and ``--format``: findings on stdout, for other programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from envcfg.commands.option_arguments import add_option
from envcfg.common.datafile import load_kept_file
from envcfg.common.errors import UsageError
from envcfg.common.findings import exit_code
from envcfg.core.option import Option, switch

if TYPE_CHECKING:
    from envcfg.common.findings import Result

FORMATS = ("text", "json", "github", "sarif", "junit")


# For a command that is a check only with --format.
STRICT = switch("--strict", "with --format: warnings fail too")


def format_option(subject: str, *, default: str | None = None) -> Option:
    """Return the option ``--format`` with this purpose; *default* applies if it is not
    given."""
    return Option(
        "--format",
        f"{subject}; github: GitHub workflow annotations; sarif: 2.1.0; junit: XML",
        choices=FORMATS,
        default=default,
    )


def add_own(
    parser: argparse.ArgumentParser, command: str, **readers: Callable[[str], Any]
) -> None:
    """Let *parser* read the options of *command* in ``options.yaml``.

    Args:
        readers: by the name in ``type`` of a row.
    """
    for title, rows in load_kept_file("commands/options.yaml")[command].items():
        group = parser.add_argument_group(title) if title else parser
        for key, row in rows.items():
            names = key.split()
            columns = {"help": row} if isinstance(row, str) else dict(row)
            if names[1:] and names[-1][0] != "-":
                columns["metavar"] = names.pop()
            elif isinstance(row, str):
                columns["action"] = "store_true"
            if "type" in columns:
                columns["type"] = readers[columns["type"]]
            if "form" in columns:
                add_option(group, format_option(columns["form"]))
            else:
                group.add_argument(*names, **columns)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format`` and ``--json`` to a command that is only a check."""
    add_option(parser, format_option("what to print (default: text)", default="text"))
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="as --format json",
    )


def check_format(options: argparse.Namespace, *, is_check: bool = False) -> None:
    """Check that the output options fit together.

    For a command that is not itself a check, ``--strict`` requires ``--format``.

    Raises:
        UsageError: they exclude each other.
    """
    if options.json and options.format:
        msg = "--json and --format both write to stdout"
        hint = "--json is the whole answer, --format json its findings: leave one out"
        raise UsageError(msg, hint=hint)
    if options.strict and not options.format and not is_check:
        msg = "--strict belongs to --format"
        raise UsageError(msg, hint="as in --format text --strict")


def put_result(
    result: Result, form: str, *, strict: bool, inconclusive: bool = False
) -> int:
    """Write *result* to stdout, in colours on a terminal; return the exit code."""
    from envcfg.report.finding_report import finding_lines, write_findings

    if form == "text":
        from envcfg.report.styled import put

        put(finding_lines(result))
    else:
        sys.stdout.write(write_findings(result, form))
    sys.stdout.flush()
    return exit_code(result.all, strict=strict, inconclusive=inconclusive)
