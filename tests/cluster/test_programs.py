"""A program of the table starts ranks over two nodes; scripts/programs starts more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import Cluster
from real_programs import TRL, faults, install, start

pytestmark = pytest.mark.nightly


def test_the_ranks_of_a_program_meet_over_two_nodes(
    cluster: Cluster, tool: Path
) -> None:
    job = start(cluster, tool, install(cluster, TRL), TRL)
    assert faults(cluster, TRL, job) == [], job.stdout
