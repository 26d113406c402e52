"""Options that a scheduler rejects by itself, before it asks its controller; pure.

Names follow ``getopt_long``: an unambiguous beginning of a name is that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from envcfg.common.findings import Severity
from envcfg.common.getopt import getopt
from envcfg.job.request.scheduler_options import Table

HOLE = "\x01"  # replaces a text that is unknown before the job runs
_NEAR = 0.8  # similarity of a name with a typing error
# Word processors and web pages replace the hyphen by these characters.
_DASHES = re.compile("^[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+")
# These texts still contain a variable, a template or a placeholder, so the value is
# unknown.
_OPEN = re.compile(rf"[{HOLE}`]|\$[A-Za-z_{{(]|{{{{|<.*>")


class GivenOption(NamedTuple):
    """An option in the user's spelling."""

    name: str  # the long name, without dashes
    value: str | None  # None if it has none
    # Of its word; *line_offset*: of its line; *part*: of a heterogeneous job.
    offset: int
    part: int = 0
    line_offset: int = -1
    late: bool = False  # it follows the first command, and sbatch ignores it there


class Problem(NamedTuple):
    """An option that a scheduler rejects, overrides or ignores."""

    kind: str  # `refused`, `overridden` or `unread`
    offset: int
    message: str
    fix: str
    severity: Severity = "error"


def read_options(
    table: Table, words: Sequence[tuple[str, int]], part: int = 0
) -> tuple[list[GivenOption], list[Problem]]:
    """Return the options among *words*, each with its offset, and the rejected ones.

    A word with a ``HOLE`` in its name may be anything.
    """
    given_options: list[GivenOption] = []
    problems: list[Problem] = []

    def refuse(kind: str, at: int, fix: str, **words: str) -> None:
        # An empty text in the table means that this scheduler accepts the case.
        if message := table.words[kind].format_map(words):
            problems.append(Problem("refused", at, message, fix))

    skips = False
    for option_word in getopt(table.reader, [word for word, _ in words]):
        word, offset = words[option_word.begin]
        # After an error, the following words are probably its values, and each would be
        # a second error.
        skips = skips and not word.startswith("-")
        name, fault = option_word.name, option_word.fault
        # A name with an unknown part may be any option, so it is not judged.
        if skips or word == "--" or HOLE in word.partition("=")[0]:
            continue
        if not name:
            skips = True
            refuse("stray", offset, _stray_fix(table, word), word=_decoded(word))
        elif fault in {"unknown", "ambiguous"} and word.startswith("--"):
            skips = True
            problems.append(_unknown(table, name, word, offset))
        elif fault == "unknown":
            refuse("letter", offset, _letter_fix(table, word), word=name)
        elif fault == "missing" and word.startswith("--"):
            fix = f"{table.dashed(name)}=VALUE"
            refuse("missing", offset, fix, name=name, word=word)
        elif fault == "missing":
            refuse("letter-missing", offset, f"-{word[-1]} VALUE", word=word[-1])
        else:
            if fault:
                refuse(
                    fault, offset, f"{table.dashed(name)} alone", name=name, word=word
                )
            given_options.append(GivenOption(name, option_word.value, offset, part))
    return given_options, problems


def _decoded(word: str) -> str:
    return word.encode("latin-1", "replace").decode("utf-8", "replace")


def _unknown(table: Table, typed: str, word: str, offset: int) -> Problem:
    """Return the problem of an option that no spelling, or several, stand for."""
    near = _near(table, typed)
    fix = f"did you mean {table.dashed(near)}?" if near else "leave it out"
    severity: Severity = "error"
    # Several names match, and getopt_long lists them in the same form.
    if names := table.reader.find(word.partition("=")[0]):
        listed = " ".join(f"'{name}'" for name in names)
        message = table.words["ambiguous"].format(word=word, names=listed)
    else:
        message = table.words["unknown"].format(word=word)
        # srun has more options than sbatch. This is the usual reason for an unknown
        # name.
        if typed in table.steps:
            fix = f"give it to srun: {table.command} does not take it"
        # A site may add options by plug-ins that no table lists, so this is only a
        # warning.
        elif not near:
            fix += f", unless your site adds --{typed} by a plug-in"
            severity = "warning"
    return Problem("refused", offset, message, fix, severity)


def _near(table: Table, typed: str) -> str | None:
    from difflib import get_close_matches

    typed = typed.replace("_", "-").rstrip(":").lower()
    matches = get_close_matches(typed, table.formats_of, 1, _NEAR)
    return matches[0] if matches else None


def _stray_fix(table: Table, word: str) -> str:
    text = _decoded(word)
    if dashes := _DASHES.match(text):
        return f"type the dash again: -- for {dashes[0]}"
    if text.partition("=")[0] in table.formats_of:
        return f"--{text}"
    return "leave it out, put quotes around a value with blanks, or # before a comment"


def _letter_fix(table: Table, word: str) -> str:
    near = _near(table, word[1:].partition("=")[0])
    return f"-{word}" if near else "leave it out"


def check_options(table: Table, options: Sequence[GivenOption]) -> Iterator[Problem]:
    """Yield the values and combinations of options that the scheduler rejects.

    A value that is unknown or holds a variable is not judged.
    """
    last: dict[tuple[int, str], GivenOption] = {}
    for each in options:
        value = each.value
        if value is not None and not _OPEN.search(value):
            yield from _check_value(table, each, value)
        # Two equal values are harmless, and options of table.many add up.
        before = last.get((each.part, each.name))
        if (
            each.name not in table.many
            and before
            and before.value != value
            and HOLE not in f"{before.value}{value}"
        ):
            name = table.dashed(each.name)
            message = f"{name}={value} overrides {name}={before.value}"
            fix = "keep one of the two lines"
            yield Problem("overridden", each.offset, message, fix, "warning")
        last[each.part, each.name] = each
    for pair in table.pairs:
        for part in sorted({option.part for option in options}):
            both = [
                last[part, name] for name in pair["options"] if (part, name) in last
            ]
            if len(both) > 1:
                offset = max(option.offset for option in both)
                names = " or ".join(table.dashed(option.name) for option in both)
                # The restriction exists only in newer versions, so the job may
                # still start here.
                severity: Severity = "warning" if pair.get("newer") else "error"
                yield Problem(
                    "refused", offset, pair["says"], f"keep {names}", severity
                )


def check_needs(table: Table, options: Sequence[GivenOption]) -> Iterator[Problem]:
    """Yield the options of a script that need another one; the command line may have it."""
    names = {option.name for option in options}
    for need in table.needs:
        given = [option for option in options if option.name == need["option"]]
        is_on = given and given[-1].value not in (None, "0")
        if is_on and names.isdisjoint(need["one_of"]):
            fix = f"give {table.dashed(need['one_of'][0])} as well"
            yield Problem("refused", given[-1].offset, need["says"], fix, "warning")


def _check_value(table: Table, given: GivenOption, value: str) -> Iterator[Problem]:
    format_ = table.formats.get(table.formats_of.get(given.name, ""))
    # A format without a pattern accepts any value, so there is nothing to compare.
    if format_ is None:
        return
    fix = format_["fix"].format(name=given.name)
    match = re.fullmatch(format_["pattern"], value, re.IGNORECASE)
    words: dict[str, Any] = {"name": given.name, "value": value}
    if match is None:
        yield Problem("refused", given.offset, format_["says"].format_map(words), fix)
    elif "range" in format_ and match["least"] and match["most"]:
        least, most = (match[name].lstrip("+0") for name in ("least", "most"))
        # The numbers are compared as texts, because int() refuses more than 4,300
        # digits.
        if most and (len(most), most) < (len(least), least):
            words |= {"least": least, "most": most}
            yield Problem(
                "refused", given.offset, format_["range"].format_map(words), fix
            )


def by_rule_names(
    table: Table, inputs: Sequence[GivenOption]
) -> dict[str, GivenOption]:
    """Return the options by their names in the rules of profiles (``--account``)."""
    options = {}
    for option in inputs:
        name = table.means.get(option.name, option.name)
        options[table.dashed(name)] = option
        # PBS lists resources in one option, and each of them may have its own rule.
        if option.name == table.listed:
            for part in re.split("[,:+]", option.value or ""):
                name, _, value = part.partition("=")
                options[f"--{name}"] = option._replace(value=value)
    return options
