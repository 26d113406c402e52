"""JSON for programs: all JSON output is made here."""

from collections.abc import Mapping
from typing import Any

from envcfg.common.characters import without_surrogates


def json_text(document: object, indent: int | None = 2) -> str:
    r"""Return *document* as JSON in plain ASCII, on one line if *indent* is None.

    Named tuples become objects. Bytes of a name or a log that are not UTF-8 are written as
    ``\xNN``: half a surrogate pair stops strict readers.
    """
    import json

    return json.dumps(_plain(document), indent=indent) + "\n"


def record_json(record: Any) -> str:  # noqa: ANN401  # a named tuple
    """Return the fields of *record* as the document of a command."""
    return json_text({"schema_version": 1, **record._asdict()})


def rounded(number: float | None) -> float | None:
    """Return *number* with one decimal digit; None stays None."""
    return None if number is None else round(number, 1)


def fields_of(record: Any) -> dict[str, object]:  # noqa: ANN401  # a named tuple
    """Return the fields of *record* by their names in JSON.

    In Python a field like a keyword, such as ``class``, ends with an underscore.
    """
    return {name.rstrip("_"): field for name, field in record._asdict().items()}


def _plain(value: object) -> object:
    """Return *value* converted to JSON types, recursively."""
    if isinstance(value, str):
        return without_surrogates(value)
    if hasattr(value, "_asdict"):
        value = fields_of(value)
    if isinstance(value, Mapping):
        return {
            without_surrogates(name): _plain(element) for name, element in value.items()
        }
    return (
        [_plain(element) for element in value]
        if isinstance(value, (tuple, list))
        else value
    )
