"""A plugin of pytest: it records the functions that each test calls, or runs some tests.

``MUTATION_TREE`` is the tree, and ``MUTATION_TESTS`` a file with the names of the tests to
run, in their order; without it, all run and are recorded in ``MUTATION_RECORD``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_package = os.path.join(os.environ["MUTATION_TREE"], "envcfg", "")
_called: set[str] = set()
_tests: dict[str, tuple[float, list[str]]] = {}


def _note(frame: FrameType, _event: str, _argument: object) -> None:
    path = frame.f_code.co_filename
    if path.startswith(_package):
        name = path[len(os.environ["MUTATION_TREE"]) + 1 :]
        _called.add(f"{name}:{frame.f_code.co_firstlineno}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests to run, in their order."""
    if names := os.environ.get("MUTATION_TESTS"):
        order = json.loads(Path(names).read_text())
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in order if name in by_name]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record the time and the calls of a test."""
    _called.clear()
    began = time.monotonic()
    if "MUTATION_RECORD" in os.environ:
        sys.settrace(_note)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        _tests[item.nodeid] = time.monotonic() - began, sorted(_called)


def pytest_sessionfinish() -> None:
    """Write the record."""
    if record := os.environ.get("MUTATION_RECORD"):
        Path(record).write_text(json.dumps(_tests))
