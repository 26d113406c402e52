"""What varies stays in its place: names of backends stand in their records and templates."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcfg import commands
from envcfg.backends import runtimes, schedulers
from envcfg.backends.launchers import LAUNCHERS
from envcfg.backends.starters import STARTERS
from support import ROOT

TEMPLATES = ROOT / "envcfg/job/script/modules"
# Folders of templates, and the words of schedulers that they may hold.
NOTHING = "$^"
OWN = {"srun": "SLURM|srun", "slurm": "SLURM", "flux": "FLUX|flux", "local": NOTHING}
# Whoever has started it: a script that runs where it should not asks for the signs of all.
ANY = {"where.sh", "local/local.sh"}
OTHERS = "PBS|PALS"  # of schedulers that have no folder yet
WORDS = re.compile(r"\b(SLURM|FLUX|PBS|PALS)_|\bsrun\b|\bflux run\b")
RECORDS = {"envcfg/backends/launchers.py"}
BACKENDS = {*STARTERS, *schedulers.SCHEDULERS, *LAUNCHERS, *runtimes.NAMES}
SOURCES = sorted(
    path
    for path in (ROOT / "envcfg").rglob("*.py")
    if path.relative_to(ROOT).as_posix() not in RECORDS
    and not {"starters", "runtimes", "schedulers"} & set(path.parts)
)


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in TEMPLATES.rglob("*.sh")
        if path.relative_to(TEMPLATES).as_posix() not in ANY
    ),
    ids=lambda path: path.relative_to(TEMPLATES).as_posix(),
)
def test_a_template_names_no_scheduler_but_its_own(path: Path) -> None:
    folder = path.relative_to(TEMPLATES).parts[0]
    is_scheduler_s = folder in {*STARTERS, *schedulers.SCHEDULERS}
    own = OWN.get(folder, OTHERS if is_scheduler_s else NOTHING)
    found = {match[0] for match in WORDS.finditer(path.read_text())}
    assert {word for word in found if not re.match(own, word)} == set()


def test_marks_and_programs_of_schedulers_are_in_their_records_alone() -> None:
    """Names of envcfg's own commands, and docstrings, may hold them."""
    known = schedulers.SCHEDULERS.values()
    programs = {*schedulers.SUBMITTERS, *schedulers.ENDERS} - {*commands.NAMES}
    marks = "|".join(re.escape(each.mark) for each in known)
    named = re.compile(rf"{marks}|\b(?:{'|'.join(sorted(programs))})\b")
    assert {
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in SOURCES
        for node in texts_of(ast.parse(path.read_text()))
        if named.search(node.value)
    } == set()


def texts_of(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the strings of a module except its docstrings."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node


def test_no_code_compares_with_the_name_of_a_backend() -> None:
    """Sections of a profile have such names too, and are not compared with."""
    compared = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare)
        and any(isinstance(each, (ast.Eq, ast.NotEq)) for each in node.ops)
        and any(
            isinstance(each, ast.Constant) and each.value in BACKENDS
            for each in (node.left, *node.comparators)
        )
    ]
    assert compared == []
