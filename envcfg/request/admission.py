"""What a scheduler refuses of options by itself, before it asks its controller; pure.

Names are read as ``getopt_long`` reads them: a beginning that fits one name is that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from envcfg.findings import Severity
from envcfg.request.options import Option, Table

HOLE = "\x01"  # stands for what is not known before the job runs
_NEAR = 0.8  # of a name that is another one with a slip
_DASHES = re.compile("^[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+")
_OPEN = re.compile(rf"[{HOLE}`]|\$[A-Za-z_{{(]|{{{{|<.*>")


class Given(NamedTuple):
    """An option as it was given.

    Attributes:
        name: the long name, without dashes.
        value: None where it has none.
        at: offset of its word; *line_at*: of its line; *part*: of a heterogeneous job.
        late: it stands behind the first command, where sbatch does not look.
    """

    name: str
    value: str | None
    at: int
    part: int = 0
    line_at: int = -1
    late: bool = False


class Problem(NamedTuple):
    """What a scheduler refuses, overrides or does not read.

    Attributes:
        kind: ``refused``, ``overridden`` or ``unread``.
    """

    kind: str
    at: int
    message: str
    fix: str
    severity: Severity = "error"


def read_options(
    table: Table, words: Sequence[tuple[str, int]], part: int = 0
) -> tuple[list[Given], list[Problem]]:
    """Return the options among *words*, each with its offset, and what is refused.

    A word with a ``HOLE`` in its name may be anything.
    """
    given: list[Given] = []
    problems: list[Problem] = []

    def refuse(kind: str, at: int, fix: str, **words: str) -> None:
        if said := table.words[kind].format_map(words):
            problems.append(Problem("refused", at, said, fix))

    left = list(reversed(words))
    while left:
        word, at = left.pop()
        value: str | None = None
        if word == "--" or HOLE in word.partition("=")[0]:
            continue
        if not word.startswith("-") or word == "-":
            refuse("stray", at, _stray_fix(table, word), word=_decoded(word))
            _skip_values(left)
            continue
        if word.startswith("--"):
            typed, equals, rest = word[2:].partition("=")
            option = _find(table, typed, word, at, problems)
            if option is None:
                _skip_values(left)
                continue
            value = rest if equals else None
            if not option.takes and equals:
                fix = f"--{option.name} alone"
                refuse("unwanted", at, fix, name=option.name, word=word)
            elif option.takes and not option.may and not equals:
                if not left:
                    fix = f"--{option.name}=VALUE"
                    refuse("missing", at, fix, name=option.name, word=word)
                    continue
                value = left.pop()[0]
            given.append(Given(_same(table, option), value, at, part))
            continue
        rest = word[1:]
        while rest:
            letter, rest = rest[0], rest[1:]
            name = table.letters.get(letter)
            if name is None:
                refuse("letter", at, _letter_fix(table, word), word=letter)
                break
            option = table.options[name]
            if option.takes:
                if rest or option.may:
                    value = rest or None
                elif left:
                    value = left.pop()[0]
                else:
                    refuse("letter-missing", at, f"-{letter} VALUE", word=letter)
                    break
                rest = ""
            given.append(Given(_same(table, option), value, at, part))
    return given, problems


def _skip_values(left: list[tuple[str, int]]) -> None:
    """Take away words that are not options: one fault is not said of each."""
    while left and not left[-1][0].startswith("-"):
        left.pop()


def _decoded(word: str) -> str:
    return word.encode("latin-1", "replace").decode("utf-8", "replace")


def _same(table: Table, option: Option) -> str:
    return table.same.get(option.name, option.name)


def _find(
    table: Table, typed: str, word: str, at: int, problems: list[Problem]
) -> Option | None:
    """Return the option that *typed* names; why there is none goes to *problems*."""
    if found := table.options.get(typed):
        return found
    begun = [
        each
        for name, each in table.options.items()
        if typed and name.startswith(typed) and not each.is_plugin
    ]
    old = [each for each in begun if not each.is_newer] or begun
    if len({_same(table, each) for each in old}) == 1:
        return old[0]
    near = _near(table, typed)
    fix = f"did you mean --{near}?" if near else "leave it out"
    severity: Severity = "error"
    if old:
        names = " ".join(f"'--{each.name}'" for each in old)
        message = table.words["ambiguous"].format(word=word, names=names)
    else:
        message = table.words["unknown"].format(word=word)
        if typed in table.steps:
            fix = f"give it to srun: {table.command} does not take it"
        elif not near:
            fix += f", unless your site adds --{typed} by a plug-in"
            severity = "warning"
    problems.append(Problem("refused", at, message, fix, severity))
    return None


def _near(table: Table, typed: str) -> str | None:
    from difflib import get_close_matches

    typed = typed.replace("_", "-").rstrip(":").lower()
    found = get_close_matches(typed, table.options, 1, _NEAR)
    return found[0] if found else None


def _stray_fix(table: Table, word: str) -> str:
    text = _decoded(word)
    if dashes := _DASHES.match(text):
        return f"type the dash again: -- for {dashes[0]}"
    if text.partition("=")[0] in table.options:
        return f"--{text}"
    return "leave it out, put quotes around a value with blanks, or # before a comment"


def _letter_fix(table: Table, word: str) -> str:
    near = _near(table, word[1:].partition("=")[0])
    return f"-{word}" if near else "leave it out"


def check_options(table: Table, given: Sequence[Given]) -> Iterator[Problem]:
    """Yield what the scheduler refuses of values and of options together.

    A value that is not known, or holds a variable, is not judged.
    """
    last: dict[tuple[int, str], Given] = {}
    for each in given:
        option = table.options.get(each.name)
        value = each.value
        if option and value is not None and not _OPEN.search(value):
            yield from _check_value(table, option, each, value)
        before = last.get((each.part, each.name))
        if (
            each.name not in table.many
            and before
            and before.value != value
            and HOLE not in f"{before.value}{value}"
        ):
            message = f"--{each.name}={value} overrides --{each.name}={before.value}"
            fix = "keep one of the two lines"
            yield Problem("overridden", each.at, message, fix, "warning")
        last[each.part, each.name] = each
    for pair in table.pairs:
        for part in sorted({each.part for each in given}):
            both = [last[part, name] for name in pair.options if (part, name) in last]
            if len(both) > 1:
                at = max(each.at for each in both)
                names = " or ".join(f"--{each.name}" for each in both)
                severity: Severity = "warning" if pair.newer else "error"
                yield Problem("refused", at, pair.says, f"keep {names}", severity)


def _check_value(
    table: Table, option: Option, given: Given, value: str
) -> Iterator[Problem]:
    known = table.formats.get(option.takes)
    if known is None:
        return
    fix = known.fix.format(name=given.name)
    found = re.fullmatch(known.pattern, value, re.IGNORECASE)
    words: dict[str, Any] = {"name": given.name, "value": value}
    if found is None:
        yield Problem("refused", given.at, known.says.format_map(words), fix)
    elif known.range and found["least"] and found["most"]:
        least, most = (found[name].lstrip("+0") for name in ("least", "most"))
        if most and (len(most), most) < (len(least), least):
            words |= {"least": least, "most": most}
            yield Problem("refused", given.at, known.range.format_map(words), fix)


def by_rule_names(table: Table, given: Sequence[Given]) -> dict[str, Given]:
    """Return options by the names that the rules of profiles have, as ``--account``."""
    found = {}
    for each in given:
        name = table.means.get(each.name, each.name)
        found[f"--{name}" if len(name) > 1 else f"-{name}"] = each
        if each.name == table.listed:
            for part in re.split("[,:+]", each.value or ""):
                name, _, value = part.partition("=")
                found[f"--{name}"] = each._replace(value=value)
    return found
