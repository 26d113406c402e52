"""Lines as the probe writes them."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.nodes.probe.sample import Sample, SampleReader


def said(host: str, number: int, kind: str, texts: Sequence[str]) -> list[str]:
    return [f"envcfg-probe {host} {number} {kind} {text}\n" for text in texts]


def node_lines(
    host: str = "nid001000",
    number: int = 1,
    *,
    at: float = 100.0,
    load: str = "3.5",
    busy: int = 0,
    idle: int = 0,
    cores: int = 8,
    available: int = 3 << 20,
    counters: Sequence[str] = (),
) -> list[str]:
    """Return a sample of a node with 4 GiB of memory; *available* in KiB."""
    texts = [
        f"begin {at}",
        f"load {load}",
        f"cpu {busy} 0 0 {idle} 0 0 0 0 0 0",
        f"cores {cores}",
        f"memory {4 << 20} {available}",
        *counters,
    ]
    return said(host, number, "node", [*texts, f"end {len(texts)}"])


def gpu_lines(
    texts: Sequence[str],
    host: str = "nid001000",
    number: int = 1,
    *,
    tool: str = "nvidia-smi",
    ours: str = "-",
    status: int = 0,
) -> list[str]:
    body = [f"begin {tool} {ours}", *(f"text {text}" for text in texts)]
    return said(host, number, "gpus", [*body, f"end {len(body)} {status}"])


def used(*uses: object) -> list[str]:
    """Return lines of nvidia-smi for GPUs of these uses."""
    return [
        f"{number}, {use}, 1024, 2048, 100.00, GPU" for number, use in enumerate(uses)
    ]


def read(lines: Sequence[str]) -> list[Sample]:
    reader = SampleReader()
    return [sample for line in lines if (sample := reader.feed(line)) is not None]
