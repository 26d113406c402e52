"""``envcfg environment``: what a rank's environment was, held against the plan."""

from __future__ import annotations

import argparse
import sys

from envcfg.budget import Budget
from envcfg.characters import one_line
from envcfg.commands.formats import check_format, format_option, put_result
from envcfg.commands.options import add_option
from envcfg.core.option import switch
from envcfg.errors import OutputError, UsageError
from envcfg.findings import exit_code

_MOST = 64 << 20  # bytes; Linux gives a program two megabytes of them


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``environment``."""
    parser.add_argument("file", metavar="FILE", help="the file of one rank")
    add_option(parser, switch("--all", "variables that envcfg does not know, too"))
    add_option(parser, switch("--json", "the whole answer, as JSON"))
    what = "what is not as planned, as another program reads it"
    add_option(parser, format_option(what))
    add_option(parser, switch("--strict", "another value than planned fails, too"))


def run(options: argparse.Namespace) -> int:
    """Print the answer."""
    if options.command:
        msg = "envcfg environment takes no command"
        raise UsageError(msg, hint=f"leave out -- {' '.join(options.command)}")
    check_format(options, is_check=True)
    from envcfg.knowledge.variables import load_variables
    from envcfg.launch.environment import parse_report, rows_of
    from envcfg.report.environment import (
        environment_findings,
        environment_json,
        environment_lines,
    )
    from envcfg.starters import STARTERS

    with Budget(one_line(options.file), seconds=30, megabytes=1000):
        report = parse_report(_read(options.file), options.file)
        known = report.rank if options.all else load_variables()
        prefixes = {each.names.prefix for each in STARTERS.values()} - {""}
        rows = rows_of(report, known, prefixes)
        findings = environment_findings(rows)
    if options.format:
        from envcfg.report.findings import Result

        result = Result({options.file: findings})
        return put_result(result, options.format, strict=options.strict)
    if options.json:
        sys.stdout.write(environment_json(options.file, report.said, rows))
    else:
        from envcfg.report.styled import put

        put(environment_lines(report.said, rows))
    sys.stdout.flush()
    return exit_code(findings, strict=options.strict)


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(_MOST)
        with open(name, "rb") as file:
            return file.read(_MOST)
    except OSError as err:
        msg = f"cannot read {one_line(name)}: {err.strerror}"
        hint = "name a file that --report-environment wrote"
        raise OutputError(msg, hint=hint) from err
