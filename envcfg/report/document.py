"""JSON for programs: the one place that makes text of it."""

import time
from collections.abc import Mapping
from typing import Any

from envcfg.characters import without_surrogates


def json_text(document: object, indent: int | None = 2) -> str:
    r"""Return *document* as JSON in plain ASCII; on one line where *indent* is None.

    Named tuples become objects. Bytes of a name or a log that are not UTF-8 are written as
    ``\xNN``: half a surrogate pair stops strict readers.
    """
    import json

    return json.dumps(_plain(document), indent=indent) + "\n"


def record_json(record: Any) -> str:  # noqa: ANN401  # a named tuple
    """Return the fields of *record* as the document of a command."""
    return json_text({"schema_version": 1, **record._asdict()})


def now_text() -> str:
    """Return the time, in UTC, as documents have it (RFC 3339)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def rounded(number: float | None) -> float | None:
    """Return *number* with one digit behind the point; None stays None."""
    return None if number is None else round(number, 1)


def _plain(value: object) -> object:
    """Return *value* made of what JSON has, all the way down."""
    if isinstance(value, str):
        return without_surrogates(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {without_surrogates(name): _plain(each) for name, each in value.items()}
    return (
        [_plain(each) for each in value] if isinstance(value, (tuple, list)) else value
    )
