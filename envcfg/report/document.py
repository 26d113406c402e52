"""JSON for programs: all JSON output is made here."""

from collections.abc import Mapping
from typing import Any

from envcfg.common.characters import without_surrogates
from envcfg.common.secrets import hide, option_name, shown

_PRODUCT = "script"  # it must run, so its values stay
# Fields of the record of a variable that have its value.
_VALUES = frozenset({"value", "planned", "branches"})


def json_text(
    document: object, indent: int | None = 2, *, version: int | None = 1
) -> str:
    r"""Return *document* as JSON in plain ASCII, on one line if *indent* is None.

    The *version* counts incompatible changes; None: the document has no such field.
    Named tuples become objects. Bytes of a name or a log that are not UTF-8 are written as
    ``\xNN``: half a surrogate pair stops strict readers.
    """
    import json

    plain: Any = _plain(document)
    if version is not None:
        plain = {"schema_version": version, **plain}
    return json.dumps(plain, indent=indent) + "\n"


def rounded(number: float | None) -> float | None:
    """Return *number* with one decimal digit; None stays None."""
    return None if number is None else round(number, 1)


def fields_of(record: Any) -> dict[str, object]:  # noqa: ANN401  # a named tuple
    """Return the fields of *record* by their names in JSON.

    In Python a field like a keyword, such as ``class``, ends with an underscore.
    """
    return {name.rstrip("_"): field for name, field in record._asdict().items()}


def pick_fields(record: object, keys: str) -> dict[str, object]:
    """Return fields of *record* by their keys in JSON.

    Args:
        record: a named tuple.
        keys: words such as ``KEY``, or ``KEY=FIELD`` if the names differ. A question mark
            at the end: an empty field becomes None.

    >>> from envcfg.common.bind import Bind
    >>> pick_fields(Bind("/a", ""), "path=source inside=target?")
    {'path': '/a', 'inside': None}
    """
    fields = {}
    for word in keys.split():
        key, _, field = word.rstrip("?").partition("=")
        value = getattr(record, field or key)
        fields[key] = (value or None) if word.endswith("?") else value
    return fields


def _plain(value: object, name: str = "") -> object:
    """Return *value* converted to JSON types, recursively, without secrets.

    Args:
        name: the variable or option that has the value; empty if unknown.
    """
    if isinstance(value, str):
        text = without_surrogates(value)
        return shown(name, text) if name else hide(text)
    if hasattr(value, "_asdict"):
        value = fields_of(value)
    if isinstance(value, Mapping):
        return {
            without_surrogates(key): element
            if key == _PRODUCT
            else _plain(element, _owner(key, value, name))
            for key, element in value.items()
        }
    if not isinstance(value, (tuple, list)):
        return value
    # After --token, the next word is its value.
    names = [name, *(option_name(word) or name for word in value)]
    return [_plain(word, own) for own, word in zip(names, value, strict=False)]


def _owner(key: str, record: Mapping[str, object], name: str) -> str:
    """Return the variable whose value is in the field *key* of a record."""
    if key in _VALUES:
        own = record.get("name")
        return own if isinstance(own, str) else name
    return key if key.isupper() else ""  # variables by their names
