"""The one place where temporary files are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from envcfg.interrupts import raise_signals


@contextmanager
def own_folder(name: str) -> Iterator[str]:
    """Yield a new folder that nobody else may enter; it goes, also by a signal.

    Args:
        name: what its random name says that it is for.
    """
    from tempfile import TemporaryDirectory

    before = raise_signals()
    try:
        with TemporaryDirectory(prefix=f"envcfg-{name}-") as made:
            yield made
    finally:
        raise_signals(before)
