"""What ``scripts/shape`` counts."""

from __future__ import annotations

import ast

import pytest

from scripts.shaping.circles import find_circles, module_name
from scripts.shaping.functions import find_functions
from scripts.shaping.language import bound_names, first_paragraphs, measure_language
from support import ROOT

PATHS = [
    ("return 1", 1),
    ("if a: pass\n  elif b: pass\n  else: pass", 3),
    ("return a and b or c", 3),
    ("for x in y:\n    while z: pass", 3),
    ("return [x for x in y if a if b]", 4),
    ("try: pass\n  except OSError: pass\n  except ValueError: pass", 3),
    ("return 1 if a else 2", 2),
    ("match a:\n    case 1: pass\n    case _: pass", 3),
    ("def inner():\n    if a: pass", 2),
]


@pytest.mark.parametrize(("body", "number"), PATHS)
def test_a_path_is_counted_for_each_branch(body: str, number: int) -> None:
    (found,) = find_functions(f"class A:\n def f(self):\n  {body}\n")
    assert (found.name, found.complexity) == ("A.f", number)


@pytest.mark.parametrize(
    ("source", "is_explained"),
    [
        ("def f():\n  '''One line.'''", False),
        ("def f():\n  '''One.\n\n  Two.\n  '''", True),
        ("# a\n# b\n# c\n@d\ndef f(): pass", True),
        ("# a\n# b\n\ndef f(): pass", False),
        ("# a\ndef f(): pass", False),
    ],
)
def test_three_lines_are_a_paragraph(source: str, is_explained: bool) -> None:
    (found,) = find_functions(source)
    assert found.is_explained == is_explained


def test_a_circle_is_found_through_functions_and_packages() -> None:
    sources = {
        "p": "",
        "p.a": "from p import b",
        "p.b": "def f():\n  import p.c",
        "p.c": "from p.a import x",
        "p.d": "from p.a import x",
        "p.e": "from __future__ import annotations\nimport os",
    }
    assert find_circles(sources) == [["p.a", "p.b", "p.c"]]


def test_no_modules_import_each_other_in_a_circle() -> None:
    sources = {
        module_name(path, ROOT): path.read_text()
        for path in (ROOT / "envcfg").rglob("*.py")
    }
    assert find_circles(sources) == []


def test_no_function_has_more_than_30_paths() -> None:
    dense = [
        f"{path}:{function.line}: {function.name}"
        for path in sorted((ROOT / "envcfg").rglob("*.py"))
        for function in find_functions(path.read_text())
        if function.complexity > 30
    ]
    assert not dense


# Language: each change may improve a measure, and then tightens its limit here.
MOST_VAGUE_NAMES = 1.0  # percent of bound names
MOST_NOUN_CLAUSES = 0.5  # percent of docstrings
FEWEST_COMMENTS = 6.0  # percent of lines
MOST_ODD_PHRASES = 0.15  # percent of words


def test_the_language_does_not_get_worse() -> None:
    language = measure_language(ROOT)
    assert language.names.percent <= MOST_VAGUE_NAMES
    assert language.docstrings.percent <= MOST_NOUN_CLAUSES
    assert language.comments.percent >= FEWEST_COMMENTS
    assert language.texts.percent <= MOST_ODD_PHRASES


def test_names_and_docstrings_are_read_from_every_scope() -> None:
    source = 'def f(a, *, b):\n  """Return it.\n\n  More.\n  """\n  for c in a: d = [e for e in c]\n'
    tree = ast.parse(source)
    assert sorted(name for name, _ in bound_names(tree)) == ["a", "b", "c", "d", "e"]
    assert list(first_paragraphs(tree)) == [("Return it.", 1)]
