"""The page on the architecture says what the tree is: rooms, arrows, places."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import envcfg
from envcfg.backends.starters import STARTERS
from scripts.measure_size import find_cycles
from support import ROOT

PACKAGE = Path(envcfg.__file__).parent
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| ((?:`[\w./]+` ?)+)\| [^|]* \|([\w ]*)\|$", re.MULTILINE)
FOR_ALL = 1  # every room may use the last lines, as many as this


class Room(NamedTuple):
    """A line of the table: folders or modules, and the rooms that they import."""

    members: tuple[str, ...]
    imports: frozenset[str]


# By the name of its first member, from the top to the ground.
ROOMS = {
    members[0]: Room(members, frozenset(imports.split()))
    for names, imports in _ROW.findall(PAGE.partition("## Rooms")[2])
    for members in [tuple(re.findall(r"`(\w+)(?:/|\.py)`", names))]
}
ORDER = tuple(ROOMS)
GROUND = set(ORDER[-FOR_ALL:])
ROOM_OF = {member: name for name, each in ROOMS.items() for member in each.members}


@cache
def imported(path: Path) -> frozenset[str]:
    """Return the path behind ``envcfg.`` in each import, anywhere in the code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "envcfg" and rest != "__version__":
                found.add(rest)
    return frozenset(found)


def arrows(member: str) -> set[str]:
    """Return the rooms that a folder or module imports, but for its own."""
    here = PACKAGE / member
    files = here.rglob("*.py") if here.is_dir() else [here.with_suffix(".py")]
    found = {
        ROOM_OF[name.partition(".")[0]] for file in files for name in imported(file)
    }
    return found - {ROOM_OF[member]}


def test_the_rooms_are_the_folders_and_modules_of_the_package() -> None:
    there = {
        path.stem
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert sorted(ROOM_OF) == sorted(there - {"__init__"})
    assert sum(len(each.members) for each in ROOMS.values()) == len(ROOM_OF)


@pytest.mark.parametrize("name", ORDER)
def test_a_room_imports_what_its_line_names_and_nothing_above_it(name: str) -> None:
    found = {to for member in ROOMS[name].members for to in arrows(member)}
    assert found - GROUND == ROOMS[name].imports
    below = ORDER[ORDER.index(name) + 1 :]
    assert found <= set(below)


def test_imports_between_a_folder_of_a_room_and_its_modules_run_one_way() -> None:
    """As ``lint/detectors/`` and the modules of ``lint/``; a folder counts as one module."""
    paths = {
        path: path.relative_to(PACKAGE).with_suffix("")
        for path in PACKAGE.rglob("*.py")
    }
    places = {
        str(p).replace("/", ".").removesuffix(".__init__"): p for p in paths.values()
    }

    def part(name: str) -> str | None:
        """Return the module or folder of a room that contains an imported *name*."""
        module = name if name in places else name.rpartition(".")[0]
        return ".".join(places[module].parts[:2]) if module in places else None

    imports: dict[str, set[str]] = {}
    for path, place in paths.items():
        own = ".".join(place.parts[:2])
        targets = {target for name in imported(path) if (target := part(name))}
        imports.setdefault(own, set()).update(targets - {own})
    assert find_cycles({own: sorted(names) for own, names in imports.items()}) == []


def test_the_places_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`((?:envcfg|profiles|tests|docs)/[\w./]*)`", PAGE))
    assert len(named) > 5
    assert [each for each in sorted(named) if not (ROOT / each).exists()] == []


def test_the_page_names_the_folders_of_modules() -> None:
    text = PAGE.partition("in `job/script/modules/`")[2].partition("\n\n")[0]
    told = set(re.findall(r"`(\w+)/`", text))
    folders = (PACKAGE / "job/script/modules").iterdir()
    there = {path.name for path in folders if path.is_dir()}
    assert there - STARTERS.keys() <= told <= there  # of starters, as examples
