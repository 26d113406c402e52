"""Defaults of options from files: ``envcfg.toml`` of a project, ``config.toml`` of a user.

Imported only where there is such a file. A value is read by its option's own reader, as on
the command line, and never run. The nearer wins: command line, environment, project, user;
values of an option that may be repeated add up.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from envcfg.core.option import NO_DEFAULT, Option, Table, read_value, write_options
from envcfg.core.request_options import INLINE, REQUEST
from envcfg.core.selection import records_folder
from envcfg.core.step_options import STEP
from envcfg.errors import FindingsError, LibraryError, OutputError, UsageError, suggest
from envcfg.findings import Finding, Place
from envcfg.launch.plan import Taken
from envcfg.profile.guard import examine, refusal
from envcfg.profile.records import is_recorded

TABLE: Table = {**REQUEST, **STEP, "the script": (INLINE,)}
ROWS: Mapping[str, Option] = {
    each.flag[2:]: each for options in TABLE.values() for each in options
}
State = Literal["in force", "overridden", "not trusted"]
# Texts that may begin with a path: of an image, a profile, a file to source, a mount.
_PATHS = frozenset({"IMAGE", "NAME|FILE", "FILE|CMD", "SPEC"})
_LARGEST = 16_000  # bytes: a key of ten thousand parts takes Python minutes
_MOST = 20  # problems of a file that are said
_QUOTES = 'a text stands in quotes, as in account = "project_1"'


class Default(NamedTuple):
    """What a file or a variable says of an option.

    Attributes:
        value: as the option's reader made it of the text.
        file: its path; of a variable its name, behind a ``$``.
        line: from 1; of a variable 0.
        state: ``overridden``: a nearer one counts; ``not trusted``: none does before that.
    """

    option: Option
    value: Any
    file: str
    line: int
    state: State = "in force"

    @property
    def words(self) -> list[str]:
        """Return it as words of a command line; none where it is as built in."""
        return list(write_options({"": [self.option]}, {self.option.name: self.value}))

    @property
    def text(self) -> str:
        """Return it for people."""
        return shlex.join(self.words) or f"{self.option.flag}: as without a default"


def read_files(user: str, project: str, environ: Mapping[str, str]) -> list[Default]:
    """Return what the files of user and project say, each if there is one; user's first.

    Raises:
        FindingsError: with all that is wrong in a file, or if it must not count.
        OutputError: it cannot be read.
    """
    records = records_folder(environ)
    found: list[Default] = []
    for path in filter(None, (user, project)):
        try:
            file = examine(path, site="")
        except OSError as err:
            msg = f"{path}: cannot be read: {err.strerror}"
            raise OutputError(msg, hint="mend it, or move it away") from err
        problem = refusal(file, path, records, "less")
        is_final = file.doubt is not None and file.doubt.is_final
        if problem and (path == user or is_final):
            raise FindingsError([problem])
        is_trusted = path == user or is_recorded(records, file.real, file.data)
        found += (
            each
            if is_trusted or not each.option.needs_trust
            else each._replace(state="not trusted")
            for each in parse(file.data, path)
        )
    return found


def parse(data: bytes, path: str) -> list[Default]:
    """Return what the bytes of the file *path* say.

    Raises:
        FindingsError: with all that is wrong in them.
    """
    found: list[Default] = []
    problems: list[Finding] = []
    text, document = _document(data, path)
    for key, said in document.items():
        if len(problems) == _MOST:
            break
        line = _line_of(key, text)
        try:
            if key not in ROWS:
                msg = "there is no option of this name that can have a default"
                raise UsageError(msg, hint=suggest(key, ROWS))
            value = _value(ROWS[key], said, os.path.dirname(path))
        except (ValueError, UsageError) as err:
            hint = err.hint if isinstance(err, UsageError) else _QUOTES
            place = Place(path, line)
            shown = key if len(key) < 60 else f"{key[:60]}..."
            problems.append(
                Finding("default-wrong", "error", shown, str(err), hint, place=place)
            )
        else:
            found.append(Default(ROWS[key], value, path, line))
    if problems:
        raise FindingsError(problems)
    return found


def _line_of(key: str, text: str) -> int:
    """Return where *key* stands in a file; 1 where its name is written in another way."""
    begin = r"^[ \t]*(?:\[[ \t]*)?"
    match = re.search(
        rf"{begin}([\"']?){re.escape(key)}\1[ \t]*[]=.]", text, re.MULTILINE
    )
    return text.count("\n", 0, match.start()) + 1 if match else 1


def _document(data: bytes, path: str) -> tuple[str, Mapping[str, Any]]:
    if sys.version_info >= (3, 11):
        from tomllib import loads
    else:
        try:
            from tomli import loads
        except ImportError as err:
            raise LibraryError(package="tomli", use="reading envcfg.toml") from err
    try:
        if len(data) > _LARGEST:
            msg = f"more than {_LARGEST} bytes are too many"
            raise ValueError(msg)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        return text, loads(text)
    except (ValueError, RecursionError) as err:
        at = re.search(r"line (\d+)", str(err))
        said = f"this is no TOML: {err}"
        place = Place(path, int(at[1]) if at else 1)
        raise FindingsError(
            [Finding("default-wrong", "error", "", said, _QUOTES, place=place)]
        ) from None


def _value(option: Option, said: object, folder: str) -> Any:  # noqa: ANN401  # any option's
    """Return the value of what TOML has.

    Raises:
        ValueError: it is of another type; also ``UsageError``.
    """
    if isinstance(said, bool) and option.kind == "switch":
        return said
    if isinstance(said, bool) and option.kind == "maybe":
        return option.alone if said else option.default
    if option.kind == "switch":
        msg = "takes true or false"
        raise UsageError(msg, hint=f"as in {option.flag[2:]} = true")
    several = [said]
    if isinstance(said, dict) and option.metavar == "NAME=VALUE":
        several = [f"{name}={_text(each)}" for name, each in said.items()]
    elif isinstance(said, list) and option.kind == "many":
        several = said
    values = [
        read_value(option, _placed(option, _text(each), folder)) for each in several
    ]
    return values if option.kind == "many" else values[0]


def _text(said: object) -> str:
    if isinstance(said, bool) or not isinstance(said, (str, int, float)):
        kinds = {bool: "true or false", list: "a list", dict: "a table"}
        msg = f"takes a text or a number, not {kinds.get(type(said), 'a date')}"
        raise ValueError(msg)  # noqa: TRY004  # as readers of options raise it
    text = str(said)
    if "\0" in text:
        msg = "holds a NUL, which no command line can"
        raise ValueError(msg)
    return text


def _placed(option: Option, text: str, folder: str) -> str:
    """Return *text* with the path of what stands next to the file, as seen from here.

    A shell would have made ``~/`` the home folder; a name without a dot is none of a file.
    """
    if option.metavar not in _PATHS:
        return text
    if text.startswith("~/"):
        return os.path.expanduser(text)
    path, colon, rest = text.partition(":" if option.metavar == "SPEC" else "\0")
    there = os.path.join(folder, path.removeprefix("./"))
    is_path = "/" in path or "." in path
    if is_path and folder != os.getcwd() and os.path.exists(there):
        return f"{there}{colon}{rest}"
    return text


def settle(found: Iterable[Default], environ: Mapping[str, str]) -> list[Default]:
    """Return *found* with their states, and behind them what variables say instead."""
    rows = list(found)
    for name, option in ROWS.items():
        if option.variable and (said := environ.get(option.variable)):
            rows.append(Default(ROWS[name], said, f"${option.variable}", 0))
    last = {each.option.name: each for each in rows}
    return [
        each
        if each.option.kind == "many" or last[each.option.name] is each
        else each._replace(state="overridden")
        for each in rows
    ]


def values_of(found: Iterable[Default]) -> dict[str, Any]:
    """Return the values in force, by name; the environment's are read where they count."""
    values: dict[str, Any] = {}
    for each in found:
        if each.state != "in force" or not each.line:
            continue
        before = values.get(each.option.name, [])
        is_many = each.option.kind == "many"
        values[each.option.name] = [*before, *each.value] if is_many else each.value
    return values


def taken(found: Sequence[Default], given: Collection[str]) -> Iterator[Default]:
    """Yield those that a job gets, whose command line gives the options *given*.

    Raises:
        FindingsError: one of them must not count before its file is trusted.
    """
    left = [
        each
        for each in found
        if each.option.kind == "many" or each.option.name not in given
    ]
    problems = [
        Finding(
            "default-not-trusted",
            "error",
            each.option.flag[2:],
            "counts only when you have trusted this file, because it decides what runs",
            f"look at it, then: envcfg profiles trust {shlex.quote(each.file)}; without "
            f"it: {NO_DEFAULT} {each.option.flag[2:]}",
            place=Place(each.file, each.line),
        )
        for each in left
        if each.state == "not trusted"
    ]
    if problems:
        raise FindingsError(problems)
    yield from (each for each in left if each.state == "in force" and each.line)


def taken_words(found: Iterable[Default]) -> tuple[list[str], tuple[Taken, ...]]:
    """Return the words that say *found* on a command line, and each with its place."""
    said = [(each, words) for each in found if (words := each.words)]
    line = [word for _, words in said for word in words]
    where = (Taken(shlex.join(words), each.file, each.line) for each, words in said)
    return [NO_DEFAULT, "all", *line] if said else [], tuple(where)
