"""``--format``: what a check has found, on stdout, as another program reads it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from envcfg.commands.options import add_option
from envcfg.core.option import Option, switch
from envcfg.errors import UsageError
from envcfg.findings import exit_code

if TYPE_CHECKING:
    from envcfg.report.findings import Result

FORMATS = ("text", "json", "github", "sarif", "junit")


# Of a command that is a check with --format alone.
STRICT = switch("--strict", "with --format: warnings fail too")


def format_option(what: str, *, default: str | None = None) -> Option:
    """Return ``--format``, which does *what* here; *default*: where none is given."""
    return Option(
        "--format",
        f"{what}; github: annotations of a workflow; sarif: 2.1.0; junit: XML",
        choices=FORMATS,
        default=default,
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format`` and ``--json`` of a command that is nothing but a check."""
    add_option(parser, format_option("what to print (default: text)", default="text"))
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="as --format json",
    )


def check_format(options: argparse.Namespace, *, is_check: bool = False) -> None:
    """See that the options of the answer fit each other.

    Of a command that is not a check in itself, ``--strict`` belongs to ``--format``.

    Raises:
        UsageError: they do not.
    """
    if options.json and options.format:
        msg = "--json and --format both write to stdout"
        hint = "--json is the whole answer, --format json its findings: leave one out"
        raise UsageError(msg, hint=hint)
    if options.strict and not options.format and not is_check:
        msg = "--strict belongs to --format"
        raise UsageError(msg, hint="as in --format text --strict")


def put_result(result: Result, form: str, *, strict: bool) -> int:
    """Write *result* to stdout, in colours on a terminal; return the exit code."""
    from envcfg.report.findings import finding_lines, write_findings

    if form == "text":
        from envcfg.report.styled import put

        put(finding_lines(result))
    else:
        sys.stdout.write(write_findings(result, form))
    sys.stdout.flush()
    return exit_code(result.all, strict=strict)
