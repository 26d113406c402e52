"""The pytest plugin of a lab: runs what ``plan.json`` says, writes ``result.json``.

The plan has ``order``, the names of tests (null: all there are), and ``limits``, seconds
by name, after which a test counts as failed. The result has ``before``, the functions
called before the first test, ``tests``, by name the seconds and the functions called,
and ``failed``, names in their order.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from scripts.mutation import witness

# What grows without an end must not take the machine along.
_MEMORY = 4 * 2**30
_AGAIN = 1.0


class Foreman:
    """Runs the tests of a plan, in its order."""

    def __init__(self, lab: Path) -> None:
        """Take the plan that lies in *lab*."""
        plan = json.loads((lab / "plan.json").read_text())
        self._lab = lab
        self._order: list[str] | None = plan["order"]
        self._limits: dict[str, float] = plan["limits"]
        self._result: dict[str, Any] = {"before": [], "tests": {}, "failed": []}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the tests of the plan."""
        if self._order is not None:
            by_name = {item.nodeid: item for item in items}
            items[:] = [by_name[name] for name in self._order if name in by_name]
        self._result["before"] = witness.take_calls()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run a test against its time limit; note what it takes and calls."""
        signal.signal(signal.SIGALRM, _give_up)
        # Again and again: cleaning up may wait for the same process as the test.
        signal.setitimer(signal.ITIMER_REAL, self._limits.get(item.nodeid, 0), _AGAIN)
        began = time.monotonic()
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            seconds = round(time.monotonic() - began, 4)
            self._result["tests"][item.nodeid] = seconds, witness.take_calls()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails, or its fixtures."""
        if report.failed:
            self._result["failed"].append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported."""
        if report.failed:
            self._result["failed"].append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the result."""
        (self._lab / "result.json").write_text(json.dumps(self._result))


def pytest_configure(config: pytest.Config) -> None:
    """Begin, in the process that runs the tests."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    witness.keep()
    config.pluginmanager.register(Foreman(Path(os.environ["MUTATION_LAB"])))


def _give_up(_signal: int, _frame: FrameType | None) -> None:
    pytest.fail("takes far longer than it did before the change")
