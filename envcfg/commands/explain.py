"""``envcfg explain``: what a rule id in a report means, and who says so."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from envcfg.errors import UsageError, suggest
from envcfg.log.rulebook import Rule, load_rules
from envcfg.parser import Formatter

_EPILOG = """\
examples:
  envcfg explain socket-fallback     what it means, what to do, who says so
  envcfg explain                     every rule, one line each
  envcfg explain --json              all of them for a program
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the options of ``explain``."""
    parser = commands.add_parser(
        "explain",
        help="say what a finding means, and what to do about it",
        description="Say what a finding means, and what to do about it.",
        usage="envcfg explain [RULE...] [--json]",
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "rules", metavar="RULE", nargs="*", help="id of a rule, as findings name it"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace, _: Sequence[str] | None, __: Sequence[str]) -> int:
    """Print what was asked for."""
    rules = {rule.id: rule for rule in load_rules()}
    for name in options.rules:
        if name not in rules:
            msg = f"unknown rule {name!r}"
            hint = suggest(name, rules)
            raise UsageError(
                msg, hint=hint if "did you" in hint else "envcfg explain lists all"
            )
    chosen = [rules[name] for name in options.rules] or list(rules.values())
    if options.json:
        import json

        document = [rule._asdict() for rule in chosen]
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    elif options.rules:
        sys.stdout.write("\n".join("".join(_explanation(rule)) for rule in chosen))
    else:
        sys.stdout.write("".join(f"{rule.id:<36} {_effect(rule)}\n" for rule in chosen))
    return 0


def _effect(rule: Rule) -> str:
    if rule.benign:
        return "harmless"
    if rule.consequence:
        return "error that follows from another"
    return rule.severity or ("evidence" if rule.samples else "an open question")


def _explanation(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} ({_effect(rule)})\n"
    versions = ", ".join(f"{library} {text}" for library, text in rule.versions.items())
    for title, text in (
        ("meaning", rule.meaning),
        ("fix", rule.fix),
        ("versions", versions),
        ("source", rule.source),
    ):
        if text:
            yield textwrap.fill(
                text,
                88,
                initial_indent=f"  {title}: ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            yield "\n"
    for sample in rule.samples:
        yield f"  as in: {sample.strip()}\n"
