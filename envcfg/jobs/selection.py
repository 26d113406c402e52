"""``--where``: conditions on the fields of jobs, as SQL with bound values; pure."""

import getpass
import re

from envcfg.common.errors import UsageError, suggest
from envcfg.jobs.job_record import JobRecord

_CONDITION = re.compile(
    r"\s*(?P<field>\w+)\s*(?P<sign>!=|<=|>=|=|<|>|~)\s*"
    r"(?:'(?P<quoted>[^']*)'|(?P<bare>[^\s'\"]+))\s*(?P<and>and\s|$)",
    re.IGNORECASE,
)
_SIGNS = "signs: = != < <= > >= ~ (contains)"
_HINT = f"as in --where 'verdict=degraded and user=me'; {_SIGNS}"
COLUMNS = {name.rstrip("_"): kind for name, kind in JobRecord.__annotations__.items()}
LISTS = {name for name, kind in COLUMNS.items() if kind == tuple[str, ...]}
NUMBERS = [
    name for name, kind in COLUMNS.items() if name not in LISTS and kind is not str
]


def sql_condition(text: str) -> tuple[str, list[str | float]]:
    """Return the conditions in *text* as SQL, and the values to bind.

    >>> sql_condition("verdict=degraded and gpu_hours>=10")
    ('"verdict" = ? AND "gpu_hours" >= ?', ['degraded', 10.0])

    Raises:
        UsageError: *text* has another form, or names no field of a job.
    """
    parts: list[str] = []
    values: list[str | float] = []
    rest = text
    while rest or not parts:
        match = _CONDITION.match(rest)
        if match is None or (match["and"] and match.end() == len(rest)):
            msg = f"--where: {rest!r} is no condition"
            raise UsageError(msg, hint=_HINT)
        part, value = _condition(match)
        parts.append(part)
        values.append(value)
        rest = rest[match.end() :]
    return " AND ".join(parts), values


def _condition(match: re.Match[str]) -> tuple[str, str | float]:
    given = match["field"].lower()
    # A list has many entries, and a condition is about one of them.
    plural = "node_names" if given == "node" else f"{given}s"
    field, sign = plural if plural in LISTS else given, match["sign"]
    if field not in COLUMNS:
        msg = f"--where: a job has no field {given}"
        raise UsageError(msg, hint=suggest(given, [*COLUMNS, "node"]))
    value = match["quoted"] if match["bare"] is None else match["bare"]
    if field == "user" and value == "me":
        value = getpass.getuser()
    if sign == "~":
        return f'instr(lower("{field}"), lower(?)) > 0', value
    if field in NUMBERS:
        try:
            return f'"{field}" {sign} ?', float(value)
        except ValueError:
            msg = f"--where: {field} is a number, not {value!r}"
            raise UsageError(msg, hint=_HINT) from None
    if field in LISTS:
        if sign not in ("=", "!="):
            msg = f"--where: {given} takes =, != or ~, not {sign}"
            raise UsageError(msg, hint=_HINT)
        not_ = "NOT " if sign == "!=" else ""
        return f'{not_}? IN (SELECT value FROM json_each("{field}"))', value
    return f'"{field}" {sign} ?', value
