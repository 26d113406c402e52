"""Variables that a script sets at its top: for the program, for envcfg, for itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from envcfg.conversion.model import Left, load_table
from envcfg.conversion.trace import Script, Statement
from envcfg.conversion.words import as_value, can_be_set, is_foreign
from envcfg.lint.model import Array, Assignment, Value
from envcfg.lint.text import Piece, Text, holes
from envcfg.profile.identity import INSIDE, MASKS
from envcfg.profile.read.entries import name_problem

_KINDS = frozenset(
    {"variable_assignment", "variable_assignments", "declaration_command"}
)
_HOST = frozenset({"PATH", "LD_LIBRARY_PATH", "HOME", "MODULEPATH"})  # this shell's too


class Settings(NamedTuple):
    """What becomes of the variables.

    Attributes:
        values: what ``--set`` gets, by name.
        gone: statements that are not needed for their own sake, with what they set.
        taken: what profile or envcfg set by themselves.
        left: what was left out, as lint finds a fault in it; *out*: their names.
        faults: what lint finds, by the offset in the script.
    """

    values: Mapping[str, Text]
    gone: Mapping[Statement, tuple[str, ...]]
    taken: tuple[str, ...]
    left: tuple[Left, ...]
    out: frozenset[str] = frozenset()
    faults: Mapping[int, str] = {}


def read_settings(
    script: Script, covered: Mapping[str, str], faults: Mapping[int, str]
) -> Settings:
    """Sort the statements that set variables.

    A statement goes as a whole or stays as a whole. One with a fault is left out first, so
    that what uses its variables can be left out as well. It stays where one of its exported
    variables would not mean the same if envcfg set it. Of the rest, what envcfg or the
    profile sets by itself is not set twice.

    Args:
        script: as it was read.
        covered: values that the profile sets for certain, by name.
        faults: what lint finds, by the offset in the script.
    """
    by_statement = _assignments(script)
    names = [each.name for several in by_statement.values() for each in several]
    elsewhere = {
        each.name
        for each in script.model.assignments
        if not any(each in several for several in by_statement.values())
        and each.command is None
    }
    exported = {each.name for each in script.model.assignments if each.exported}
    values: dict[str, Text] = {}
    gone: dict[Statement, tuple[str, ...]] = {}
    taken: list[str] = []
    left: list[Left] = []
    out: set[str] = set()
    for statement, several in by_statement.items():
        outer = [each for each in several if each.name in exported]
        why = next(
            (
                why
                for at, why in faults.items()
                if statement.start <= at < statement.end
            ),
            _follows(script, statement, out),
        )
        if outer and why:
            what = script.source.chars[statement.start : statement.end]
            left.append(Left(script.line(statement.start), what, why))
            gone[statement] = ()
            out |= {each.name for each in several}
            continue
        if not all(
            _is_understood(
                each._replace(value=_safe(script, each)),
                names.count(each.name),
                elsewhere,
            )
            for each in outer
        ):
            continue
        gone[statement] = tuple(each.name for each in several)
        for each in outer:
            name = _inner_name(each.name)
            if name in MASKS:
                why = "envcfg shows each rank its GPUs"
                what = script.source.chars[statement.start : statement.end]
                left.append(Left(script.line(statement.start), what, why))
            elif name in INSIDE:
                taken.append(name)
            elif isinstance(each.value, tuple) and not each.bare:
                value = script.safe(each.value)  # type: ignore[arg-type]
                if covered.get(name) == as_value(value):
                    taken.append(f"{name}, as the profile says")
                else:
                    values[name] = value
    return Settings(values, gone, tuple(taken), tuple(left), frozenset(out), faults)


def _follows(script: Script, statement: Statement, out: Collection[str]) -> str:
    text = script.source.chars[statement.start : statement.end]
    name = next((each for each in out if refers_to(text, each)), "")
    return f"follows {name}" if name else ""


def refers_to(text: str, name: str) -> bool:
    """Return whether a text of bash expands a variable."""
    return bool(re.search(rf"\$\{{?[#!]?{re.escape(name)}(?!\w)", text))


def _assignments(script: Script) -> dict[Statement, list[Assignment]]:
    found: dict[Statement, list[Assignment]] = {
        each: [] for each in script.statements if each.kind in _KINDS
    }
    base = script.source.base
    for each in script.model.assignments:
        at = each.at - base
        for statement, several in found.items():
            own = statement.start <= at < statement.end
            if own and each.unit == 0 and each.command is None:
                several.append(each)
    return {
        statement: several
        for statement, several in found.items()
        if several and not any(each.how in ("readonly", "local") for each in several)
    }


def _safe(script: Script, each: Assignment) -> Value:
    if each.value is None or isinstance(each.value, Array):
        return each.value
    return script.safe(each.value)


def _is_understood(each: Assignment, times: int, elsewhere: Collection[str]) -> bool:
    """Return whether an exported variable can be set by envcfg in the script's stead."""
    if each.name in INSIDE or each.bare:
        return True
    name = _inner_name(each.name)
    own = tuple(load_table()["own"])
    if each.appended or times > 1 or each.name in elsewhere or each.name in _HOST:
        return False
    if name == each.name and name.startswith(own):
        return False
    if re.search(load_table()["secret"], name.upper()):
        return False
    if not isinstance(each.value, tuple) or name_problem(name):
        return False
    if isinstance(each.value, Array) or _has_tilde(each):
        return False
    value: Text = each.value
    refers = any(hole.name == each.name for hole in holes(value))
    return can_be_set(value) and not is_foreign(value) and not refers


def _has_tilde(each: Assignment) -> bool:
    """Return whether bash may make a folder of a ``~``: the script is to go on doing so."""
    pieces = each.value if isinstance(each.value, tuple) else ()
    return any("~" in piece.chars for piece in pieces if isinstance(piece, Piece))


def _inner_name(name: str) -> str:
    """Return what a variable is called in the container."""
    prefix = next((p for p in load_table()["inside"] if name.startswith(p)), "")
    inner = name.removeprefix(prefix)
    return inner if inner.isidentifier() and not inner.endswith("_PATH") else name
