"""Fixtures for tests on the real cluster: `cluster` and, for each test, `workdir`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder: it needs the cluster."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Bring the cluster up once; take it down again unless it was up before.

    With ENVCFG_CLUSTER_KEEP=1 it stays up.
    """
    _require_permission()
    cluster = Cluster()
    keep = cluster.is_up or os.environ.get("ENVCFG_CLUSTER_KEEP") == "1"
    try:
        cluster.up()
        yield cluster
    finally:
        if not keep:
            cluster.down()


@pytest.fixture(autouse=True)
def workdir(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Give each test a new folder of the user; afterwards none of its jobs is left."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:60]
    count = len(list(cluster.home.glob("work/*")))
    folder = cluster.home / "work" / f"{count:03}-{name}"
    cluster.run(["mkdir", "-p", folder], cwd=cluster.home, check=True)
    cluster.workdir = folder
    yield folder
    cluster.workdir = cluster.home
    cluster.cancel_jobs()


def _require_permission() -> None:
    """Skip where no cluster can be; in CI that is a failure, not a reason to skip."""
    if os.geteuid() != 0:
        reason = "not root"
    elif not Path("/etc/debian_version").exists():
        reason = "not a Debian machine"
    else:
        return
    reason = f"CLUSTER TESTS CANNOT RUN: {reason}; see tests/cluster/README.md"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    sys.stderr.write(f"\n{reason}\n")
    pytest.skip(reason)
