"""YAML as nodes with their places: the reader below the profile loader.

Scalars keep their written text (``off`` stays ``off``, ``010`` stays ``010``). Every
problem is collected with line and column; no error is raised before the end of the
file.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from envcfg.common.characters import whole_number
from envcfg.common.errors import suggest
from envcfg.common.findings import Finding, Place

MAX_BYTES = 100_000
_MANY = 100  # problems; after them, suggestions are not computed
_LONG = 300  # characters of a message

# A node: its kind, its content, line and column from 1. A mapping contains nodes of
# keys and values in turn, a list nodes, a text its characters. JSON can store all
# of it.
Node = Sequence[Any]
Compose = Callable[[str], "Node | None"]
TEXT, NOTHING, LIST, MAPPING = "a text", "nothing", "a list", "a mapping"
_SCALARS = (TEXT, NOTHING)


class NotYamlError(Exception):
    """A text that is not YAML, or not in the form of a profile."""

    def __init__(self, message: str, line: int, column: int, hint: str | None) -> None:
        """Store the message, the *line* and *column* (from 1), and the hint."""
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


def invalid(place: Place, key: str, message: str, fix: str | None = None) -> Finding:
    """Return the finding for an invalid value at *place* under the dotted *key*."""
    return Finding("profile-invalid", "error", key, message, fix, place=place)


class Field:
    """One YAML node with its key path; its errors go to ``problems``."""

    __slots__ = ("key", "kind", "node", "path", "problems", "value")

    def __init__(
        self, node: Node, key: str, path: str, problems: list[Finding]
    ) -> None:
        """Represent *node* of file *path*, under the dotted *key*."""
        self.node = node
        self.kind: str = node[0]
        self.value: Any = node[1]
        self.key = key
        self.path = path
        self.problems = problems

    @property
    def place(self) -> Place:
        """The place where the node begins."""
        return Place(path=self.path, line=self.node[2], column=self.node[3])

    @property
    def is_null(self) -> bool:
        """Whether the node is an explicit or empty null."""
        return self.kind == NOTHING

    def is_text(self, text: str) -> bool:
        """Return whether the node is exactly this text."""
        return self.kind in _SCALARS and self.value == text

    def problem(self, message: str, hint: str | None = None) -> None:
        """Record a problem of this node."""
        if len(message) > _LONG:
            message = f"{message[: _LONG // 2]} ... {message[-_LONG // 2 :]}"
        key = self.key if self.key.isprintable() else repr(self.key)
        self.problems.append(invalid(self.place, key, message, hint))

    def stray(self, message: str, word: str, candidates: Collection[str]) -> None:
        """Report that *word* is not in *candidates*, and suggest the nearest."""
        few = len(self.problems) < _MANY
        self.problem(message, suggest(word, candidates) if few else None)

    def text(self) -> str | None:
        """Return the scalar unchanged, or None with a problem."""
        if self.kind not in _SCALARS:
            self.problem(f"expected a text, not {self.kind}")
            return None
        if self.is_null:
            self.problem("expected a text, not nothing", 'the empty text is ""')
            return None
        if "\0" in self.value:
            self.problem("a text cannot hold a NUL character")
            return None
        return str(self.value)

    def one_of(self, candidates: Collection[str]) -> str | None:
        """Return the text if it is in *candidates*, or None with a problem."""
        text = self.text()
        if text is not None and text not in candidates:
            self.stray(f"unknown value {text!r}", text, candidates)
            return None
        return text

    def integer(self) -> int | None:
        """Return the whole number, or None with a problem."""
        text = self.text()
        number = whole_number(text)
        if text is not None and number is None:
            self.problem(f"expected a whole number from 0, not {text!r}")
        return number

    def flag(self) -> bool | None:
        """Return true or false, or None with a problem."""
        text = self.text()
        if text not in {"true", "false", None}:
            self.problem(f"expected true or false, not {text!r}")
            return None
        return None if text is None else text == "true"

    def items(self) -> list[Field]:
        """Return the fields of a sequence; a problem and none if it is not a sequence."""
        if self.kind != LIST:
            self.problem(f"expected a list, not {self.kind}", "write [a, b]")
            return []
        return [
            Field(child, f"{self.key}[{index}]", self.path, self.problems)
            for index, child in enumerate(self.value)
        ]

    def texts(self) -> tuple[str, ...]:
        """Return the texts of a sequence."""
        return tuple(text for item in self.items() if (text := item.text()) is not None)

    def mapping(self, candidates: Collection[str] | None = None) -> dict[str, Field]:
        """Return the fields of a mapping by key; unknown and double keys are problems.

        Args:
            candidates: the allowed keys; None allows any.
        """
        if self.kind != MAPPING:
            self.problem(f"expected keys and values, not {self.kind}")
            return {}
        fields: dict[str, Field] = {}
        for key, child in self.pairs():
            name = key.text()
            if name is None:
                continue
            if name in fields:
                first = fields[name].place.line
                key.problem(
                    f"key {name!r} is given twice, first in line {first}",
                    "keep one of them",
                )
            elif candidates is not None and name not in candidates:
                key.stray(f"unknown key {name!r}", name, candidates)
            else:
                fields[name] = child
        return fields

    def peek(self, key: str) -> Field | None:
        """Return the field of a key if this is a mapping with it; report no problem
        otherwise."""
        if self.kind == MAPPING:
            for field, child in self.pairs():
                if field.value == key:
                    return child
        return None

    def pairs(self) -> Iterator[tuple[Field, Field]]:
        """Yield the keys of a mapping with their values."""
        nodes = iter(self.value)
        for key, value in zip(nodes, nodes, strict=True):
            name = f"{self.key}.{key[1]}" if self.key else str(key[1])
            yield (
                Field(key, self.key, self.path, self.problems),
                Field(value, name, self.path, self.problems),
            )


def read_fields(
    data: bytes,
    path: str,
    problems: list[Finding],
    compose: Compose,
) -> Field | None:
    """Parse the bytes of file *path*; None, with problems, if they are not a YAML
    document.

    Args:
        problems: receives every failure; nothing is raised.
        compose: makes nodes of a text, or raises NotYamlError.
    """

    def fail(
        message: str, line: int = 1, column: int = 1, hint: str | None = None
    ) -> None:
        place = Place(path=path, line=line, column=column)
        problems.append(invalid(place, "", message, hint))

    if len(data) > MAX_BYTES:
        fail(f"more than {MAX_BYTES} bytes are too many for a profile")
        return None
    try:
        data = data.removeprefix(BOM_UTF8)
        text = data.decode()
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        column = err.start - data.rfind(b"\n", 0, err.start)
        fail(
            f"byte 0x{data[err.start]:02x} is not UTF-8", line, column, "save as UTF-8"
        )
        return None
    try:
        node = compose(text)
    except NotYamlError as err:
        fail(err.message, err.line, err.column, err.hint)
        return None
    if node is None:
        fail("the file is empty", hint="a profile has at least a name")
        return None
    return Field(node, "", path, problems)
