"""The schema of profiles, by which editors complete: its names are those of records."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from typing import Any

from envcfg.backends import runtimes, schedulers
from envcfg.backends.launchers import ALLOWABLE, HAVE_OPTIONS
from envcfg.profile.conditions import CHOSEN, FACTS
from envcfg.profile.read.entry_readers import SHELL_OWN
from envcfg.profile.read.profile_loader import SAME_FOR_KINDS
from envcfg.profile.setting_scope import FIXED

_WIDTH = 92
# What a test on a fact looks like, by the kind of the fact.
_TESTS = {"text": "text", "version": "version", "integer": "integer_tests"}


def profile_schema(text: str) -> str:
    """Return profiles/schema.json, whose *text* it is, with the names that there are."""
    schema = json.loads(text)
    parts, defs = schema["properties"], schema["$defs"]
    launch = parts["launch"]["properties"]
    launch["launchers"]["items"]["enum"] = [*ALLOWABLE]
    for name in HAVE_OPTIONS:
        about = f"Options of {name} that the system needs, by their text."
        launch.setdefault(name, {"description": about, "$ref": "#/$defs/options"})
    parts["container"]["properties"]["runtimes"]["items"]["enum"] = [*runtimes.NAMES]
    kind = parts["nodes"]["additionalProperties"]["properties"]
    for name in parts:
        if name not in SAME_FOR_KINDS:
            kind[name] = {"$ref": f"#/properties/{name}"}
    named = [*schedulers.NAMES, schedulers.NONE]
    parts["request"]["properties"]["scheduler"]["enum"] = named
    fixed = next(each for each in defs["settable"]["not"]["anyOf"] if "enum" in each)
    fixed["enum"] = sorted(SHELL_OWN | FIXED)
    defs["fact"]["enum"] = [name for name in FACTS if name not in CHOSEN]
    defs["when"]["properties"] = {
        name: {
            "description": known.about,
            "$ref": f"#/$defs/{_TESTS[known.kind]}",
        }
        for name, known in FACTS.items()
    }
    return f"{_shown(schema)}\n"


def _shown(value: Any, at: int = 0, used: int = 0) -> str:  # noqa: ANN401  # JSON
    """Return *value* as JSON, in one line where it fits.

    Args:
        value: what is shown.
        at: columns before the lines that it is broken into.
        used: columns that are taken on its first line.
    """
    line = _inline(value)
    if not isinstance(value, dict | list) or used + len(line) <= _WIDTH:
        return line
    pad = " " * (at + 2)
    if isinstance(value, dict):
        keys = {key: json.dumps(key) for key in value}
        rows = [
            f"{keys[key]}: {_shown(each, at + 2, at + 4 + len(keys[key]))}"
            for key, each in value.items()
        ]
        return f"{{\n{pad}{f',{chr(10)}{pad}'.join(rows)}\n{' ' * at}}}"
    if any(isinstance(each, dict | list) for each in value):
        rows = [_shown(each, at + 2, at + 2) for each in value]
        return f"[\n{pad}{f',{chr(10)}{pad}'.join(rows)}\n{' ' * at}]"
    return f"[\n{_filled(map(_inline, value), pad)}\n{' ' * at}]"


def _filled(words: Iterable[str], pad: str) -> str:
    return textwrap.fill(
        ", ".join(words),
        _WIDTH,
        initial_indent=pad,
        subsequent_indent=pad,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _inline(value: Any) -> str:  # noqa: ANN401  # JSON
    if isinstance(value, dict) and value:
        rows = (f"{json.dumps(key)}: {_inline(each)}" for key, each in value.items())
        return f"{{ {', '.join(rows)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value)
