"""``envcfg environment``: the environment of a rank, compared with the plan."""

from __future__ import annotations

import argparse
import os
import sys
from shlex import quote
from typing import TYPE_CHECKING

from envcfg.commands.formats import add_own, check_format, put_result
from envcfg.common.budget import Budget
from envcfg.common.characters import one_line, whole_number
from envcfg.common.errors import OutputError, UsageError
from envcfg.common.findings import Result, exit_code

if TYPE_CHECKING:
    from envcfg.job.plan.rank_environment import RankEnvironment, Row

_HINT = "name a file, or the folder, that --report-environment wrote"
_MOST = 64 << 20  # bytes; Linux allows two megabytes of variables


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``environment``."""
    add_own(parser, "environment")


def run(options: argparse.Namespace) -> int:
    """Print the answer."""
    check_format(options, is_check=True)
    paths = _rank_files(options.file)
    if options.json and len(paths) > 1:
        msg = f"--json shows one rank, and {one_line(options.file)} has {len(paths)}"
        raise UsageError(msg, hint=f"name one: envcfg environment {quote(paths[0])}")
    from envcfg.report.environment_report import (
        environment_findings,
        environment_json,
        environment_lines,
    )

    ranks = {path: _rank(path, is_all=options.all) for path in paths}
    findings = {path: environment_findings(rows) for path, (_, rows) in ranks.items()}
    if options.format:
        return put_result(Result(findings), options.format, strict=options.strict)
    for number, (path, (report, rows)) in enumerate(ranks.items()):
        if options.json:
            sys.stdout.write(environment_json(path, report.job_facts, rows))
        else:
            from envcfg.report.styled import put

            put([("", "")] if number else [])
            put(environment_lines(report.job_facts, rows))
    sys.stdout.flush()
    return exit_code(Result(findings).all, strict=options.strict)


def _rank_files(path: str) -> list[str]:
    """Return the path itself, or the files of ranks in a folder, in the order of the ranks.

    Raises:
        OutputError: the folder cannot be read, or has no file of a rank.
    """
    if not os.path.isdir(path):
        return [path]
    try:
        # A pipe of this name would block the command.
        names = [
            name
            for name in os.listdir(path)
            if name.startswith("rank") and os.path.isfile(os.path.join(path, name))
        ]
    except OSError as err:
        msg = f"cannot read {one_line(path)}: {err.strerror}"
        raise OutputError(msg, hint=_HINT) from err
    by_rank = {whole_number(name[4:]): name for name in names}
    ranks = sorted(number for number in by_rank if number is not None)
    if not ranks:
        msg = f"{one_line(path)} holds no file of a rank, such as rank0"
        raise OutputError(msg, hint=_HINT)
    return [os.path.join(path, by_rank[number]) for number in ranks]


def _rank(path: str, *, is_all: bool) -> tuple[RankEnvironment, list[Row]]:
    """Return the report of one rank, and its variables compared with the plan."""
    from envcfg.backends.starters import STARTERS
    from envcfg.job.plan.rank_environment import parse_report, rows_of
    from envcfg.knowledge.variables import load_variables

    with Budget(one_line(path), seconds=30, megabytes=1000):
        report = parse_report(_read_record(path), path)
        variables = report.rank if is_all else load_variables()
        prefixes = {starter.names.prefix for starter in STARTERS.values()} - {""}
        return report, rows_of(report, variables, prefixes)


def _read_record(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(_MOST)
        with open(name, "rb") as file:
            return file.read(_MOST)
    except OSError as err:
        msg = f"cannot read {one_line(name)}: {err.strerror}"
        raise OutputError(msg, hint=_HINT) from err
