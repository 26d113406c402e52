"""Where each key of a profile stands in its file."""

from collections.abc import Iterator, Mapping

from envcfg.findings import Place
from envcfg.profile.read.nodes import LIST, MAPPING, Field, read_fields
from envcfg.profile.read.yaml_text import compose

Keys = tuple[str, ...]


def places(data: bytes, path: str) -> Mapping[Keys, Place]:
    """Return the place of every key by its way from the top.

    Entries of lists count from 0: ``("env", "NCCL_NET", "cases", "0", "value")``. A place
    is that of the key, in a list that of the entry.

    Args:
        data: a file that could be loaded: it is not checked again.
        path: as messages name it.
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
