"""What entries and blocks of a profile say, as text."""

from collections.abc import Iterator
from typing import Any

from envcfg.profile.entries import Setting
from envcfg.profile.scheduler import Size
from envcfg.profile.words import format_word

_ASIDE = frozenset(
    {"reason", "when", "name", "option", "bind", "word", "place", "dropped", "others"}
)


def with_flags(setting: Setting, value: tuple[Any, ...]) -> str:
    """Return a setting's value with what holds for all of its cases."""
    flags = [key for key in ("force", "directory") if getattr(setting, key)]
    return format_word(value) + (f"  ({', '.join(flags)})" if flags else "")


def given(content: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # any block
    """Yield the fields of a block that say something."""
    defaults = type(content)._field_defaults
    for key, value in content._asdict().items():
        if key not in _ASIDE and (key not in defaults or value != defaults[key]):
            yield key, value


def text(value: object) -> str:
    """Return a field's value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return " ".join(f"{name}={format_word(word)}" for name, word in value.items())
    if isinstance(value, tuple) and value and isinstance(value[0], Size):
        return ", ".join(f"up to {each.nodes} nodes {each.time}" for each in value)
    if isinstance(value, tuple):
        plain = all(isinstance(each, str) for each in value)
        return ", ".join(map(str, value)) if plain else format_word(value)
    return str(value)
