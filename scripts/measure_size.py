"""Measure the size of envcfg, and compare it with the limits in ``size.toml``."""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from envcfg.cli import build_parser
from envcfg.commands import ALIASES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "size.toml"
TOP = "top"  # the room of the files directly in envcfg/
_LARGE = 10  # fields of a named tuple from which it is large
_HELP = {"--help", "--help-all"}  # every command has them
_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT),
    *(tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER),
}

DESCRIPTION = """\
Print the size of envcfg, and compare each number with its limit in size.toml. Tokens are
those of Python's tokenize, without comments, line ends and indentation. A room is a folder
of envcfg/; the files directly in envcfg/ are one room.
"""
EPILOG = """\
examples:
  scripts/size             print each number with its limit
  scripts/size --names     also print the names of the counted classes and cycles
  scripts/size --update    lower the limits in size.toml to the numbers of today

To raise a limit, edit size.toml in the same commit, with the reason in a comment next to
the limit.

exit codes:
  0  every number is at most its limit
  1  a number is higher than its limit, or has no limit
"""
HINT = """\
hint: remove code, or write the number to size.toml in the same commit, with the reason in a
comment next to it\
"""


class Measure(NamedTuple):
    """A number that has a limit."""

    table: str  # of size.toml
    name: str
    number: int
    names: tuple[str, ...] = ()  # of the counted things

    @property
    def title(self) -> str:
        """The name in messages."""
        return f"{self.table} of {self.name}" if self.table == "tokens" else self.name


def main(words: Sequence[str] | None = None) -> int:
    """Print the measures and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="scripts/size",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--names", action="store_true", help="print the names, too")
    parser.add_argument("--update", action="store_true", help="lower the limits")
    options = parser.parse_args(words)
    measures = [*measure_package(ROOT / "envcfg"), *measure_parser(build_parser())]
    text = LIMITS.read_text(encoding="utf-8")
    if options.update:
        text = lower_limits(text, measures)
        LIMITS.write_text(text, encoding="utf-8")
    limits = tomllib.loads(text)
    for line in format_measures(measures, limits, with_names=options.names):
        print(line)
    faults = list(find_faults(measures, limits))
    if faults:
        print("", *faults, HINT, sep="\n", file=sys.stderr)
    return 1 if faults else 0


def measure_package(package: Path) -> list[Measure]:
    """Return the measures of the Python files in a folder."""
    tokens: Counter[str] = Counter()
    imports: dict[str, list[str]] = {}
    places = defaultdict(list)  # of class definitions, by name
    tuples, large = [], []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        tokens[parts[0] if len(parts) > 1 else TOP] += count_tokens(source)
        imports[_module_name(path, package.parent)] = list(_imported_names(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                place = f"{node.name} ({'/'.join(parts)})"
                places[node.name].append(place)
                if any(ast.unparse(base).endswith("NamedTuple") for base in node.bases):
                    fields = sum(isinstance(part, ast.AnnAssign) for part in node.body)
                    tuples.append(place)
                    if fields >= _LARGE:
                        large.append(f"{place}: {fields} fields")
    repeated = [" ".join(found) for found in places.values() if len(found) > 1]
    cycles = [" ".join(group) for group in find_cycles(imports)]
    return [
        *(Measure("tokens", room, tokens[room]) for room in sorted(tokens)),
        Measure("numbers", "named-tuples", len(tuples)),
        Measure("numbers", "large-named-tuples", len(large), tuple(large)),
        Measure("numbers", "repeated-class-names", len(repeated), tuple(repeated)),
        Measure("numbers", "import-cycles", len(cycles), tuple(cycles)),
    ]


def measure_parser(root: argparse.ArgumentParser) -> list[Measure]:
    """Return the numbers of options and commands of a parser.

    An option counts once for all commands, and its short form not at all. An action is a
    command of a command, such as ``profiles list``.
    """
    options: set[str] = set()
    names = [name for name, _ in _commands(root)]
    parsers = [root]
    for parser in parsers:  # grows
        parsers += [command for _, command in _commands(parser)]
        for action in parser._actions:  # noqa: SLF001  # argparse has no other way
            long = {word for word in action.option_strings if word.startswith("--")}
            options |= (long or set(action.option_strings)) - _HELP
    actions = len(parsers) - 1 - len(names)
    return [
        Measure("numbers", "options", len(options), tuple(sorted(options))),
        Measure("numbers", "commands", len(names), tuple(names)),
        Measure("numbers", "actions", actions),
    ]


def count_tokens(source: str) -> int:
    """Return the number of tokens without comments, line ends and indentation."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type not in _LAYOUT for token in tokens)


def find_cycles(imports: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, anywhere in their code.

    Args:
        imports: for each module the imported names: modules, or names in modules.
    """
    targets = {
        module: {_known_module(name, imports) for name in names} - {None}
        for module, names in imports.items()
    }
    reached: dict[str, set[str]] = {}
    for module in targets:
        found: set[str] = set()
        waiting = [module]
        while waiting:
            new = {name for name in targets[waiting.pop()] if name} - found
            found |= new
            waiting += new
        reached[module] = found
    groups = {
        frozenset(other for other in found if module in reached[other])
        for module, found in reached.items()
        if module in found
    }
    return sorted(sorted(group) for group in groups)


def find_faults(
    measures: Sequence[Measure], limits: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Yield a message for each number without a limit or above its limit."""
    for measure in measures:
        limit = limits.get(measure.table, {}).get(measure.name)
        if limit is None:
            yield f"{measure.title}: {measure.number:,}, size.toml has no limit"
        elif measure.number > limit:
            yield f"{measure.title}: {measure.number:,}, the limit is {limit:,}"


def format_measures(
    measures: Sequence[Measure],
    limits: Mapping[str, Mapping[str, int]],
    *,
    with_names: bool,
) -> Iterator[str]:
    """Yield the table of numbers and limits, and the counted names."""
    yield f"{'':32} {'number':>9} {'limit':>9}"
    total = 0
    for measure in measures:
        limit = limits.get(measure.table, {}).get(measure.name)
        shown = "-" if limit is None else f"{limit:,}"
        sign = "  <- higher" if limit is None or measure.number > limit else ""
        yield f"{measure.title:32} {measure.number:9,} {shown:>9}{sign}"
        total += measure.number if measure.table == "tokens" else 0
    yield f"{'tokens in all':32} {total:9,}"
    for measure in measures if with_names else ():
        if measure.names:
            yield f"\n{measure.title}:"
            yield from (f"  {name}" for name in measure.names)


def lower_limits(text: str, measures: Sequence[Measure]) -> str:
    """Return ``size.toml`` with no limit above its number; comments stay.

    A limit without a measure goes: its room no longer exists.
    """
    numbers = {(each.table, each.name): each.number for each in measures}
    table, lines = "", []
    for line in text.splitlines():
        table = line[1:].partition("]")[0] if line.startswith("[") else table
        start, equals, rest = line.partition("=")
        name = start.strip()
        limit = None if name.startswith("#") else re.match(r" *(\d+)", rest)
        if not limit:
            lines.append(line)
        elif (table, name) in numbers:
            lowest = min(numbers[table, name], int(limit[1]))
            lines.append(f"{start}{equals} {lowest}{rest[limit.end() :]}")
    return "\n".join(lines) + "\n"


def _commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, command in action.choices.items():
                if name not in ALIASES:
                    yield name, command


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _known_module(name: str, modules: Mapping[str, object]) -> str | None:
    """Return the module of an imported name: the name itself, or the part before it."""
    parent = name.rpartition(".")[0]
    return next((each for each in (name, parent) if each in modules), None)


def _module_name(path: Path, root: Path) -> str:
    names = path.relative_to(root).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


if __name__ == "__main__":
    sys.exit(main())
