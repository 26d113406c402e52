"""Every regular expression of envcfg: those in its modules, and those in its data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import envcfg

PACKAGE = Path(envcfg.__file__).parent
_ROOT = PACKAGE.parent
# The longest text that a reader hands to a pattern, in characters. Here stands what the
# readers do; tests hold them to it.
_CAPS = {
    "envcfg/log/prefixes.yaml": 512,  # prefix.py: _FRONT
    "envcfg/log/": 20_480,  # scan.py: two pieces of a line
    "envcfg/image/image_environment.py": 1 << 14,  # _LONGEST
    "envcfg/image/facts.yaml": 1 << 16,  # facts.py: _LONGEST
    "envcfg/image/metadata.py": 1 << 16,  # what it reads of a file
    "envcfg/image/python_packages.py": 255,  # _LONGEST
    "envcfg/image/host_libraries.py": 4096,  # _LONGEST
    "envcfg/image/elf.py": 256,  # _LONGEST
    "envcfg/lint/script_source.py: _QUOTES": 1000,  # where it is searched
    "envcfg/lint/systems.yaml": 1000,  # system.py: _LONGEST
    "envcfg/lint/detectors/network.py: _REMARK": 1000,  # _LONGEST
    "envcfg/lint/": 1 << 16,  # text.py: _LONGEST
}
_CAP = 1 << 14  # where no reader says more
_CALLS = {
    *("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall"),
    "finditer",
}
_KEYS = re.compile("pattern|match$")


class Found(NamedTuple):
    """A pattern, where it stands, and the longest text that it is given."""

    pattern: re.Pattern[str] | re.Pattern[bytes]
    place: str
    cap: int
    ways: tuple[str, ...] = ("search", "fullmatch")

    @property
    def is_line(self) -> bool:
        """Whether its reader hands it a line at a time."""
        return self.place.startswith("envcfg/log/")

    @property
    def is_bytes(self) -> bool:
        """Whether it searches bytes."""
        return isinstance(self.pattern.pattern, bytes)


def find_patterns(unread: list[str]) -> Iterator[Found]:
    """Yield each pattern once; places of which the pattern is not known go to *unread*."""
    seen = set()
    for found in (*_in_modules(unread), *_in_data()):
        key = found.pattern.pattern, found.pattern.flags
        if key not in seen:
            seen.add(key)
            yield found


def _found(pattern: re.Pattern[Any], place: str, used: set[str]) -> Found:
    """Return a pattern of *place*; *used* are the functions of ``re`` that it is for."""
    cap = next((cap for part, cap in _CAPS.items() if place.startswith(part)), _CAP)
    anchored = {"match", "fullmatch"}
    ways = (
        tuple(used)
        if used and used <= anchored
        else (*sorted(used & anchored), "search")
    )
    return Found(pattern, place, cap, ways)


def _in_modules(unread: list[str]) -> Iterator[Found]:
    for path in sorted(PACKAGE.rglob("*.py")):
        place = str(path.relative_to(_ROOT))
        if path.name == "__main__.py" or "templates" in place:
            continue
        name = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        module, text = import_module(name), path.read_text()
        for held, value in vars(module).items():
            used = set(re.findall(rf"\b{held}\.(\w+)", text)) & _CALLS
            for pattern in _patterns_of(value):
                yield _found(pattern, f"{place}: {held}", used)
        for node in ast.walk(ast.parse(text)):
            if _is_call(node):
                yield from _of_call(node, module, f"{place}:{node.lineno}", unread)  # type: ignore[attr-defined, arg-type]


def _patterns_of(value: object) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns in a value of a module: in tuples and dicts, too."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _patterns_of((*value, *value.values()))
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _patterns_of(each)


def _is_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("re", "regex")
        and node.func.attr in _CALLS
    )


def _of_call(
    node: ast.Call, module: object, place: str, unread: list[str]
) -> Iterator[Found]:
    """Yield what a call of ``re`` is given, where the module alone tells."""
    flags = [each.value for each in node.keywords if each.arg == "flags"]
    if node.func.attr == "compile":  # type: ignore[attr-defined]
        flags += node.args[1:2]
    try:
        pattern, *more = (
            eval(compile(ast.Expression(each), place, "eval"), vars(module))  # noqa: S307  # our own
            for each in (node.args[0], *flags)
        )
        if not isinstance(pattern, re.Pattern):
            pattern = re.compile(pattern, *more)
    except (NameError, TypeError, AttributeError):
        unread.append(f"{place}: {ast.unparse(node)[:60]}")
    else:
        yield _found(pattern, place, {node.func.attr} & _CALLS - {"compile"})  # type: ignore[attr-defined]


def _in_data() -> Iterator[Found]:
    for path in sorted(PACKAGE.rglob("*.yaml")):
        place = str(path.relative_to(_ROOT))
        for where, text in _texts(yaml.safe_load(path.read_text()), place):
            yield _found(re.compile(text), where, set())


def _texts(data: Any, where: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # of YAML
    """Yield the texts under keys that say that they are patterns."""
    if isinstance(data, list):
        for each in data:
            yield from _texts(each, where)
    elif isinstance(data, dict):
        named = f"{where}: {data['id']}" if "id" in data else where
        for key, value in data.items():
            if isinstance(value, str) and _KEYS.search(str(key)):
                yield named, value
            else:
                yield from _texts(value, named)
