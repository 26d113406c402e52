"""Read a TOML file of options, within limits of size and depth."""

import sys
from collections.abc import Mapping
from typing import Any

from envcfg.common.errors import LibraryError
from envcfg.common.nesting import check_depth, refuse_depth

_LARGEST = 16_000  # bytes: Python needs minutes for a key of 10,000 parts


def parse_toml(data: bytes, path: str) -> Mapping[str, Any]:
    """Return the content of *path*, a file of defaults.

    Raises:
        ValueError: it is not TOML, or is larger than a file of defaults should be.
        LibraryError: this Python has no reader for TOML.
    """
    try:
        if sys.version_info >= (3, 11):
            from tomllib import loads
        else:
            from tomli import loads
    except ImportError as err:
        raise LibraryError(package="tomli", use=f"reading {path}") from err
    if len(data) > _LARGEST:
        msg = f"more than {_LARGEST} bytes are too many"
        raise ValueError(msg)
    try:
        # A BOM and Windows line ends are harmless here, but tomllib accepts neither.
        document = loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except RecursionError:
        refuse_depth()
    check_depth(document)
    return document
