"""``envcfg doctor``: the environment as envcfg sees it, for a bug report."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands.option_arguments import add_option
from envcfg.core.option import switch


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``doctor``."""
    add_option(parser, switch("--json", "the same, as JSON"))
    text = "print a skill for agents (SKILL.md): which command answers which question"
    add_option(parser, switch("--skill", text))


def run(options: argparse.Namespace) -> int:
    """Print every fact; return 1 if one is a problem."""
    if options.skill:
        from envcfg.common.datafile import read_text

        sys.stdout.write(read_text("core/skill.md"))
        return 0
    from envcfg.core.doctor import examine
    from envcfg.report.doctor_report import doctor_json, doctor_lines

    rows = examine()
    if options.json:
        sys.stdout.write(doctor_json(rows))
    else:
        from envcfg.report.styled import put

        put(doctor_lines(rows))
    sys.stdout.flush()
    return int(any(row.state == "problem" for row in rows))
