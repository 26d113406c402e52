"""One way through a script: the exit status, and the exit codes that variables hold."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from envcfg.lint.state import set_options

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
        return Way(status, by, *self[2:])

    def forgets(self) -> Way:
        """Return this way without how its last command ended; one that is left keeps it."""
        return self if self.leaves else Way(0, "", -1, *self[3:])

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
        known = dict(self.names)
        if known.get(name) == value:
            return self
        return self._replace(names=tuple({**known, name: value}.items()))

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


# What the shell does itself, in ``behind``; ``eval`` and functions are followed.
BUILTINS = frozenset(
    "exit return break continue local declare export readonly typeset unset wait set trap "
    "[ [[ test kill sleep false scancel sbatch qsub qdel".split()
)


def behind(name: str, said: Sequence[str], way: Way) -> Way:
    """Return the way behind one of ``BUILTINS``.

    What leaves, leaves with the status that it is given. What waits, does for all that
    runs, so that nothing of it is left; so does what may wait, or ends what runs. A
    test of what is not known has no status. Where the job goes on elsewhere, nothing is
    said of it.
    """
    waited = way._replace(running=frozenset())
    match name:
        case "exit" | "return":
            value = way.value(said[0]) if said else way.status
            by = f"{name} {said[0]}" if said and value == 0 else "" if said else way.by
            return way.ends(value, by)._replace(leaves=name)
        case "break" | "continue":
            return way.ends(0, name)._replace(leaves=name)
        case "wait":
            ids = [each for each in said if each[:1] != "-"]
            if said and not ids:  # for the next one that ends
                return waited.ends(FAILS if way.running else None)
            status = way.value(ids[-1]) if ids else 0
            return waited.ends(status, name if not ids else "" if status else "wait ID")
        case "set":
            return way.ends(0, name)._replace(options=set_options(said, way.options))
        case "trap":
            what, *signals = [each for each in said if each != "--"] or [""]
            text = "" if what == "-" else what.strip("\"'")
            if "ERR" in signals:
                way = way._replace(on_error=text)
            is_end = not {"EXIT", "0"}.isdisjoint(signals)
            return way.ends(0, name)._replace(on_exit=text if is_end else way.on_exit)
        case "[" | "[[" | "test":
            words = [each for each in said if each not in ("]", "]]")]
            is_negated = words[:1] == ["!"]
            pair = _PAIR.fullmatch(" ".join(words[is_negated:]))
            if pair is None:
                return way.ends(None)
            value = _applied(pair[3], way.value(pair[1]), way.value(pair[4]))
            return way.tests(None if value is None else bool(value) != is_negated)
        case "kill" if not {"0", "$$", '"$$"', "-0"}.isdisjoint(said):
            return waited.ends(None)._replace(leaves="" if "-0" in said else "exit")
        case "kill":
            return waited.ends(0, name)
        case "sleep":
            seconds = re.fullmatch(r"(\d{1,9})(?:\.\d+)?s?", "".join(said))
            is_short = seconds is not None and int(seconds[1]) < _LONG
            return (way if is_short else waited).ends(0, name)
        case "false":
            return way.ends(1)
        case "scancel" | "sbatch" | "qsub" | "qdel":
            return waited.ends(None)._replace(leaves="exit")
    after = way.ends(0, name)
    for each in said:
        if "=" in each and each[0] != "-":
            after = after.assigns(each, way)
    return after
