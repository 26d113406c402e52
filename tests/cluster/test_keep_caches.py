"""Kernels and an extension that outlive a job: two nodes, a real PyTorch and compiler."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster
from job import Job
from test_recipe_image import recipe_image

pytestmark = pytest.mark.nightly

_TWO = ("-N2", "--gpus-per-node=1", "--ntasks-per-node=1", "--partition=standard-g")
# The image has PyTorch's headers and no compiler, and is the same Debian as the machine.
_COMPILER = "--bind /usr/bin,/usr/lib,/usr/include"
Start = Callable[..., Job]


@pytest.fixture
def start(cluster: Cluster, tool: Path, workdir: Path) -> Start:
    """Start a job of two nodes that compiles models and an extension."""

    def submit(words: str) -> Job:
        text = (
            f"#!/bin/bash\nset -euo pipefail\nPATH={tool}:$PATH\n"
            f"source <(envcfg wrap --container {recipe_image()} --runtime apptainer "
            f"--fact rocm=6.2.4 {_COMPILER} --keep-caches {workdir}/kept "
            f"-- /opt/venv/bin/python3 {tool.parent}/programs/compiled.py {words})\n"
        )
        return cluster.submit(text, *_TWO)

    return submit


def rows(job: Job, name: str) -> list[Mapping[str, Any]]:
    """Return what the ranks of a job print about *name*."""
    # A line may not be complete while the job runs.
    lines = [line for line in job.stdout.splitlines() if re.fullmatch(r"\{.*\}", line)]
    return [row for row in map(json.loads, lines) if name in row]


def caches(cluster: Cluster) -> list[str]:
    """Return the caches and archives that jobs have left on the two nodes."""
    shown = [
        cluster.node(node, ["find", "/tmp", "-maxdepth", "1", "-name", "envcfg-*"])
        for node in cluster.nodes[:2]
    ]
    return sorted(line for each in shown for line in each.stdout.splitlines())


def models(job: Job, number: int) -> list[Mapping[str, Any]]:
    """Return what both ranks of a job print about a model."""
    lines = [row for row in rows(job, "model") if row["model"] == number]
    assert len(lines) == 2
    assert all(row["value"] == row["eager"] for row in lines)
    return lines


def test_later_jobs_compile_nothing_on_either_node(
    start: Start, cluster: Cluster
) -> None:
    before = caches(cluster)
    cold = start("1").wait(timeout=300)
    assert cold.state == "COMPLETED", cold.stdout
    assert caches(cluster) == before
    # This one begins warm, compiles more, and reaches its time limit.
    limited = start("2 sleep")
    limited.wait_until(lambda job: len(rows(job, "aged")) == 2, timeout=300)
    limited.update("TimeLimit=1").wait(timeout=120)
    assert limited.state == "TIMEOUT", limited.stdout
    assert "what this node compiled is kept" in limited.stdout
    warm = start("1 2").wait(timeout=300)
    assert warm.state == "COMPLETED", warm.stdout
    assert "compile caches copied to each node" in warm.stdout
    first, second = (
        (models(cold, 1), models(limited, 2)),
        (models(warm, 1), models(warm, 2)),
    )
    for row in (*first[0], *first[1]):
        assert (row["hits"], row["misses"]) == (0, 1)
    for row in (*second[0], *second[1]):
        assert (row["hits"], row["misses"], row["autograd"]) == (1, 0, 1)
    # Of compilers, without tracing and imports, which the first step has in any case.
    slowest = sum(max(row["compile"] for row in lines) for lines in second)
    assert slowest <= 0.1 * sum(min(row["compile"] for row in lines) for lines in first)
    assert [row["is_built"] for row in rows(cold, "extension")] == [True, True]
    for job in (limited, warm):
        assert [row["is_built"] for row in rows(job, "extension")] == [False, False]
