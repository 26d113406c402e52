"""Defaults of options from files: ``envcfg.toml`` of a site or project, and
``config.toml`` of a user.

Imported only if such a file exists. The reader of each option parses its value, as on
the command line; nothing is executed. The nearest value wins: command line,
environment, project, user, site. Values of repeatable options add up.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.common.errors import (
    FindingsError,
    OutputError,
    UsageError,
    suggest,
)
from envcfg.common.findings import Finding, Place
from envcfg.common.toml_document import parse_toml
from envcfg.core.lint_options import LINT
from envcfg.core.option import (
    ALLOW_WRITABLE,
    Option,
    Table,
    read_value,
    write_options,
)
from envcfg.core.request_options import REQUEST, SCRIPT
from envcfg.core.step_options import STEP
from envcfg.job.plan.diagnostics import is_path
from envcfg.profile.folders import PROJECT_DEFAULTS, site_defaults
from envcfg.profile.guard import as_note, examine, refuse
from envcfg.profile.words import is_profile_path

TABLE: Table = {**REQUEST, **STEP, **SCRIPT}
ROWS = {option.flag[2:]: option for options in TABLE.values() for option in options}
# Options of commands that are not a step, by their table in the file.
TABLES = {"lint": {row.flag[2:]: row for rows in LINT.values() for row in rows}}
IN_FORCE, OVERRIDDEN = "in force", "overridden"
# Values that may begin with a path: an image, a profile, a file to source, a mount.
_PATHS = frozenset({"IMAGE", "NAME|FILE", "FILE|CMD", "SPEC"})
_IS_FILE = {"NAME|FILE": is_profile_path, "FILE|CMD": is_path}
# In the site's file: whom users may ask, for messages of errors.
CONTACT = "contact"
_MOST = 20  # problems that are reported for one file
_QUOTES = 'put a text in quotes, as in account = "project_1"'


class Default(NamedTuple):
    """The value of an option in a file or variable."""

    option: Option
    value: Any
    file: str  # its path, or the name of a variable after a `$`
    line: int  # from 1; 0 for a variable
    state: str = IN_FORCE
    table: str = ""  # the table of the file that holds the option, such as `lint`

    @property
    def key(self) -> str:
        """Return the key in the file: ``TABLE.NAME``, or ``NAME`` without a table."""
        name = self.option.flag[2:]
        return f"{self.table}.{name}" if self.table else name

    @property
    def is_projects(self) -> bool:
        """Return whether the file belongs to a project."""
        is_site = self.file == site_defaults(os.environ)
        return os.path.basename(self.file) == PROJECT_DEFAULTS and not is_site

    @property
    def words(self) -> list[str]:
        """Return the value as words of a command line; empty for the built-in default."""
        return list(write_options({"": [self.option]}, {self.option.name: self.value}))

    @property
    def text(self) -> str:
        """Return the value as text for messages."""
        text = shlex.join(self.words) or f"{self.option.flag}: as without a default"
        return f"{self.table} {text}" if self.table else text

    @property
    def placed(self) -> str:
        """Return the value with its place."""
        text = self._replace(table="").text
        return f"{text} ({self.file}:{self.line})"


def read_files(
    files: Iterable[str],
    *,
    writable: bool = False,
    skip: Callable[[Finding], object] | None = None,
) -> list[Default]:
    """Return the defaults in the files of site, user and project, in this order.

    Args:
        files: their paths; an empty one is a missing file.
        writable: members of the user's groups may write the files; the user's own file
            may say so too.
        skip: receives a note on a file that is left out, because other users may have
            written it; None: such a file is an error.

    Raises:
        FindingsError: with all errors of a file.
        OutputError: it cannot be read.
    """
    defaults: list[Default] = []
    site = site_defaults(os.environ)
    # A file overrides the values of those before it.
    for path in filter(None, files):
        folder = os.path.dirname(path) if path == site else ""
        try:
            real, data, doubt = examine(path, site=folder, writable=writable)
        except OSError as err:
            msg = f"{path}: cannot be read: {err.strerror}"
            raise OutputError(msg, hint="correct it, or move it away") from err
        if doubt:
            problem = refuse(doubt, real, path)
            if skip is None:
                raise problem
            skip(as_note(problem.findings[0], "the file is left out"))
            continue
        rows = parse(data, path)
        own = (row.value for row in rows if row.option.flag == ALLOW_WRITABLE)
        writable = writable or any(own)
        defaults += rows
    return defaults


def parse(data: bytes, path: str) -> list[Default]:
    """Return the defaults in the bytes of the file *path*.

    Raises:
        FindingsError: with all errors in them.
    """
    defaults: list[Default] = []
    problems: list[Finding] = []
    text, document = _document(data, path)
    for table, key, content in _entries(document):
        # TOML reports no lines for keys, so the key is searched in the text.
        name = rf"([\"']?){re.escape(key)}\1[ \t]*[]=.]"
        above = rf"(?:{table}[ \t]*\.[ \t]*)?" if table else ""
        match = re.search(rf"(?m)^[ \t]*(?:\[[ \t]*)?{above}{name}", text)
        line = text.count("\n", 0, match.start()) + 1 if match else 1
        rows = TABLES[table] if table else ROWS
        try:
            if key == CONTACT and path == site_defaults(os.environ):
                _text(content)
                continue
            if key in TABLES:
                msg = "takes a table"
                raise UsageError(msg, hint=f"as in [{key}]")
            if key not in rows:
                msg = "there is no option of this name that can have a default"
                raise UsageError(msg, hint=suggest(key, rows))
            value = _value(rows[key], content, os.path.dirname(path))
            defaults.append(Default(rows[key], value, path, line, table=table))
        except (ValueError, UsageError) as err:
            path_of_key = f"{table}.{key}" if table else key
            problems.append(_problem(err, path, line, path_of_key))
        # A limit keeps the report of a wrong file readable.
        if len(problems) == _MOST:
            break
    if problems:
        raise FindingsError(problems)
    return defaults


def read_contact(environ: Mapping[str, str]) -> str:
    """Return the contact in the site's file; empty if the file has none, or is wrong."""
    path = site_defaults(environ)
    try:
        _, data, doubt = examine(path, site=os.path.dirname(path))
        document = {} if doubt else parse_toml(data, path)
    except (OSError, ValueError):
        return ""  # the command reports a wrong file, if it reads it
    contact = document.get(CONTACT)
    return contact if isinstance(contact, str) else ""


def _entries(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield table, key and content of each option; the table is empty for most."""
    for key, content in document.items():
        if key in TABLES and isinstance(content, dict):
            yield from ((key, name, inner) for name, inner in content.items())
        else:
            yield "", key, content


def _problem(err: Exception, path: str, line: int, key: str = "") -> Finding:
    hint = err.hint if isinstance(err, UsageError) else _QUOTES
    place = Place(path, line)
    return Finding("default-wrong", "error", key[:60], str(err), hint, place=place)


def _document(data: bytes, path: str) -> tuple[str, Mapping[str, Any]]:
    try:
        document = parse_toml(data, path)
        return data.decode("utf-8-sig").replace("\r\n", "\n"), document
    except ValueError as err:
        # tomllib names the line only in its message.
        match = re.search(r"line (\d+)", str(err))
        value_error = ValueError(f"this is not TOML: {err}")
        raise FindingsError(
            [_problem(value_error, path, int(match[1]) if match else 1)]
        ) from None


def _value(option: Option, value: Any, folder: str) -> Any:  # noqa: ANN401  # any option's
    """Return the option's value for a value of TOML; raise ``ValueError`` for a wrong
    type."""
    # A switch has no text form, so a quoted "false" would mean true.
    if option.kind == "switch" and not isinstance(value, bool):
        msg = "takes true or false"
        raise UsageError(msg, hint=f"as in {option.flag[2:]} = true")
    if option.kind == "switch":
        return value
    if isinstance(value, bool) and option.kind == "maybe":
        return option.alone if value else option.default
    # A table of NAME=VALUE options is natural TOML, and repeats the option for each
    # entry.
    several = [value]
    if isinstance(value, dict) and option.metavar == "NAME=VALUE":
        several = [f"{name}={_text(part)}" for name, part in value.items()]
    elif isinstance(value, list) and option.kind == "many":
        several = value
    texts = (_placed(option, _text(text), folder) for text in several)
    values = [read_value(option, text) for text in texts]
    return values if option.kind == "many" else values[0]


def _text(value: object) -> str:
    # bool is a subclass of int, so it is tested first.
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        kinds = {bool: "true or false", list: "a list", dict: "a table"}
        msg = f"takes a text or a number, not {kinds.get(type(value), 'a date')}"
        raise ValueError(msg)  # noqa: TRY004  # as readers of options raise it
    if isinstance(value, int) and abs(value) >= 1 << 63:  # TOML needs only 64 bits
        msg = "takes a number of 64 bits at most"
        raise ValueError(msg)
    if "\0" in (text := str(value)):
        msg = "holds a NUL, which no command line can"
        raise ValueError(msg)
    return text


def _placed(option: Option, text: str, folder: str) -> str:
    """Return *text* with its path resolved from the folder of its file.

    A profile and a file to source are in that folder. An image and a mount are there
    only if such a file exists; otherwise they are names, or paths for the container
    runtime. Only a shell replaces ``~/``.
    """
    if option.metavar not in _PATHS or not text or text.startswith("~/"):
        return os.path.expanduser(text) if option.metavar in _PATHS else text
    path = text.partition(":")[0] if option.metavar == "SPEC" else text
    target = os.path.join(folder, path.removeprefix("./"))
    is_file = _IS_FILE.get(option.metavar)
    is_path = is_file(text) if is_file else "/" in path or "." in path
    is_there = is_path and (is_file or os.path.exists(target))
    # In the current folder, the relative path stays as the user wrote it.
    return target + text[len(path) :] if is_there and folder != os.getcwd() else text


# The environment comes after the files, so the last value of an option wins.
def settle(found: Iterable[Default], environ: Mapping[str, str]) -> list[Default]:
    """Return the defaults from files, then those from the environment.

    A default that a later one replaces is marked as overridden.
    """
    settings = ((row, environ.get(row.variable)) for row in ROWS.values())
    defaults = (Default(o, text, f"${o.variable}", 0) for o, text in settings if text)
    rows = [*found, *defaults]
    # Repeatable options are never overridden: their values add up.
    last = {row.option.name: row for row in rows if row.option.kind != "many"}
    return [
        row if last.get(row.option.name, row) is row else row._replace(state=OVERRIDDEN)
        for row in rows
    ]


def values_of(defaults: Iterable[Default]) -> dict[str, Any]:
    """Return the values in force, by name; values from the environment are read
    elsewhere."""
    values: dict[str, Any] = {}
    for default in defaults:
        if default.state == IN_FORCE and default.line:
            name, is_many = default.option.name, default.option.kind == "many"
            values[name] = (
                values.get(name, []) + default.value if is_many else default.value
            )
    return values


def taken(found: Sequence[Default], inputs: Collection[str]) -> list[Default]:
    """Return the defaults that the options *inputs* of the command line do not override."""
    defaults = [
        default
        for default in found
        if default.option.kind == "many" or default.option.name not in inputs
    ]
    return [
        default
        for default in defaults
        if default.state == IN_FORCE and default.line and default.words
    ]
