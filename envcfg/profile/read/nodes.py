"""YAML as nodes that keep their place: the reader under the profile loader.

Scalars keep their written text (``off`` stays ``off``, ``010`` stays ``010``). Every
problem is collected with line and column; nothing is raised before the whole file is
read. Aliases are refused: they hide where a value comes from and can grow without bound.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection
from typing import Any

import yaml

from envcfg.errors import suggest
from envcfg.findings import Finding, Place

MAX_BYTES = 100_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))  # where nothing is quoted
_MAX_DEPTH = 20
_MOST_DIGITS = 9
_WRITE_IT = "write the value itself"
_MANY = 100  # problems, after which no time goes into suggestions
_LONG = 300  # characters of a message


def invalid(place: Place, key: str, message: str, fix: str | None = None) -> Finding:
    """Return that what stands at *place*, under the dotted *key*, is wrong."""
    return Finding("profile-invalid", "error", key, message, fix, place=place)


class Field:
    """One YAML node with its key path; what is wrong with it goes to ``problems``."""

    __slots__ = ("key", "node", "path", "problems")

    def __init__(
        self, node: yaml.Node, key: str, path: str, problems: list[Finding]
    ) -> None:
        """Stand for *node* of file *path*, under the dotted *key*."""
        self.node = node
        self.key = key
        self.path = path
        self.problems = problems

    @property
    def place(self) -> Place:
        """Where the node begins."""
        mark = self.node.start_mark
        return Place(path=self.path, line=mark.line + 1, column=mark.column + 1)

    @property
    def is_null(self) -> bool:
        """Whether the node is an explicit or empty null."""
        return self.node.tag == _NULL

    def is_text(self, text: str) -> bool:
        """Tell whether the node is this text, as it is written."""
        return isinstance(self.node, yaml.ScalarNode) and self.node.value == text

    def problem(self, message: str, hint: str | None = None) -> None:
        """Collect what is wrong with this node."""
        if len(message) > _LONG:
            message = f"{message[: _LONG // 2]} ... {message[-_LONG // 2 :]}"
        key = self.key if self.key.isprintable() else repr(self.key)
        self.problems.append(invalid(self.place, key, message, hint))

    def stray(self, message: str, word: str, known: Collection[str]) -> None:
        """Collect that *word* is none of *known*, and suggest the nearest."""
        few = len(self.problems) < _MANY
        self.problem(message, suggest(word, known) if few else None)

    def text(self) -> str | None:
        """Return the scalar as it is written, or None with a problem."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.problem(f"expected a text, not {_kind(self.node)}")
            return None
        if self.is_null:
            self.problem("expected a text, not nothing", 'the empty text is ""')
            return None
        if "\0" in self.node.value:
            self.problem("a text cannot hold a NUL character")
            return None
        return str(self.node.value)

    def one_of(self, known: Collection[str]) -> str | None:
        """Return the text if it is in *known*, or None with a problem."""
        text = self.text()
        if text is not None and text not in known:
            self.stray(f"unknown value {text!r}", text, known)
            return None
        return text

    def integer(self, *, minimum: int = 0) -> int | None:
        """Return the whole number, or None with a problem."""
        text = self.text()
        if text is None:
            return None
        is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
        if not (is_number and int(text) >= minimum):
            self.problem(f"expected a whole number from {minimum}, not {text!r}")
            return None
        return int(text)

    def flag(self) -> bool | None:
        """Return true or false, or None with a problem."""
        text = self.text()
        if text not in {"true", "false", None}:
            self.problem(f"expected true or false, not {text!r}")
            return None
        return None if text is None else text == "true"

    def items(self) -> list[Field]:
        """Return the fields of a sequence; a problem and none if it is no sequence."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.problem(f"expected a list, not {_kind(self.node)}", "write [a, b]")
            return []
        return [
            Field(child, f"{self.key}[{index}]", self.path, self.problems)
            for index, child in enumerate(self.node.value)
        ]

    def texts(self) -> tuple[str, ...]:
        """Return the texts of a sequence."""
        return tuple(text for item in self.items() if (text := item.text()) is not None)

    def mapping(self, known: Collection[str] | None = None) -> dict[str, Field]:
        """Return the fields of a mapping by key; unknown and double keys are problems.

        Args:
            known: the keys that may stand here; None allows any.
        """
        if not isinstance(self.node, yaml.MappingNode):
            self.problem(f"expected keys and values, not {_kind(self.node)}")
            return {}
        found: dict[str, Field] = {}
        for key_node, value_node in self.node.value:
            key = Field(key_node, self.key, self.path, self.problems)
            name = key.text()
            if name is None:
                continue
            child = Field(value_node, self._join(name), self.path, self.problems)
            if name in found:
                first = found[name].place.line
                key.problem(
                    f"key {name!r} stands twice, first in line {first}",
                    "keep one of them",
                )
            elif known is not None and name not in known:
                key.stray(f"unknown key {name!r}", name, known)
            else:
                found[name] = child
        return found

    def peek(self, key: str) -> Field | None:
        """Return the field of a key, if this is a mapping that has it; no problem else."""
        if isinstance(self.node, yaml.MappingNode):
            for key_node, value_node in self.node.value:
                if key_node.value == key:
                    return Field(value_node, self._join(key), self.path, self.problems)
        return None

    def _join(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name


def read_fields(data: bytes, path: str, problems: list[Finding]) -> Field | None:
    """Parse the bytes of file *path*; None, with problems, if they are no YAML document.

    Raises:
        Nothing: every failure is appended to *problems*.
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
        node = _compose(text)
    except yaml.reader.ReaderError as err:
        # The error tells no usable position: look for the character itself.
        character = chr(err.character) if isinstance(err.character, int) else "?"
        at = max(text.find(character), 0)
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        fail(f"character {character!r} cannot stand in YAML", line, column)
        return None
    except yaml.MarkedYAMLError as err:
        mark = err.problem_mark or err.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        hint = err.note or _yaml_hint(text, line)
        fail(str(err.problem or err.context), line, column, hint)
        return None
    if node is None:
        fail("the file is empty", hint="a profile has at least a name")
        return None
    return Field(node, "", path, problems)


def _compose(text: str) -> yaml.Node | None:
    """Return the nodes of *text*; None, if there are none.

    From events, in one go: yaml's own composer recurses, so that a deep file would kill the
    process, and what it makes does not tell where a tag stood.

    Raises:
        yaml.YAMLError: it is no YAML, or none that a profile may have: aliases, tags,
            nesting without end, a second document. The note is the remedy.
    """
    above: list[list[yaml.Node]] = []  # the children of what is open, outermost first
    top: list[yaml.Node] = []
    children = top
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.NodeEvent):
            node = _node(event)
            children.append(node)
            if isinstance(event, yaml.CollectionStartEvent):
                above.append(children)
                children = node.value
                if len(above) > _MAX_DEPTH:
                    raise _forbidden(event, f"nested more than {_MAX_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            children = above.pop()
            if isinstance(node := children[-1], yaml.MappingNode):
                each = iter(node.value)
                node.value = list(zip(each, each, strict=True))
        elif isinstance(event, yaml.DocumentStartEvent) and top:
            msg = "another document cannot stand in a profile"
            raise _forbidden(event, msg, "give it a file of its own")
    return top[0] if top else None


def _node(event: yaml.NodeEvent) -> yaml.Node:
    """Return the node that begins with *event*; a collection is empty yet."""
    mark: Any = event.start_mark  # the C parser has a class of its own
    if isinstance(event, yaml.AliasEvent):
        raise _forbidden(event, "an alias cannot stand in a profile", _WRITE_IT)
    if tag := getattr(event, "tag", None):
        raise _forbidden(event, f"the tag {tag} cannot stand in a profile", _WRITE_IT)
    if isinstance(event, yaml.ScalarEvent):
        tag = _NULL if event.implicit[0] and event.value in _NULLS else _TEXT
        return yaml.ScalarNode(tag, event.value, mark)
    if isinstance(event, yaml.SequenceStartEvent):
        return yaml.SequenceNode("", [], mark)
    return yaml.MappingNode("", [], mark)


def _forbidden(
    event: yaml.Event, message: str, remedy: str | None = None
) -> yaml.MarkedYAMLError:
    mark: Any = event.start_mark
    return yaml.MarkedYAMLError(problem=message, problem_mark=mark, note=remedy)


def _yaml_hint(text: str, line: int) -> str | None:
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1]:
        return "YAML is indented by spaces, never by tabs"
    return None


def _kind(node: yaml.Node) -> str:
    if node.tag == _NULL:
        return "nothing"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, yaml.SequenceNode) else "a text"
