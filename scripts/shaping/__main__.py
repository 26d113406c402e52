"""Count, and print the table."""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.shaping.circles import find_circles, module_name
from scripts.shaping.functions import find_functions
from scripts.shaping.language import measure_language

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "envcfg"
_SMALL, _DENSE = 50, 20
_SCRIPT = ("wrap", "--profile", "lumi-g", "--container", "/x/pytorch.sif")
_COMMAND = ("--", "python", "train.py")

DESCRIPTION = """\
Count the size of the project and measure how hard it is to read: lines, small modules,
dense functions, circles of imports, and the language of names, docstrings, comments and
texts. ./scripts/test prints the time of the tests, benchmarks/run start-up the time of
wrap.
"""
EPILOG = """\
examples:
  scripts/shape            the table, and below it what is behind its numbers
  scripts/shape --json     all of it as JSON
"""


class Count(NamedTuple):
    """A number, what is wanted, and what is behind it."""

    what: str
    number: int
    wanted: int
    behind: tuple[str, ...] = ()


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="scripts/shape",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    counts = [*_count_python(), *_count_script(), *_count_goldens()]
    language = measure_language(ROOT)
    if options.json:
        measures = {name: share._asdict() for name, share in language._asdict().items()}
        shape = [count._asdict() for count in counts]
        print(json.dumps({"shape": shape, "language": measures}, indent=2))
        return 0
    for each in counts:
        sign = "" if each.number <= each.wanted else "  <- more than wanted"
        print(f"{each.what:48} {each.number:7,} {each.wanted:7,}{sign}")
    for name, share in language._asdict().items():
        print(f"{name:48} {share.percent:7.1f} % of {share.total:,}")
    for each in counts:
        if each.behind:
            print(f"\n{each.what}:", *each.behind, sep="\n  ")
    return 0


def _count_python() -> Iterator[Count]:
    sources = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    lines = {path: len(text.splitlines()) for path, text in sources.items()}
    yield Count("lines of Python in envcfg/", sum(lines.values()), 45_500)
    # What only marks a folder as a package has nothing to be read.
    modules = [path for path, text in sources.items() if _says_something(text)]
    yield Count("modules with code", len(modules), 400)
    small = [path for path in modules if lines[path] < _SMALL]
    yield Count(
        f"modules under {_SMALL} lines", len(small), 35, tuple(map(_shown, small))
    )
    dense = [
        (each, f"{_shown(path)}:{each.line}: {each.name}: {each.complexity}")
        for path, text in sources.items()
        for each in find_functions(text)
        if each.complexity > _DENSE
    ]
    bare = [shown for each, shown in dense if not each.is_explained]
    yield Count(f"functions with more than {_DENSE} paths", len(dense), len(dense))
    yield Count("... of which no paragraph tells how", len(bare), 0, tuple(bare))
    named = {module_name(path, ROOT): text for path, text in sources.items()}
    circles = [" ".join(group) for group in find_circles(named)]
    yield Count("circles of imports", len(circles), 0, tuple(circles))


def _count_script() -> Iterator[Count]:
    script = _run(*_SCRIPT, *_COMMAND)
    yield Count("lumi-g's script: lines", script.count("\n"), 560)
    yield Count("... bytes", len(script.encode()), 25_000)
    job_part = _run(*_SCRIPT, "--print", "job", *_COMMAND)
    yield Count("... lines of the job's part", job_part.count("\n"), 170)


def _count_goldens() -> Iterator[Count]:
    goldens = (ROOT / "tests/golden").rglob("*.sh")
    lines = sum(len(path.read_text().splitlines()) for path in goldens)
    yield Count("lines of scripts in goldens", lines, 6_000)


def _run(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "envcfg", *words],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout


def _says_something(source: str) -> bool:
    body = ast.parse(source).body
    return any(not isinstance(node, ast.Expr) for node in body)


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
