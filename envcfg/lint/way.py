"""One way through a script: the exit status, and the exit codes that variables hold."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

FAILS = 7  # what each program of the job ends with
_LONG = 600  # seconds of a sleep, behind which a step may have ended
_ATOM = (
    r"""["']?\$?\{?(-?\d{1,9}|[A-Za-z_]\w*(?:\[[\w@*]*\])?|[?!])(?::?-\d*)?\}?["']?"""
)
_WORD = re.compile(_ATOM)
_PAIR = re.compile(
    rf"\s*({_ATOM})\s*(-(?:eq|ne|gt|lt|ge|le)\b|[=!<>]=|\|\||&&|[-+|<>=])\s*({_ATOM})\s*"
)
_SETS = re.compile(r"\s*(\w+)\s*([-+|]?)=(?!=)\s*(.+)")
_COUNTS = re.compile(r"\s*(?:\+\+|--)?\s*([A-Za-z_]\w*)\s*(?:\+\+|--)?\s*")
_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "|": operator.or_, "=": operator.eq,
    "==": operator.eq, "-eq": operator.eq, "!=": operator.ne, "-ne": operator.ne,
    "<": operator.lt, "-lt": operator.lt, "<=": operator.le, "-le": operator.le,
    ">": operator.gt, "-gt": operator.gt, ">=": operator.ge, "-ge": operator.ge,
    "||": lambda one, other: one or other, "&&": lambda one, other: one and other,
}  # fmt: skip
_SHELL_OPTIONS = {"e": "errexit", "E": "errtrace"}


class Way(NamedTuple):
    """One way through a script, up to some command.

    Attributes:
        status: ``$?``; None: not known.
        by, at: what it is of, as a message names it, and its offset.
        failed: offset of the last program of the job that failed; -1: none has run.
        running: offsets of those in the background that nobody has waited for.
        leaves: what ends the statements: ``exit``, ``return``, ``break``, ``continue``.
        names: exit codes in variables, or those with which the processes in them will end.
        on_exit, on_error: what traps run.
    """

    status: int | None = 0
    by: str = ""
    at: int = -1
    failed: int = -1
    running: frozenset[int] = frozenset()
    leaves: str = ""
    options: frozenset[str] = frozenset()
    names: tuple[tuple[str, int | None], ...] = ()
    on_exit: str = ""
    on_error: str = ""

    def ends(self, status: int | None, by: str = "") -> Way:
        """Return this way behind a command that ended so."""
        return self._replace(status=status, by=by)

    def tests(self, holds: int | None) -> Way:
        """Return this way behind a test."""
        return self.ends(None if holds is None else int(not holds))

    def value(self, said: str) -> int | None:
        """Return the number that a word is; None where it is not known."""
        if said[:3] == "$((":
            return self.compute(said[3:-2])[0]
        found = _WORD.fullmatch(said)
        if found is None or found[1] == "?":
            return self.status if found else None
        if found[1].lstrip("-").isdigit():
            return int(found[1])
        name = found[1] if "PIPESTATUS" in said else found[1].partition("[")[0]
        return dict(self.names).get(name)

    def compute(self, said: str) -> tuple[int | None, Way]:
        """Return what arithmetic or a test gives, and the way on which it has set names."""
        if (pair := _PAIR.fullmatch(said)) and pair[3] != "=":
            return _applied(pair[3], self.value(pair[1]), self.value(pair[4])), self
        if setting := _SETS.fullmatch(said):
            value, _ = self.compute(setting[3])
            if setting[2]:
                value = _applied(setting[2], self.value(setting[1]), value)
            return value, self.sets(setting[1], value)
        if (counted := _COUNTS.fullmatch(said)) and ("+" in said or "-" in said):
            before = self.value(counted[1])
            after = _applied("+" if "+" in said else "-", before, 1)
            is_first = said.strip()[0] in "+-"
            return (after if is_first else before), self.sets(counted[1], after)
        return self.value(said.strip()), self

    def sets(self, name: str, value: int | None) -> Way:
        """Return this way with a number in a variable."""
        return self._replace(names=tuple({**dict(self.names), name: value}.items()))

    def assigns(self, assignment: str, before: Way) -> Way:
        """Return this way behind an assignment, whose words are expanded as on *before*."""
        name, sign, said = re.split(r"(\+?=)", assignment, maxsplit=1)
        name, index, _ = name.partition("[")
        value = before.value(said)
        if "$!" in said:  # it is one of several, which all end alike
            value = before.value("$!")
        known = dict(self.names).get(name, value)
        return self.sets(
            name, None if (index or sign == "+=") and known != value else value
        )


def _applied(sign: str, one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return None
    return int(_OPERATORS[sign](one, other))


def _leave(said: Sequence[str], way: Way, name: str) -> Way:
    left = way._replace(leaves=name)
    if name in ("break", "continue"):
        return left.ends(0, name)
    if not said:
        return left
    value = way.value(said[0])
    return left.ends(value, f"{name} {said[0]}" if value == 0 else "")


def _wait(said: Sequence[str], way: Way, name: str) -> Way:
    ended = way._replace(running=frozenset())
    if ids := [each for each in said if each[:1] != "-"]:
        status = way.value(ids[-1])
        return ended.ends(status, "the process" if status == 0 else "")
    if said:  # for the next one that ends
        return ended.ends(FAILS if way.running else None)
    return ended.ends(0, name)


def _set(said: Sequence[str], way: Way, name: str) -> Way:
    options = set(way.options)
    for number, each in enumerate(said):
        if each[:1] in ("-", "+"):
            asked = {
                _SHELL_OPTIONS[sign] for sign in each[1:] if sign in _SHELL_OPTIONS
            }
            if each.endswith("o"):
                asked |= {*said[number + 1 : number + 2]}
            options = options | asked if each[0] == "-" else options - asked
    return way.ends(0, name)._replace(options=frozenset(options))


def _trap(said: Sequence[str], way: Way, name: str) -> Way:
    what, *signals = [each for each in said if each != "--"] or [""]
    text = "" if what == "-" else what.strip("\"'")
    ended = way.ends(0, name)
    if {"EXIT", "0"} & {*signals}:
        ended = ended._replace(on_exit=text)
    return ended._replace(on_error=text) if "ERR" in signals else ended


def _declare(said: Sequence[str], way: Way, name: str) -> Way:
    after = way.ends(0, name)
    for each in said:
        if "=" in each and each[0] != "-":
            after = after.assigns(each, way)
    return after


def _test(said: Sequence[str], way: Way, name: str) -> Way:
    del name
    words = [each for each in said if each not in ("]", "]]")]
    is_negated = words[:1] == ["!"]
    pair = _PAIR.fullmatch(" ".join(words[is_negated:]))
    value = way.compute(pair[0])[0] if pair else None
    return way.tests(None if value is None else bool(value) != is_negated)


def _kill(said: Sequence[str], way: Way, name: str) -> Way:
    if "-0" in said:
        return way.ends(None)._replace(running=frozenset())
    if {"0", "$$", '"$$"'} & {*said[-1:]}:
        return way.ends(None)._replace(leaves="exit")
    return way.ends(0, name)._replace(running=frozenset())


def _sleep(said: Sequence[str], way: Way, name: str) -> Way:
    seconds = re.fullmatch(r"(\d{1,9})(?:\.\d+)?s?", "".join(said))
    is_short = seconds is not None and int(seconds[1]) < _LONG
    return way.ends(0, name)._replace(running=way.running if is_short else frozenset())


def _fail(said: Sequence[str], way: Way, name: str) -> Way:
    del said, name
    return way.ends(1)


def _give_up(said: Sequence[str], way: Way, name: str) -> Way:
    """Return a way of which nothing is said: the job ends here, or goes on in another."""
    del said, name
    return way.ends(None)._replace(leaves="exit", running=frozenset())


Builtin = Callable[[Sequence[str], Way, str], Way]
BUILTINS: Mapping[str, Builtin] = {
    **dict.fromkeys(("exit", "return", "break", "continue"), _leave),
    **dict.fromkeys(("local", "declare", "export", "readonly", "typeset"), _declare),
    **dict.fromkeys(("scancel", "sbatch", "qsub", "qdel"), _give_up),
    **dict.fromkeys(("[", "[[", "test"), _test),
    "false": _fail, "kill": _kill, "set": _set, "sleep": _sleep, "trap": _trap,
    "wait": _wait,
}  # fmt: skip
