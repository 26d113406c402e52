"""The ranks of a job as the probe of a step's watcher sees them, on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcfg.nodes.probe.probes import WATCH
from envcfg.nodes.probe.sample import NodeSample, SampleReader
from support import lint_shell

LOADER = "import os, time\nif os.fork():\n    time.sleep(60)\nwhile True: pass"
JOB = {"SLURM_JOB_ID": str(4_000_000 + os.getpid()), "SLURMD_NODENAME": "n1"}


def start(program: str, **env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **JOB, "SLURM_STEP_ID": "0", **env},
        start_new_session=True,
    )


def ask(*, times: int, pci: str = "/sys/bus/pci/devices") -> list[NodeSample]:
    """Return samples of this machine, a second apart; *pci* is the folder of its devices."""
    reader = SampleReader()
    with subprocess.Popen(
        [w.replace("/sys/bus/pci/devices", pci) for w in WATCH.command()],
        env={"PATH": os.environ["PATH"], **JOB, "SLURM_STEP_ID": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as probe:
        assert probe.stdin
        assert probe.stdout
        samples: list[NodeSample] = []
        for number in range(1, times + 1):
            probe.stdin.write(f"{number}\n")
            probe.stdin.flush()
            while len(samples) < number:
                sample = reader.feed(probe.stdout.readline())
                if isinstance(sample, NodeSample):
                    samples.append(sample)
            time.sleep(1)
        probe.stdin.close()
        assert probe.stderr
        assert probe.stderr.read() == ""
        assert probe.wait(10) == 0
    return samples


@pytest.fixture
def ranks() -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [
        start(LOADER, RANK="8", LOCAL_RANK="0", CUDA_VISIBLE_DEVICES="0,1"),
        start("import time; time.sleep(60)", RANK="9", LOCAL_RANK="1"),
        start("import time; time.sleep(60)", RANK="1", SLURM_JOB_ID="7"),
    ]
    time.sleep(1)
    yield started
    for rank in started:
        os.killpg(rank.pid, 9)
        rank.wait()


def test_it_is_valid_bash() -> None:
    assert lint_shell(WATCH.script().encode(), "bash") == ""


def test_ranks_are_shown_with_their_workers_cores_and_masks(
    ranks: list[subprocess.Popen[bytes]],
) -> None:
    assert len(ranks) == 3
    first, second = ask(times=2)
    assert first.is_whole
    assert second.is_whole
    loader, other = second.ranks  # the rank of another job is left out
    assert (loader.rank, loader.local, loader.workers, loader.mask) == (8, 0, 1, "0,1")
    assert (other.rank, other.local, other.workers, other.mask) == (9, 1, 0, "-")
    assert len(loader.cores) > 0
    assert (loader.step, other.step) == ("0", "0")
    # The loop of the worker takes time of its own, and its rank sleeps.
    assert loader.worker_ticks > first.ranks[0].worker_ticks
    assert loader.ticks <= first.ranks[0].ticks + 2


def test_cores_next_to_the_gpus_of_amd_come_in_pci_order(tmp_path: Path) -> None:
    for place, cores in (("0000:c6:00.0", "0-7"), ("0000:c1:00.0", "48-55")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "gpu_busy_percent").write_text("0\n")
        (tmp_path / place / "local_cpulist").write_text(f"{cores}\n")
    (tmp_path / "0000:00:00.0").mkdir()  # no GPU
    (sample,) = ask(times=1, pci=str(tmp_path))
    assert sample.near == ("48-55", "0-7")


def test_a_node_without_ranks_is_shown() -> None:
    (sample,) = ask(times=1)
    assert (sample.ranks, sample.is_whole) == ((), True)
