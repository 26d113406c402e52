"""What is wrong with a value: by its kind, as its reader would read it.

A value is in the grammar of profiles. Where it refers to another variable, only what is
certain whatever the reference stands for is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.findings import Finding, Severity

_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SUFFIXED = re.compile(r"(?P<digits>[0-9]{1,15}) ?(?P<unit>[kKmMgGtT])(?:i?[bB])?")
_DEVICE = re.compile(r"-1|[0-9]+|(?:GPU|MIG)-[0-9A-Za-z/-]+|NoDevFiles")
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_POWERS = {"k": 10, "m": 20, "g": 30, "t": 40}
_LONGEST_LIST = 8  # words that a message lists
_SHORT = 3  # letters of a word that is too short for a guess


class Habits(NamedTuple):
    """How a program reads values.

    Attributes:
        turns_on, turns_off: what it takes for a switch.
        ignore_case: of a switch.
        tilde: a leading ~ is the home folder.
        wrong: what becomes of a value that it cannot read.
    """

    turns_on: tuple[str, ...] = ()
    turns_off: tuple[str, ...] = ()
    ignore_case: bool = False
    tilde: bool = False
    wrong: str | None = None


class ValueRule(NamedTuple):
    """What a variable takes."""

    kind: str
    values: tuple[str, ...] = ()
    legacy: Mapping[str, str] = {}
    ignore_case: bool = False
    low: int | None = None
    high: int | None = None
    separator: str = ","
    markers: str = ""
    also: tuple[str, ...] = ()
    reader: Habits = Habits()


def wrong(severity: Severity, message: str, fix: str | None = None) -> Finding:
    """Return what is wrong with a name or a value; who asked says of which."""
    return Finding("variable", severity, "", message, fix)


def check_value(rule: ValueRule, value: str) -> list[Finding]:
    """Return what is wrong with *value*; an empty one is as good as none."""
    if not value or value in rule.also:
        return []
    checks = TYPES[rule.kind]
    refers = bool(_REFERENCE.search(value))
    literal = _REFERENCE.sub("X", value).replace("$$", "$")
    found = list(_edges(rule, literal))
    if checks and not found and (not refers or checks in _CERTAIN):
        found = list(checks(rule, literal))
    return found


def _edges(rule: ValueRule, value: str) -> Iterator[Finding]:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        message = f"the quotes are part of the value {value}"
        yield wrong("error", message, "leave them out")
    elif value != value.strip() and rule.kind != "text":
        yield wrong("error", f"{value!r} begins or ends with a space", "leave it out")


def _boolean(rule: ValueRule, value: str) -> Iterator[Finding]:
    reader = rule.reader
    word = value.lower() if reader.ignore_case else value
    if word in reader.turns_on + reader.turns_off or not reader.turns_on:
        return
    either = f"{reader.turns_on[0]} or {reader.turns_off[0]}"
    yield wrong("error", f"{value!r} is not {either}", _hint(rule, f"write {either}"))


def _integers(rule: ValueRule, value: str) -> Iterator[Finding]:
    low, high = rule.low, rule.high
    for each in value.split(",") if rule.kind == "integers" else [value]:
        if not _NUMBER.fullmatch(each):
            yield wrong("error", f"{each!r} is no whole number", _hint(rule))
            continue
        number = _to_int(each)
        if (low is None or number >= low) and (high is None or number <= high):
            continue
        span = f"at least {low}" if high is None else f"from {low or 0} to {high}"
        yield wrong("error", f"{number} is out of range: {span}")


def _size(rule: ValueRule, value: str) -> Iterator[Finding]:
    if suffixed := _SUFFIXED.fullmatch(value):
        size = int(suffixed["digits"]) << _POWERS[suffixed["unit"].lower()]
        message = f"{value!r} is no plain number of bytes: the suffix does not count"
        yield wrong("error", message, f"write {size}")
    elif not _NUMBER.fullmatch(value):
        yield wrong("error", f"{value!r} is no number of bytes", _hint(rule))
    elif _to_int(value) < 0:
        yield wrong("error", f"{value} bytes are fewer than none", _hint(rule))


def _decimal(rule: ValueRule, value: str) -> Iterator[Finding]:
    if not _DECIMAL.fullmatch(value):
        yield wrong("error", f"{value!r} is no number", _hint(rule))


def _choice(rule: ValueRule, value: str) -> Iterator[Finding]:
    if value in rule.legacy:
        word = rule.legacy[value]
        yield wrong("warning", f"{value} is read as {word}", f"write {word}")
        return
    for each in value.split("|") if rule.separator == "|" else [value]:
        yield from _word(rule, each)


def _choices(rule: ValueRule, value: str) -> Iterator[Finding]:
    spaces = list(_list(rule, value))
    yield from spaces
    if not spaces:
        for each in value.lstrip(rule.markers or None).split(rule.separator):
            yield from _word(rule, each)


def _word(rule: ValueRule, word: str) -> Iterator[Finding]:
    if word in rule.values:
        return
    right = next((each for each in rule.values if each.lower() == word.lower()), None)
    if right and rule.ignore_case:
        return
    if right:
        message = f"{word!r} is not read as {right}: upper and lower case count"
        yield wrong("error", message, f"write {right}")
    else:
        more = " and others" if len(rule.values) > _LONGEST_LIST else ""
        listed = ", ".join(rule.values[:_LONGEST_LIST])
        message = f"{word!r} is not one of {listed}{more}"
        yield wrong("error", message, _near(rule, word))


def _list(rule: ValueRule, value: str) -> Iterator[Finding]:
    separator = rule.separator
    for each in value.split(separator):
        if each != each.strip():
            message = f"the space in {each!r} is part of the name: nothing fits it"
            right = separator.join(part.strip() for part in value.split(separator))
            yield wrong("error", message, f"write {right}")
            return
    if separator not in value and re.search(r"\S[ ;]+\S", value):
        right = separator.join(re.split(r"[ ;]+", value))
        yield wrong("error", f"{value!r} is one name with a space", f"write {right}")


def _interfaces(rule: ValueRule, value: str) -> Iterator[Finding]:
    yield from _list(rule, value)
    body = value.removeprefix("^").removeprefix("=")
    if re.search(r"(?:^|,)[=^]", body):
        hint = "write it once, in front of the list"
        message = "= and ^ hold for the whole list and are not understood within it"
        yield wrong("error", message, hint)


def _exact_names(rule: ValueRule, value: str) -> Iterator[Finding]:
    yield from _list(rule, value)
    if re.search(r"(?:^|,)[=^]", value):
        message = "= and ^ are not understood here: names are exact"
        yield wrong("error", message, "write whole names, without a mark")


def _devices(rule: ValueRule, value: str) -> Iterator[Finding]:
    if re.search(r"\s", value):
        yield wrong("error", f"spaces in {value!r}", "separate GPUs by commas alone")
        return
    for each in value.split(","):
        if not _DEVICE.fullmatch(each):
            message = f"{each!r} is no GPU: it hides this one and all behind it"
            yield wrong("error", message, _hint(rule, "write numbers or UUIDs"))
            return


def _path(rule: ValueRule, value: str) -> Iterator[Finding]:
    if value.startswith("~") and not rule.reader.tilde:
        message = "~ stands for no folder here: only shells expand it"
        yield wrong("warning", message, "write ${HOME}")


def _to_int(text: str) -> int:
    # More digits than Python converts are out of every range as well.
    return int(text, 16 if "x" in text.lower() else 10) if len(text) < 1000 else 1 << 64


def _hint(rule: ValueRule, otherwise: str | None = None) -> str | None:
    return rule.reader.wrong or otherwise


def _near(rule: ValueRule, word: str) -> str | None:
    from difflib import get_close_matches

    words = {each.upper(): each for each in rule.values}
    near = get_close_matches(word.upper(), words, n=1) if len(word) > _SHORT else []
    return f"did you mean {words[near[0]]}?" if near else rule.reader.wrong


TYPES = {
    "boolean": _boolean,
    "integer": _integers,
    "integers": _integers,
    "size": _size,
    "number": _decimal,
    "choice": _choice,
    "choices": _choices,
    "names": _list,
    "interfaces": _interfaces,
    "adapters": _interfaces,
    "exact names": _exact_names,
    "devices": _devices,
    "binds": _list,
    "path": _path,
    "text": None,  # anything
    "flag": None,  # anything, even 0, switches it on
}
# These hold whatever a reference stands for.
_CERTAIN = {_list, _interfaces, _exact_names, _path}
