"""The exporter of a site, asked by the probe over real HTTP, and what contradicts it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from exporters import amd, dcgm, omnistat, serving
from lines import gpu_lines, node_lines
from test_probe_shell import Probe, write_tool
from watching import HOSTS, Clock, Nodes, Watched

from envcfg.core.option_values import write_exporter
from envcfg.nodes.monitor.exporter_check import ExporterCheck
from envcfg.nodes.probe.exporter import read_exporter
from envcfg.nodes.probe.exporter_names import (
    Exporter,
    exporters,
    read_exporter_option,
)
from envcfg.nodes.probe.gpu import Gpu, read_gpus
from envcfg.nodes.probe.probes import WATCH
from envcfg.nodes.probe.sample import GpuSample

GIB = 1 << 30
TOOL = "printf '0, 12, 40960, 81920, 99.00, H100\\n1, 13, 40960, 81920, 99.00, H100\\n'"


def ask(tmp_path: Path, port: int, name: str = "dcgm-exporter") -> GpuSample:
    """Return the answer to one question, with a nvidia-smi next to the exporter."""
    write_tool(tmp_path, "nvidia-smi", TOOL)
    path = f"{tmp_path}:/usr/bin:/bin"
    words = Exporter(name, port).words()
    probe = Probe("/bin/bash", path, WATCH.script(), words)
    try:
        (gpus,) = [s for s in probe.ask("1 exporter") if isinstance(s, GpuSample)]
    finally:
        probe.stop()
    return gpus


def test_dcgm_exporter_is_read(tmp_path: Path) -> None:
    with serving(lambda: dcgm([97, 98], xid=79).encode()) as port:
        gpus = ask(tmp_path, port)
    assert (gpus.tool, gpus.problem, gpus.allotted) == ("dcgm-exporter", None, 2)
    assert gpus.gpus == tuple(
        Gpu(
            n,
            97.0 + n,
            40 * GIB,
            80 * GIB,
            512.345 + n,
            clock=1980.0,
            corrected=0,
            uncorrected=3 * n,
            xid=79,
        )
        for n in range(2)
    )


def test_exporters_of_amd_are_read(tmp_path: Path) -> None:
    with serving(lambda: amd([5, 96]).encode()) as port:
        gpus = ask(tmp_path, port, "amd-device-metrics-exporter")
    assert gpus.gpus[1] == Gpu(
        1, 96.0, 96 * GIB, 196592 << 20, 551.0, clock=2100.0, corrected=4, uncorrected=0
    )
    with serving(lambda: omnistat([3.0, 96.5]).encode()) as port:
        gpus = ask(tmp_path, port, "omnistat")
    assert gpus.gpus[1] == Gpu(1, 96.5, 34351349760, 68702699520, 410.0, clock=1700.0)


def slow() -> bytes:
    time.sleep(5)
    return b""


@pytest.mark.parametrize(
    "body",
    [
        slow,
        lambda: b"<html>login</html>",
        lambda: b"",
        lambda: b"DCGM_FI_DEV_GPU_UTIL{gpu=\0\xff\n" * 9,
        lambda: b"x" * (9 << 20),
    ],
    ids=["slow", "a page", "empty", "binary", "huge"],
)
def test_no_answer_leads_to_the_tool(tmp_path: Path, body: object) -> None:
    with serving(body) as port:  # type: ignore[arg-type]
        gpus = ask(tmp_path, port)
    assert (gpus.tool, [gpu.use for gpu in gpus.gpus]) == ("nvidia-smi", [12.0, 13.0])


def test_a_refusal_and_a_dead_port_lead_to_the_tool(tmp_path: Path) -> None:
    with serving(lambda: dcgm([97, 98]).encode(), status=403) as port:
        assert ask(tmp_path, port).tool == "nvidia-smi"
    assert ask(tmp_path, port).tool == "nvidia-smi"
    # It listens and never says anything.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        assert ask(tmp_path, silent.getsockname()[1]).tool == "nvidia-smi"
        assert time.monotonic() - began < 30


HOSTILE = {
    "another node": dcgm([97, 98], "nid009999"),
    "an escape": dcgm([97, 98], "nid001000\x1b[2J"),
    "no number": dcgm([97, 98]).replace('gpu="1"', 'gpu="one"'),
    "a huge number": dcgm([97, 98]).replace('gpu="1"', 'gpu="99999999"'),
    "a torn line": dcgm([97, 98]).replace('Hostname="nid001000",', 'Hostname="nid'),
    "a command": dcgm([97, "$(id)"]),
    "words": dcgm([97, "busy"]),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_answer_is_no_value(tmp_path: Path, body: str) -> None:
    with serving(body.encode) as port:
        gpus = ask(tmp_path, port)
    assert gpus.gpus == ()
    assert gpus.problem
    assert gpus.problem.isprintable()


@pytest.mark.parametrize("use", ["NaN", "9223372036854775794", "-3", "101", "+Inf"])
def test_a_value_that_cannot_be_is_unknown(use: str) -> None:
    lines = [line for line in dcgm([97, use]).splitlines() if not line.startswith("#")]
    wanted = [line for line in lines if "UTIL{" in line or "FB_USED" in line]
    gpus, problem = read_exporter(
        "dcgm-exporter", ["nid001000", *wanted, "envcfg-http 0"], "nid001000"
    )
    assert problem is None
    assert [gpu.use for gpu in gpus] == [97.0, None]


def test_parts_of_a_gpu_are_not_the_gpu() -> None:
    texts = [f'DCGM_FI_DEV_FB_USED{{gpu="0",GPU_I_ID="{n}"}} {n}' for n in range(2)]
    ((gpu,), _) = read_exporter("dcgm-exporter", ["n", *texts, "envcfg-http 0"], "n")
    assert gpu.memory_used is None


@pytest.mark.parametrize(
    "text", ["prometheus", "", "omnistat:", "omnistat:0", "omnistat:x y"]
)
def test_an_option_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        read_exporter_option(text)


def test_the_option_is_written_as_it_is_read() -> None:
    for name in exporters():
        exporter = read_exporter_option(name)
        assert read_exporter_option(write_exporter(exporter)) == exporter
    assert read_exporter_option("omnistat:18001").port == 18001


# What the watcher makes of it.


def exporter_lines(
    uses: Sequence[object], host: str, number: int, **more: int
) -> list[str]:
    texts = [
        line
        for line in dcgm(uses, host, **more).splitlines()
        if not line.startswith("#") and any(f"_{w}{{" in line for w in
            ("UTIL", "FREE", "USED", "USAGE", "SM_CLOCK", "ERRORS"))
    ]  # fmt: skip
    body = [host, *texts, "envcfg-http 0"]
    return gpu_lines(body, host, number, tool="dcgm-exporter")


class Both(Nodes):
    """Nodes with a tool and an exporter, each with uses of its own for two GPUs."""

    def __init__(self) -> None:
        super().__init__(lambda *_: ())
        self.has_exporter = True
        self.tool: Sequence[object] = (97, 98)
        self.exporter: Sequence[object] = (96, 97)
        self.is_frozen = False
        self.more: dict[str, int] = {}

    def ask(self, number: int, source: str = "") -> None:
        self.sources.append(source)
        for host in HOSTS:
            self.lines += node_lines(host, number, at=60.0 * number)
            if source:
                # Clocks of real GPUs change all the time.
                clock = 1980 if self.is_frozen else 1980 - number % 9
                self.lines += exporter_lines(
                    self.exporter, host, number, **{"clock": clock, **self.more}
                )
            else:
                rows = [
                    f"{n}, {use}, 40960, 81920, 500.00, H100"
                    for n, use in enumerate(self.tool)
                ]
                self.lines += gpu_lines(rows, host, number)


@pytest.fixture
def nodes_and_watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Both, Watched]]:
    clock, nodes = Clock(), Both()
    monkeypatch.setattr("envcfg.core.step_nodes.time", clock)
    return nodes, Watched(clock, nodes)


def test_the_tool_is_asked_at_times(nodes_and_watch: tuple[Both, Watched]) -> None:
    nodes, watch = nodes_and_watch
    lines = watch.run(1000)
    assert lines == ["all 4 GPUs busy, network fast"]
    assert [bool(source) for source in nodes.sources[:8]] == [
        False, True, False, True, True, False, True, True,
    ]  # fmt: skip


def test_idle_gpus_and_errors_of_the_exporter_are_named(
    nodes_and_watch: tuple[Both, Watched],
) -> None:
    nodes, watch = nodes_and_watch
    watch.run(400)
    nodes.more = {"xid": 79}
    lines = watch.run(300)
    assert [line for line in lines if "gpu-xid" in line] == [
        "warning: n1, n2: the driver reports an error of GPU 0: Xid 79  [gpu-xid]",
        "warning: n1, n2: the driver reports an error of GPU 1: Xid 79  [gpu-xid]",
    ]


def test_an_exporter_that_calls_idle_gpus_busy_is_left(
    nodes_and_watch: tuple[Both, Watched],
) -> None:
    nodes, watch = nodes_and_watch
    nodes.tool = (0, 0)
    lines = watch.run(1200)
    assert not [line for line in lines if "busy" in line]
    assert [line for line in lines if "gpu-idle" in line]
    assert not any(nodes.sources[3:])


@pytest.mark.parametrize("fault", ["frozen", "more GPUs", "other memory"])
def test_an_exporter_that_cannot_be_right_is_left(
    nodes_and_watch: tuple[Both, Watched], fault: str
) -> None:
    nodes, watch = nodes_and_watch
    if fault == "frozen":
        nodes.is_frozen = True
    elif fault == "more GPUs":
        nodes.exporter = (96, 97, 98)
    else:
        nodes.more = {"free": 1024}
    watch.run(1200)
    assert any(nodes.sources)
    assert not any(nodes.sources[-4:])


def test_without_a_tool_the_exporter_alone_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, nodes = Clock(), Both()
    monkeypatch.setattr("envcfg.core.step_nodes.time", clock)

    def ask(number: int, source: str = "") -> None:
        nodes.sources.append(source)
        for host in HOSTS:
            nodes.lines += node_lines(host, number, at=60.0 * number)
            nodes.lines += (
                exporter_lines((96, 97), host, number, clock=1900 + number)
                if source
                else gpu_lines([], host, number, tool="none")
            )

    monkeypatch.setattr(nodes, "ask", ask)
    lines = Watched(clock, nodes).run(700)
    assert lines == ["all 4 GPUs busy, network fast"]
    assert all(nodes.sources[1:])


def shown(tool: str, use: float, number: int = 1) -> GpuSample:
    return GpuSample("n1", number, tool, gpus=(Gpu(0, use, 5, 100),))


def test_one_low_sample_of_the_tool_does_not_stop_the_exporter() -> None:
    """A checkpoint may lie between the two questions."""
    check = ExporterCheck()
    for at, tool, use in ((0, "nvidia-smi", 95), (60, "dcgm-exporter", 96)):
        check.check(shown(tool, use), at)
    check.check(shown("nvidia-smi", 0), 120)
    assert (check.is_doubtful, check.is_wrong) == (True, False)
    check.check(shown("nvidia-smi", 95), 180)
    assert (check.is_doubtful, check.is_wrong) == (False, False)
    for at in (240, 300):
        check.check(shown("nvidia-smi", 0), at)
    assert check.is_wrong


def test_gpus_that_idle_by_tool_and_exporter_are_not_stale() -> None:
    check = ExporterCheck()
    check.check(shown("nvidia-smi", 0), 0)
    samples = [check.check(shown("dcgm-exporter", 0), 60 * n) for n in range(1, 9)]
    assert [sample.problem for sample in samples] == [None] * 8


def test_errors_of_amd_cards_are_sorted_by_number() -> None:
    numbers = (1, 17, 25, 9)  # as a shell sorts the names
    rows = [f"{number} 97 1000 9000 -" for number in numbers]
    rows += [f"ras {number} 0 {7 if number == 9 else 0}" for number in numbers]
    assert [gpu.uncorrected for gpu in read_gpus("amdgpu", rows, 0)[0]] == [0, 7, 0, 0]
