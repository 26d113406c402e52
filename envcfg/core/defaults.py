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
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.core.option import NO_DEFAULT, Option, Table, read_value, write_options
from envcfg.core.request_options import REQUEST, SCRIPT
from envcfg.core.selection import records_folder
from envcfg.core.step_options import STEP
from envcfg.errors import FindingsError, LibraryError, OutputError, UsageError, suggest
from envcfg.findings import Finding, Place
from envcfg.profile.guard import examine, refusal
from envcfg.profile.records import is_recorded

TABLE: Table = {**REQUEST, **STEP, **SCRIPT}
ROWS = {each.flag[2:]: each for options in TABLE.values() for each in options}
IN_FORCE, OVERRIDDEN, NOT_TRUSTED = "in force", "overridden", "not trusted"
# Texts that may begin with a path: of an image, a profile, a file to source, a mount.
_PATHS = frozenset({"IMAGE", "NAME|FILE", "FILE|CMD", "SPEC"})
_LARGEST = 16_000  # bytes: a key of ten thousand parts takes Python minutes
_MOST = 20  # problems of a file that are said
_QUOTES = 'put a text in quotes, as in account = "project_1"'


class Default(NamedTuple):
    """What a file or a variable says of an option.

    Attributes:
        value: as the option's reader made it of the text.
        file: its path; of a variable its name, behind a ``$``.
        line: from 1; of a variable 0.
    """

    option: Option
    value: Any
    file: str
    line: int
    state: str = IN_FORCE

    @property
    def is_trusted(self) -> bool:
        """Return whether it may count, as far as its file goes."""
        return self.state != NOT_TRUSTED

    @property
    def words(self) -> list[str]:
        """Return it as words of a command line; none where it is as built in."""
        return list(write_options({"": [self.option]}, {self.option.name: self.value}))

    @property
    def text(self) -> str:
        """Return it for people."""
        return shlex.join(self.words) or f"{self.option.flag}: as without a default"

    @property
    def placed(self) -> str:
        """Return it with the place where it stands."""
        return f"{self.text} ({self.file}:{self.line})"


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
            raise OutputError(msg, hint="correct it, or move it away") from err
        problem = refusal(file, path, records)
        if problem and (path == user or (file.doubt and file.doubt.is_final)):
            raise FindingsError([problem])
        is_trusted = path == user or is_recorded(records, file.real, file.data)
        for each in parse(file.data, path):
            counts = is_trusted or not each.option.needs_trust
            found.append(each if counts else each._replace(state=NOT_TRUSTED))
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
        name = rf"([\"']?){re.escape(key)}\1[ \t]*[]=.]"
        match = re.search(rf"(?m)^[ \t]*(?:\[[ \t]*)?{name}", text)
        line = text.count("\n", 0, match.start()) + 1 if match else 1
        try:
            if key not in ROWS:
                msg = "there is no option of this name that can have a default"
                raise UsageError(msg, hint=suggest(key, ROWS))
            value = _value(ROWS[key], said, os.path.dirname(path))
            found.append(Default(ROWS[key], value, path, line))
        except (ValueError, UsageError) as err:
            problems.append(_problem(err, path, line, key))
        if len(problems) == _MOST:
            break
    if problems:
        raise FindingsError(problems)
    return found


def _problem(err: Exception, path: str, line: int, key: str = "") -> Finding:
    hint = err.hint if isinstance(err, UsageError) else _QUOTES
    place = Place(path, line)
    return Finding("default-wrong", "error", key[:60], str(err), hint, place=place)


def _document(data: bytes, path: str) -> tuple[str, Mapping[str, Any]]:
    try:
        if sys.version_info >= (3, 11):
            from tomllib import loads
        else:
            from tomli import loads
        if len(data) > _LARGEST:
            msg = f"more than {_LARGEST} bytes are too many"
            raise ValueError(msg)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        return text, loads(text)
    except ImportError as err:
        raise LibraryError(package="tomli", use=f"reading {path}") from err
    except (ValueError, RecursionError) as err:
        at = re.search(r"line (\d+)", str(err))
        said = ValueError(f"this is not TOML: {err}")
        raise FindingsError([_problem(said, path, int(at[1]) if at else 1)]) from None


def _value(option: Option, said: Any, folder: str) -> Any:  # noqa: ANN401  # any option's
    """Return the value of what TOML has; raise ``ValueError`` for another type."""
    if option.kind == "switch" and not isinstance(said, bool):
        msg = "takes true or false"
        raise UsageError(msg, hint=f"as in {option.flag[2:]} = true")
    if option.kind == "switch":
        return said
    if isinstance(said, bool) and option.kind == "maybe":
        return option.alone if said else option.default
    several = [said]
    if isinstance(said, dict) and option.metavar == "NAME=VALUE":
        several = [f"{name}={_text(each)}" for name, each in said.items()]
    elif isinstance(said, list) and option.kind == "many":
        several = said
    texts = (_placed(option, _text(each), folder) for each in several)
    values = [read_value(option, text) for text in texts]
    return values if option.kind == "many" else values[0]


def _text(said: object) -> str:
    if isinstance(said, bool) or not isinstance(said, (str, int, float)):
        kinds = {bool: "true or false", list: "a list", dict: "a table"}
        msg = f"takes a text or a number, not {kinds.get(type(said), 'a date')}"
        raise ValueError(msg)  # noqa: TRY004  # as readers of options raise it
    if "\0" in (text := str(said)):
        msg = "holds a NUL, which no command line can"
        raise ValueError(msg)
    return text


def _placed(option: Option, text: str, folder: str) -> str:
    """Return *text* with the path of what stands next to the file, as seen from here.

    A shell would have made ``~/`` the home folder; a name without a dot is none of a file.
    """
    if option.metavar not in _PATHS or text.startswith("~/"):
        return os.path.expanduser(text) if option.metavar in _PATHS else text
    path = text.partition(":")[0] if option.metavar == "SPEC" else text
    there = os.path.join(folder, path.removeprefix("./"))
    is_path = ("/" in path or "." in path) and os.path.exists(there)
    return there + text[len(path) :] if is_path and folder != os.getcwd() else text


def settle(found: Iterable[Default], environ: Mapping[str, str]) -> list[Default]:
    """Return *found* with their states, and behind them what variables say instead."""
    chosen = ((each, environ.get(each.variable)) for each in ROWS.values())
    named = (Default(o, said, f"${o.variable}", 0) for o, said in chosen if said)
    rows = [*found, *named]
    last = {each.option.name: each for each in rows if each.option.kind != "many"}
    return [
        each
        if last.get(each.option.name, each) is each
        else each._replace(state=OVERRIDDEN)
        for each in rows
    ]


def values_of(found: Iterable[Default]) -> dict[str, Any]:
    """Return the values in force, by name; the environment's are read where they count."""
    values: dict[str, Any] = {}
    for each in found:
        if each.state == IN_FORCE and each.line:
            name, is_many = each.option.name, each.option.kind == "many"
            values[name] = values.get(name, []) + each.value if is_many else each.value
    return values


def taken(found: Sequence[Default], given: Collection[str]) -> list[Default]:
    """Return those that a job gets whose command line gives the options *given*.

    Raises:
        FindingsError: one of them must not count before its file is trusted.
    """
    left = [
        each
        for each in found
        if each.option.kind == "many" or each.option.name not in given
    ]
    if doubtful := [each for each in left if not each.is_trusted]:
        file, line = doubtful[0].file, doubtful[0].line
        names = [each.option.flag[2:] for each in doubtful]
        said = "counts only when you trust this file, because it decides what runs"
        fix = (
            f"look at it, then: envcfg profiles trust {shlex.quote(file)}; without it: "
        )
        fix += " ".join(f"{NO_DEFAULT} {name}" for name in names)
        subject, place = ", ".join(names), Place(file, line)
        raise FindingsError(
            [Finding("default-not-trusted", "error", subject, said, fix, place=place)]
        )
    return [
        each for each in left if each.state == IN_FORCE and each.line and each.words
    ]
