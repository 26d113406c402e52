"""``envcfg explain``: what a rule or a variable means, and who says so."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from envcfg.characters import one_line
from envcfg.commands.options.selection import open_catalog, untrusted
from envcfg.commands.printing import say
from envcfg.errors import UsageError, suggest
from envcfg.hang.rules import hang_rules
from envcfg.log.rulebook import Rule, load_rules, stack_rules
from envcfg.parser import Formatter

if TYPE_CHECKING:
    from typing import TypeAlias

    from envcfg.knowledge.topics import Topic
    from envcfg.lint.rule import Rule as LintRule
    from envcfg.profile.catalog import Catalog
    from envcfg.report.background import Said
    from envcfg.report.explanation import Explained

    Explainable: TypeAlias = Rule | LintRule | Said | Explained

_EPILOG = """\
examples:
  envcfg explain socket-fallback     what stands behind it, and where to look further
  envcfg explain NCCL_NET_GDR_LEVEL  what it does and takes, and which profiles set it
  envcfg explain EC101               what lint finds, and what it leaves alone
  envcfg explain MIOPEN_USER_DB      what to write instead of a name that nobody reads
  envcfg explain NCCL_NET --profile lumi-g
  envcfg explain                     every finding there is, one line each, by topic
  envcfg explain --json              all of them for a program
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the options of ``explain``."""
    parser = commands.add_parser(
        "explain",
        help="say what a finding or a variable means, and what to do about it",
        description="Say what a finding or a variable means, and what to do about it.",
        usage="envcfg explain [RULE|VARIABLE...] [--profile NAME|FILE] [--json]",
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "names",
        metavar="RULE|VARIABLE",
        nargs="*",
        help="id of a rule, as findings name it, or name of a variable",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME|FILE",
        help="what this profile sets a variable to (default: all profiles)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(
    options: argparse.Namespace, more: Sequence[str] | None, _: Sequence[str]
) -> int:
    """Print what was asked for."""
    if more:
        msg = "envcfg explain takes no command"
        raise UsageError(msg, hint=f"leave out -- {' '.join(more)}")
    from envcfg.knowledge.topics import load_topics
    from envcfg.report.background import listing, said_findings
    from envcfg.report.explanation import Explained
    from envcfg.report.styled import put

    rules = {rule.id: rule for rule in (*load_rules(), *stack_rules())} | hang_rules()
    topics = load_topics()
    said = said_findings(topics)
    found: list[Explainable] = [
        each
        for name in options.names
        for each in (
            [rules[name]]
            if name in rules
            else [said[name]]
            if name in said
            else _lint_rule(name) or _variable(name, options, rules, said)
        )
    ]
    if not options.names:
        found = [*rules.values(), *said.values(), *_lint_rules()]
    if options.json:
        from envcfg.report.document import json_text

        sys.stdout.write(json_text([_data(each, topics, rules) for each in found]))
    elif not options.names:
        put(
            listing([each for each in found if not isinstance(each, Explained)], topics)
        )
    else:
        for index, each in enumerate(found):
            put([("", "")] if index else [])
            put(_lines(each, topics, rules))
    return 0


def _lint_rule(name: str) -> list[LintRule]:
    """Return the rule of lint of this id or name, if there is one."""
    if not re.fullmatch(r"EC\d+|[a-z0-9]+(?:-[a-z0-9]+)+|port", name):
        return []
    return [rule for rule in _lint_rules() if name in (rule.id, rule.name)]


def _lint_rules() -> list[LintRule]:
    from envcfg.lint.rule import load_rules as load_lint_rules

    return list(load_lint_rules().values())


def _lines(
    each: Explainable, topics: list[Topic], rules: dict[str, Rule]
) -> Iterator[tuple[str, str]]:
    from envcfg.knowledge.variables import load_knowledge
    from envcfg.report import background, explanation

    known = load_knowledge()
    if isinstance(each, explanation.Explained):
        yield from explanation.variable_lines(each, known)
        return
    if isinstance(each, Rule):
        yield from explanation.rule_lines(each)
    elif isinstance(each, background.Said):
        yield from background.said_lines(each)
    else:
        yield from explanation.lint_lines(each)
    behind = background.find_behind(each, topics, rules, known.variables)
    yield from background.behind_lines(behind)


def _data(
    each: Explainable, topics: list[Topic], rules: dict[str, Rule]
) -> dict[str, object]:
    from envcfg.knowledge.variables import load_variables
    from envcfg.report import background, explanation

    if isinstance(each, explanation.Explained):
        return explanation.variable_data(each)
    if isinstance(each, Rule):
        data = explanation.rule_data(each)
    elif isinstance(each, background.Said):
        data = background.said_data(each)
    else:
        data = explanation.lint_data(each)
    behind = background.find_behind(each, topics, rules, load_variables())
    return {**data, "behind": background.behind_data(behind)}


def _variable(
    name: str,
    options: argparse.Namespace,
    rules: dict[str, Rule],
    said: Collection[str],
) -> Iterator[Explained]:
    """Yield a variable; behind a name that nobody reads, the one that is meant."""
    from envcfg.knowledge.variables import load_variables
    from envcfg.profile.look.uses import uses_of
    from envcfg.report.explanation import Explained

    catalog = open_catalog(enforce=False)
    profiles = [options.profile] if options.profile else _usable(catalog)
    variables = load_variables()
    known, uses = variables.get(name), uses_of(name, catalog, profiles)
    say(untrusted(catalog))
    if known is None and not uses.uses:
        raise _unknown(name, [*rules, *said, *variables], catalog.names())
    word = re.compile(rf"(?<![A-Z0-9_]){re.escape(name)}(?![A-Z0-9_])")
    yield Explained(
        name,
        known,
        tuple(
            each.name
            for each in variables.values()
            if name in {each.instead, each.renamed}
        ),
        uses,
        tuple(each.id for each in rules.values() if word.search(_words(each))),
    )
    right = known and (known.instead or known.renamed)
    if right in variables and right not in options.names:
        yield from _variable(str(right), options, rules, said)


def _words(rule: Rule) -> str:
    return "\n".join((rule.meaning, rule.fix or "", rule.needle, *rule.samples))


def _usable(catalog: Catalog) -> list[str]:
    """Return the profiles that can be read; the others are named on stderr."""
    from envcfg.profile.look.survey import survey

    found, problems = survey(catalog)
    for path in sorted({each.place.path for each in problems if each.place}):
        name = one_line(path)
        sys.stderr.write(f"envcfg: warning: {name}: cannot be used\n")
        sys.stderr.write(f"  hint: envcfg profiles validate {name}\n")
    return [each.name for each in found]


def _unknown(name: str, known: Sequence[str], profiles: Sequence[str]) -> UsageError:
    from envcfg.knowledge.variables import check_variable

    if name.isupper():
        hints = [each.fix for each in check_variable(name, None) if each.fix]
        msg = f"nothing is known of a variable {name}"
    else:
        hints, msg = [], f"unknown rule or variable {name!r}"
        if name in profiles:
            hints = [f"this is a profile: envcfg profiles show {name}"]
        if name.upper() in known:
            hints = [f"did you mean {name.upper()!r}? upper and lower case count"]
    if not hints and "did you" in (hint := suggest(name, known)):
        hints = [hint.partition("?")[0] + "?"]
    return UsageError(msg, hint=(hints or ["envcfg explain lists all findings"])[0])
