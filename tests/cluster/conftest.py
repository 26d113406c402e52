"""Fixtures for tests on the real cluster: `cluster` and, for each test, `workdir`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster
from holder import take_cluster
from job import ClusterError
from tool import install_locked, install_tool

HERE = Path(__file__).resolve().parent
# Slurm's own answers, under another name, as far as it has Mahti's nodes.
SCONTROL = """\
#!/bin/sh
/usr/bin/scontrol "$@" | sed -n '
  s/^\\(ClusterName *= *\\).*/\\1nowhere/
  /^NodeName=/ { /^NodeName=g110[12] /!d; s/gpu:a100:/gpu:h100:/ }
  /^PartitionName=/ { /^PartitionName=gpu\\(small\\|medium\\|test\\) /!d }
  p'
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder: it needs the cluster."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Bring the cluster up once; take it down again unless it was up before.

    With ENVCFG_CLUSTER_KEEP=1 it stays up. If another run has the cluster, all tests fail
    and name that run.
    """
    _require_permission()
    try:
        held = take_cluster()
    except ClusterError as err:
        pytest.fail(str(err), pytrace=False)
    with held:
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
    cluster.workdir = cluster.home
    cluster.workdir = cluster.new_folder(request.node.name)
    yield cluster.workdir
    cluster.cancel_jobs()


@pytest.fixture
def nowhere(workdir: Path, tool: Path) -> dict[str, str]:
    """Return the environment of a user there to whom Slurm names another cluster."""
    programs = workdir / "bin"
    programs.mkdir(mode=0o755)
    (programs / "scontrol").write_text(SCONTROL)
    (programs / "scontrol").chmod(0o755)
    (workdir / "named.sh").write_text("export SLURM_CLUSTER_NAME=nowhere\n")
    return {
        "PATH": f"{programs}:{tool}:/usr/bin:/bin",
        "XDG_CONFIG_HOME": str(workdir / "config"),
        # bash of the job reads it: its name for the cluster is Slurm's own else.
        "BASH_ENV": str(workdir / "named.sh"),
    }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it loudly when tests on the cluster were skipped: they are the proof."""
    reason = _why_not()
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum("cluster" in report.keywords for report in skipped)
    if reason and count:
        terminalreporter.write_sep("!", "CLUSTER TESTS SKIPPED", red=True, bold=True)
        terminalreporter.write_line(f"{count} tests did not run: {reason}")


def _require_permission() -> None:
    """Skip if no cluster can be; in CI no test may be skipped (tests/conftest.py)."""
    if reason := _why_not():
        pytest.skip(reason)


def _why_not() -> str | None:
    if os.geteuid() != 0:
        return "the cluster needs root; see tests/cluster/README.md"
    if not Path("/etc/debian_version").exists():
        return "the cluster needs a Debian machine; see tests/cluster/README.md"
    return None


@pytest.fixture(scope="session", autouse=True)
def _no_scheduler() -> None:
    """Leave PATH alone, other than elsewhere: here the scheduler is a real one."""


@pytest.fixture(scope="session")
def tool(cluster: Cluster) -> Path:
    """Install envcfg for the cluster's user; returns the folder of its program."""
    return install_tool(cluster.home / "tool")


@pytest.fixture
def programs(tool: Path) -> Path:
    """The folder with this folder's programs, as the hosts see it."""
    return tool.parent / "programs"


@pytest.fixture(scope="session")
def ray_library(cluster: Cluster) -> Path:
    """Return a folder with Ray, for PYTHONPATH."""
    folder = cluster.home / "ray"
    shutil.rmtree(folder, ignore_errors=True)
    install_locked("programs", folder)
    return folder
