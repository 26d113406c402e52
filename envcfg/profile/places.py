"""Where each key of a profile stands in its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from envcfg.findings import Place

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Keys = tuple[str, ...]


def places(data: bytes, path: str) -> Mapping[Keys, Place]:
    """Return the place of every key by its way from the top.

    Entries of lists count from 0: ``("env", "NCCL_NET", "cases", "0", "value")``. A place
    is that of the key, in a list that of the entry.

    Args:
        data: a file that could be loaded: it is not checked again.
        path: as messages name it.
    """
    root = yaml.compose(data, Loader=_LOADER)
    return {
        keys: Place(path, node.start_mark.line + 1, node.start_mark.column + 1)
        for keys, node in _walk(root, ())
    }


def _walk(node: yaml.Node | None, above: Keys) -> Iterator[tuple[Keys, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            keys = (*above, str(key.value))
            yield keys, key
            yield from _walk(value, keys)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            keys = (*above, str(index))
            yield keys, value
            yield from _walk(value, keys)
