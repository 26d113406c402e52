"""scripts/mutate: the changes of a source, and a package of one module."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.mutation.__main__ import choose_tests, main
from scripts.mutation.changes import Change, find_changes


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"a <= b"}),
        ("a not in b", {"a in b"}),
        ("a == b != c", {"a != b != c", "a == b == c"}),
        ("a and b", {"a or b"}),
        ("not a", {"a"}),
        ("-a", {"a"}),
        ("a + b // c", {"a - b // c", "a + b / c"}),
        ("a += b", {"a -= b"}),
        ("a = 1", {"a = 2", "a = 0"}),
        ("a = True", {"a = False"}),
        ("a = 'b'", {"a = ''"}),
        ("a = b''", {"a = b'x'"}),
        ("a(b)", {"pass"}),
        ("a if b else c", {"a if True else c", "a if False else c"}),
        ("while a:\n    break", {"while False:\n    break", "while a:\n    continue"}),
        ("raise A", {"pass"}),
        ("def f():\n    return a", {"def f():\n    return None"}),
        ("def f():\n    return None", set()),
        ("'a text'", set()),
        ("if TYPE_CHECKING:\n    a()", set()),
        ("a: 'int | None' = b", set()),
        ("Name = tuple['int', 3]", set()),
        ("__all__ = ['a']", set()),
        ("a = cast('int', b)", set()),
        ("@a(3)\ndef f():\n    b", set()),
        ("a", set()),
    ],
)
def test_a_place_is_changed_to_what_a_test_should_notice(
    source: str, expected: set[str]
) -> None:
    assert {change.source for change in find_changes(source, "m.py")} == expected


def test_a_change_knows_its_line_and_the_function_around_it() -> None:
    source = "A = 1\n\n@deco\ndef f(a=2):\n    def g():\n        return 3\n"
    places = {(c.line, c.function, c.old) for c in find_changes(source, "m.py")}
    assert places >= {(1, 0, "1"), (4, 3, "2"), (6, 3, "3"), (6, 3, "return 3")}


def test_the_tests_that_call_the_changed_function_are_chosen_and_the_quickest_first() -> (
    None
):
    record = {
        "slow": (9.0, ["m.py:3"]),
        "quick": (0.1, ["m.py:3", "m.py:9"]),
        "other": (0.1, ["n.py:3"]),
        "endless": (99.0, ["m.py:3"]),
        "near": (0.2, ["m.py:9"]),
    }
    change = Change("m.py", 4, 3, "a", "b", "")
    assert choose_tests(change, record) == ["quick", "slow"]
    at_import = change._replace(function=0)
    assert choose_tests(at_import, record) == ["quick", "near", "slow"]


MODULE = "LIMIT = 5\n\n\ndef is_big(n):\n    return n > LIMIT\n\n\ndef untested(n):\n    return n\n"
TESTS = """\
import pytest
from envcfg import size

@pytest.mark.parametrize("number", [4, 7])
def test_big(number):
    assert size.is_big(number) == (number > 5)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A git checkout with a module, of which one function has tests."""
    files = {
        "envcfg/__init__.py": "",
        "envcfg/size.py": MODULE,
        "tests/test_size.py": TESTS,
        ".gitignore": ".mutate-cache/\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def test_what_no_test_notices_is_shown_and_the_tree_stays(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"--only=envcfg/size.py:{line}" for line in (5, 9)]
    assert main(["99", *lines, "--seed=1"], root) == 1
    assert capsys.readouterr().out.splitlines() == [
        "envcfg/size.py:5: not noticed by 2 tests",
        "- n > LIMIT",
        "+ n >= LIMIT",
        "",
        "envcfg/size.py:9: not noticed by 0 tests",
        "- return n",
        "+ return None",
        "",
        "1 of 3 noticed, --seed 1",
    ]
    assert (root / "envcfg/size.py").read_text() == MODULE


def test_where_the_tests_fail_unchanged_nothing_is_tried(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "tests/test_size.py").write_text(TESTS.replace("> 5)", "> 6)  # no"))
    (root / "envcfg/size.py").write_text(MODULE.replace("5", "1"))
    assert main(["1"], root) == 4
    out, err = capsys.readouterr()
    assert "test_big[4]" in out
    assert err.endswith("tests fail before anything is changed\n")
