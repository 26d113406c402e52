"""Parse the text of a profile into nodes with places, by the events of PyYAML.

The parser does not recurse, as yaml's own composer does, so a deep file cannot kill the
process. The composer also loses the places of tags. Aliases are refused, because they
hide the origin of a value and can grow without bound.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from envcfg.common.findings import Place
from envcfg.profile.read.yaml_nodes import (
    LIST,
    MAPPING,
    NOTHING,
    TEXT,
    Field,
    Node,
    NotYamlError,
    read_fields,
)

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))  # only without quotes
_MAX_DEPTH = 20
_WRITE_IT = "write the value itself"
Keys = tuple[str, ...]


def compose(text: str) -> Node | None:
    """Return the nodes of *text*; None for an empty text.

    Raises:
        NotYamlError: it is not YAML, or not in the form of a profile: aliases, tags,
            endless nesting, a second document.
    """
    try:
        return _compose(text)
    except yaml.reader.ReaderError as err:
        # The error has no usable position, so the character itself is searched.
        character = chr(err.character) if isinstance(err.character, int) else "?"
        position = max(text.find(character), 0)
        line, column = (
            text.count("\n", 0, position) + 1,
            position - text.rfind("\n", 0, position),
        )
        message = f"character {character!r} is not allowed in YAML"
        raise NotYamlError(message, line, column, None) from err
    except yaml.MarkedYAMLError as err:
        mark = err.problem_mark or err.context_mark
        if mark:
            _refuse_events_before(text[: mark.index])
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        at_fault = text.splitlines()[line - 1 : line]
        is_tab = any("\t" in line for line in at_fault)
        hint = "YAML is indented by spaces, never by tabs" if is_tab else None
        message = str(err.problem or err.context)
        raise NotYamlError(message, line, column, hint) from err


def _compose(text: str) -> Node | None:
    above: list[list[Node]] = []  # the children of open collections, outermost first
    top: list[Node] = []
    children = top
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.NodeEvent):
            node = _node(event)
            children.append(node)
            if isinstance(event, yaml.CollectionStartEvent):
                above.append(children)
                children = node[1]
                if len(above) > _MAX_DEPTH:
                    raise _forbidden(event, f"nested more than {_MAX_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            children = above.pop()
        elif isinstance(event, yaml.DocumentStartEvent) and top:
            msg = "a profile is one document"
            raise _forbidden(event, msg, "give it its own file")
    return top[0] if top else None


def _refuse_events_before(text: str) -> None:
    """Raise NotYamlError if envcfg refuses *text*, which ends where the parser failed.

    The parser reads up to 1,024 characters before it reports a ``[``. Meanwhile it may
    exceed its own nesting limit, which differs between versions of libyaml. The depth
    allowed by envcfg must not depend on that limit.
    """
    with contextlib.suppress(yaml.MarkedYAMLError):
        _compose(text)


def _node(event: yaml.NodeEvent) -> Node:
    """Return the node that begins with *event*; a collection is still empty."""
    mark: Any = event.start_mark  # the C parser has its own class
    position = mark.line + 1, mark.column + 1
    if isinstance(event, yaml.AliasEvent):
        raise _forbidden(event, "an alias is not allowed in a profile", _WRITE_IT)
    if tag := getattr(event, "tag", None):
        raise _forbidden(event, f"the tag {tag} is not allowed in a profile", _WRITE_IT)
    if isinstance(event, yaml.ScalarEvent):
        is_nothing = event.implicit[0] and event.value in _NULLS
        return NOTHING if is_nothing else TEXT, event.value, *position
    return (
        LIST if isinstance(event, yaml.SequenceStartEvent) else MAPPING,
        [],
        *position,
    )


def _forbidden(
    event: yaml.Event, message: str, remedy: str | None = None
) -> NotYamlError:
    mark: Any = event.start_mark
    return NotYamlError(message, mark.line + 1, mark.column + 1, remedy)


def places(data: bytes, path: str) -> Mapping[Keys, Place]:
    """Return the place of every key by its path from the top.

    Entries of lists count from 0: ``("env", "NCCL_NET", "cases", "0", "value")``. The
    place is that of the key, or of the entry in a list.

    Args:
        data: a file that was loaded successfully: it is not checked again.
    """
    root = read_fields(data, path, [], compose)
    return dict(_walk(root, ())) if root else {}


def _walk(field: Field, above: Keys) -> Iterator[tuple[Keys, Place]]:
    if field.kind == MAPPING:
        for key, value in field.pairs():
            keys = (*above, str(key.value))
            yield keys, key.place
            yield from _walk(value, keys)
    elif field.kind == LIST:
        for index, value in enumerate(field.items()):
            keys = (*above, str(index))
            yield keys, value.place
            yield from _walk(value, keys)
