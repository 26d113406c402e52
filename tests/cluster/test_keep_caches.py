"""Kernels of torch.compile that outlive a job: two nodes, a real PyTorch with a real compiler."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster
from job import Job
from test_recipe_image import recipe_image

_TWO = ("-N2", "--gpus-per-node=1", "--ntasks-per-node=1", "--partition=standard-g")
# The image has PyTorch's headers and no compiler, and is the same Debian as the machine.
_COMPILER = "--bind /usr/bin,/usr/lib,/usr/include"
Start = Callable[..., Job]


@pytest.fixture
def start(cluster: Cluster, tool: Path, workdir: Path) -> Start:
    """Start a job of two nodes that compiles a model."""

    def submit(words: str = "") -> Job:
        text = (
            f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n"
            f"source <(envcfg wrap --container {recipe_image()} --runtime apptainer "
            f"--fact rocm=6.2.4 {_COMPILER} --keep-caches {workdir}/kept "
            f"-- /opt/venv/bin/python3 {tool.parent}/programs/compiled.py {words})\n"
        )
        return cluster.submit(text, *_TWO)

    return submit


def ranks(output: str) -> list[Mapping[str, Any]]:
    # A line may not be complete while the job runs.
    lines = [line for line in output.splitlines() if re.fullmatch(r"\{.*\}", line)]
    return [json.loads(line) for line in lines]


def caches(cluster: Cluster) -> list[str]:
    """Return the caches and archives that jobs have left on the two nodes."""
    shown = [
        cluster.node(node, ["find", "/tmp", "-maxdepth", "1", "-name", "envcfg-*"])
        for node in cluster.nodes[:2]
    ]
    return sorted(line for each in shown for line in each.stdout.splitlines())


def test_the_second_job_compiles_nothing_on_either_node(
    start: Start, cluster: Cluster
) -> None:
    before = caches(cluster)
    cold = start().wait(timeout=400)
    assert cold.state == "COMPLETED", cold.stdout
    warm = start().wait(timeout=400)
    assert warm.state == "COMPLETED", warm.stdout
    first, second = ranks(cold.stdout), ranks(warm.stdout)
    assert len(first) == len(second) == 2
    assert all((each["hits"], each["misses"]) == (0, 1) for each in first)
    assert all((each["hits"], each["misses"]) == (1, 0) for each in second)
    assert all(each["value"] == each["eager"] for each in first + second)
    # What remains is PyTorch's own tracing. Other work of the machine slows that down, too.
    slowest = max(each["seconds"] for each in second)
    assert slowest <= 0.25 * min(each["seconds"] for each in first)
    assert "compile caches copied to each node" in warm.stdout
    assert caches(cluster) == before


def test_a_job_that_the_time_limit_ends_keeps_its_kernels(start: Start) -> None:
    cold = start("600")
    cold.wait_until(lambda job: len(ranks(job.stdout)) == 2, timeout=300)
    time.sleep(25)  # what was written 20 s before a step is killed may be cut
    cold.update("TimeLimit=1").wait(timeout=120)
    assert cold.state == "TIMEOUT", cold.stdout
    assert "what this node compiled is kept" in cold.stdout
    warm = start().wait(timeout=400)
    assert warm.state == "COMPLETED", warm.stdout
    assert [each["hits"] for each in ranks(warm.stdout)] == [1, 1]
