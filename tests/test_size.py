"""The limits of ``size.toml``, and the numbers of ``scripts/size``."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from envcfg.cli import build_parser
from scripts import measure_size
from scripts.measure_size import (
    Measure,
    count_tokens,
    find_cycles,
    find_faults,
    lower_limits,
    measure_package,
    measure_parser,
    tomllib,
)
from support import ROOT

TUPLE = "from typing import NamedTuple\nclass {}(NamedTuple):\n"
LARGE = TUPLE.format("A") + "".join(f"  f{number}: int\n" for number in range(10))


def test_no_number_is_higher_than_its_limit() -> None:
    limits = tomllib.loads((ROOT / "size.toml").read_text())
    measures = [*measure_package(ROOT / "envcfg"), *measure_parser(build_parser())]
    assert list(find_faults(measures, limits)) == [], measure_size.HINT


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("", 0),
        ("# one\n\n\nx = 1  # two\n", 3),
        ('def f() -> None:\n    """One token."""\n    return\n', 9),
        ("f(\n  1,\n  2,\n)\n", 7),
    ],
)
def test_layout_and_comments_are_no_tokens(source: str, number: int) -> None:
    assert count_tokens(source) == number


def test_a_package_is_measured_by_room(tmp_path: Path) -> None:
    files = {
        "cli.py": "x = 1\n",
        "a/__init__.py": "",
        "a/b/c.py": LARGE,
        "d/e.py": TUPLE.format("A") + "  x: int\nimport p.d.f\n",
        "d/f.py": "from p.d import e\ny\n",
    }
    for name, text in files.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    measures = measure_package(tmp_path / "p")
    assert [(each.table, each.name, each.number) for each in measures] == [
        ("tokens", "a", count_tokens(LARGE)),
        ("tokens", "d", count_tokens(files["d/e.py"] + files["d/f.py"])),
        ("tokens", "top", 3),
        ("numbers", "named-tuples", 2),
        ("numbers", "large-named-tuples", 1),
        ("numbers", "repeated-class-names", 1),
        ("numbers", "import-cycles", 1),
    ]
    assert [names for *_, names in measures if names] == [
        ("A (a/b/c.py): 10 fields",),
        ("A (a/b/c.py) A (d/e.py)",),
        ("p.d.e p.d.f",),
    ]


def test_an_option_of_several_commands_counts_once() -> None:
    root = argparse.ArgumentParser()
    commands = root.add_subparsers()
    for name in ("a", "b"):
        command = commands.add_parser(name)
        command.add_argument("-o", "--output")
        command.add_argument("-x")
        command.add_argument("file")
    command.add_subparsers().add_parser("list").add_argument("--all")
    numbers = {each.name: each.number for each in measure_parser(root)}
    assert numbers == {"options": 3, "commands": 2, "actions": 1}


def test_a_cycle_is_found_through_functions_and_packages() -> None:
    imports = {
        "p": [],
        "p.a": ["p.b"],
        "p.b": ["p.c"],
        "p.c": ["p.a.x"],
        "p.d": ["p.a.x"],
        "p.e": ["__future__.annotations", "os"],
    }
    assert find_cycles(imports) == [["p.a", "p.b", "p.c"]]


def test_a_fault_names_room_number_and_limit() -> None:
    measures = [Measure("tokens", "a", 1200), Measure("tokens", "b", 5)]
    measures += [Measure("numbers", "options", 3), Measure("numbers", "commands", 2)]
    limits = {"tokens": {"a": 1100}, "numbers": {"options": 3, "commands": 9}}
    assert list(find_faults(measures, limits)) == [
        "tokens of a: 1,200, the limit is 1,100",
        "tokens of b: 5, size.toml has no limit",
    ]


def test_an_update_lowers_limits_and_raises_none() -> None:
    text = "# x = 9\n[t] # of all\na = 5 # why\nb=7\ngone = 1\n\n[n]\na = 2\n"
    measures = [Measure("t", "a", 4), Measure("t", "b", 8), Measure("n", "a", 1)]
    lowered = "# x = 9\n[t] # of all\na = 4 # why\nb= 7\n\n[n]\na = 1\n"
    assert lower_limits(text, measures) == lowered
    assert lower_limits(lowered, measures) == lowered


def test_the_program_prints_faults_and_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = tmp_path / "size.toml"
    monkeypatch.setattr(measure_size, "LIMITS", limits)
    measures = [Measure("numbers", "options", 3), Measure("tokens", "a", 7)]
    monkeypatch.setattr(measure_size, "measure_package", lambda _: measures)
    monkeypatch.setattr(measure_size, "measure_parser", lambda _: [])
    limits.write_text("[tokens]\na = 7\n[numbers]\noptions = 2 # reason\n")
    assert measure_size.main([]) == 1
    captured = capsys.readouterr()
    assert "options: 3, the limit is 2\nhint: remove code" in captured.err
    assert "3         2  <- higher" in captured.out
    limits.write_text("[tokens]\na = 7\n[numbers]\noptions = 9 # reason\n")
    assert measure_size.main(["--update"]) == 0
    assert "options = 3 # reason" in limits.read_text()
