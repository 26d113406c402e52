"""Checks of a variable's value, by its type and by the program that reads it.

Values follow the grammar of profiles. For a reference to another variable, only
problems that are certain for every value are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.common.findings import Finding, Severity
from envcfg.knowledge.variable_record import Variable

_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SUFFIXED = re.compile(r"(?P<digits>[0-9]{1,15}) ?(?P<unit>[kKmMgGtT])(?:i?[bB])?")
_DEVICE = re.compile(r"-1|[0-9]+|(?:GPU|MIG)-[0-9A-Za-z/-]+|NoDevFiles")
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_POWERS = {"k": 10, "m": 20, "g": 30, "t": 40}
_LONGEST_LIST = 8  # words in a message
_SHORT = 3  # letters; a shorter word is not guessed


def wrong(severity: Severity, message: str, fix: str | None = None) -> Finding:
    """Return a finding on a name or value; the caller adds its subject."""
    return Finding("variable", severity, "", message, fix)


def check_value(variable: Variable, value: str) -> list[Finding]:
    """Return the problems of *value*; an empty value counts as not set."""
    if not value or value in variable.also:
        return []
    checks = TYPES[variable.type]
    refers = bool(_REFERENCE.search(value))
    # A reference becomes a letter, so that the rest of the value can be checked.
    literal = _REFERENCE.sub("X", value).replace("$$", "$")
    findings = list(_edges(variable, literal))
    # One problem per value: quotes or spaces would cause every other check to fail.
    if checks and not findings and (not refers or checks in _CERTAIN):
        findings = list(checks(variable, literal))
    return findings


def _edges(variable: Variable, value: str) -> Iterator[Finding]:
    # Quotes that reach the program were typed twice, as in a YAML file.
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        message = f"the quotes are part of the value {value}"
        yield wrong("error", message, "leave them out")
    elif value != value.strip() and variable.type != "text":
        yield wrong("error", f"{value!r} begins or ends with a space", "leave it out")


def _boolean(variable: Variable, value: str) -> Iterator[Finding]:
    reader = variable.habits
    word = value.lower() if reader.ignore_case else value
    # Without known words, every value could be valid.
    if word in reader.turns_on + reader.turns_off or not reader.turns_on:
        return
    either = f"{reader.turns_on[0]} or {reader.turns_off[0]}"
    yield wrong(
        "error", f"{value!r} is not {either}", _hint(variable, f"write {either}")
    )


def _integers(variable: Variable, value: str) -> Iterator[Finding]:
    low, high = variable.min, variable.max
    for part in value.split(",") if variable.type == "integers" else [value]:
        if not _NUMBER.fullmatch(part):
            yield wrong("error", f"{part!r} is not a whole number", _hint(variable))
            continue
        number = _to_int(part)
        if (low is None or number >= low) and (high is None or number <= high):
            continue
        span = f"at least {low}" if high is None else f"from {low or 0} to {high}"
        yield wrong("error", f"{number} is out of range: {span}")


def _size(variable: Variable, value: str) -> Iterator[Finding]:
    # NCCL ignores the suffix, so 4M would mean four bytes.
    if suffixed := _SUFFIXED.fullmatch(value):
        size = int(suffixed["digits"]) << _POWERS[suffixed["unit"].lower()]
        message = f"{value!r} is not a plain number of bytes: the suffix does not count"
        yield wrong("error", message, f"write {size}")
    elif not _NUMBER.fullmatch(value):
        yield wrong("error", f"{value!r} is not a number of bytes", _hint(variable))
    elif _to_int(value) < 0:
        yield wrong("error", f"{value} bytes are fewer than none", _hint(variable))


def _decimal(variable: Variable, value: str) -> Iterator[Finding]:
    if not _DECIMAL.fullmatch(value):
        yield wrong("error", f"{value!r} is not a number", _hint(variable))


# Old words still work, so they are only a warning.
def _choice(variable: Variable, value: str) -> Iterator[Finding]:
    if value in variable.legacy:
        word = variable.legacy[value]
        yield wrong("warning", f"{value} is read as {word}", f"write {word}")
        return
    for part in value.split("|") if variable.separator == "|" else [value]:
        yield from _word(variable, part)


def _choices(variable: Variable, value: str) -> Iterator[Finding]:
    spaces = list(_list(variable, value))
    yield from spaces
    # A list with spaces has no usable parts.
    if not spaces:
        for part in value.lstrip(variable.markers or None).split(variable.separator):
            yield from _word(variable, part)


def _word(variable: Variable, word: str) -> Iterator[Finding]:
    if word in variable.values:
        return
    right = next(
        (value for value in variable.values if value.lower() == word.lower()), None
    )
    if right and variable.ignore_case:
        return
    # Case matters to this reader, so the right spelling is offered.
    if right:
        message = f"{word!r} is not read as {right}: upper and lower case count"
        yield wrong("error", message, f"write {right}")
    else:
        more = " and others" if len(variable.values) > _LONGEST_LIST else ""
        listed = ", ".join(variable.values[:_LONGEST_LIST])
        message = f"{word!r} is not one of {listed}{more}"
        yield wrong("error", message, _near(variable, word))


def _list(variable: Variable, value: str) -> Iterator[Finding]:
    separator = variable.separator
    for name in value.split(separator):
        if name != name.strip():
            message = f"the space in {name!r} is part of the name: nothing fits it"
            right = separator.join(part.strip() for part in value.split(separator))
            yield wrong("error", message, f"write {right}")
            return
    # Without the separator, a space is usually used in its place.
    if separator not in value and re.search(r"\S[ ;]+\S", value):
        right = separator.join(re.split(r"[ ;]+", value))
        yield wrong("error", f"{value!r} is one name with a space", f"write {right}")


def _interfaces(variable: Variable, value: str) -> Iterator[Finding]:
    yield from _list(variable, value)
    # The first mark applies to the list; later marks would be part of a name.
    body = value.removeprefix("^").removeprefix("=")
    if re.search(r"(?:^|,)[=^]", body):
        hint = "write it once, in front of the list"
        message = "= and ^ hold for the whole list and are not understood within it"
        yield wrong("error", message, hint)


def _exact_names(variable: Variable, value: str) -> Iterator[Finding]:
    yield from _list(variable, value)
    if re.search(r"(?:^|,)[=^]", value):
        message = "= and ^ are not understood here: names are exact"
        yield wrong("error", message, "write whole names, without a mark")


def _devices(variable: Variable, value: str) -> Iterator[Finding]:
    if re.search(r"\s", value):
        yield wrong("error", f"spaces in {value!r}", "separate GPUs by commas alone")
        return
    for part in value.split(","):
        if not _DEVICE.fullmatch(part):
            # CUDA stops reading at the first invalid entry, without an error.
            message = f"{part!r} is not a GPU: it hides this one and all after it"
            yield wrong("error", message, _hint(variable, "write numbers or UUIDs"))
            return


def _path(variable: Variable, value: str) -> Iterator[Finding]:
    if value.startswith("~") and not variable.habits.tilde:
        message = "~ is not expanded here: only shells do that"
        yield wrong("warning", message, "write ${HOME}")


def _to_int(text: str) -> int:
    # Numbers with more digits than Python converts are out of every range too.
    return int(text, 16 if "x" in text.lower() else 10) if len(text) < 1000 else 1 << 64


def _hint(variable: Variable, otherwise: str | None = None) -> str | None:
    return variable.habits.wrong or otherwise


def _near(variable: Variable, word: str) -> str | None:
    from difflib import get_close_matches

    words = {value.upper(): value for value in variable.values}
    # Short words are similar to many others, so no guess is made.
    near = get_close_matches(word.upper(), words, n=1) if len(word) > _SHORT else []
    return f"did you mean {words[near[0]]}?" if near else variable.habits.wrong


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
    "flag": None,  # any value switches it on, even 0
}
# These checks are valid for every value of a reference.
_CERTAIN = {_list, _interfaces, _exact_names, _path}
