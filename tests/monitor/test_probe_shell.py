"""The probe itself, by every shell that a node may have, on this machine as it is.

Only the tools of GPUs are fakes here, and paths below /sys of hardware that is not there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from envcfg.nodes.probe.gpu import Gpu
from envcfg.nodes.probe.probes import MONITOR
from envcfg.nodes.probe.sample import (
    Counter,
    GpuSample,
    GpuWait,
    NodeSample,
    Sample,
    SampleReader,
)
from support import lint_shell, require

SHELLS = ("bash", "dash", "busybox sh")
BIN = ("cat", "sh")  # what a fake tool needs besides its shell's own


class Probe:
    """A probe that runs."""

    def __init__(self, shell: str, path: str, script: str) -> None:
        env = {"PATH": path, "SLURMD_NODENAME": "nid001000", "SLURM_STEP_GPUS": "0,1"}
        self.process = subprocess.Popen(
            [*shell.split(), "-c", script, "envcfg-monitor"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.reader = SampleReader()
        self.longest = 4096
        self._complaints = ""

    def ask(self, number: int, count: int = 2) -> list[Sample]:
        """Return the next *count* samples."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        found: list[Sample] = []
        while len(found) < count:
            line = self.process.stdout.readline()
            assert line, self.process.stderr and self.process.stderr.read()
            assert len(line) <= self.longest
            if sample := self.reader.feed(line):
                found.append(sample)
        return found

    def end(self) -> tuple[int, str]:
        """Close its input; return its exit code and what it has complained about."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=10)
        self.stop()
        return code, self._complaints

    def stop(self) -> None:
        """End it and the tool that it may have left, as Slurm does with a step."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.stderr and not self.process.stderr.closed:
            self._complaints = self.process.stderr.read()
        with suppress(BrokenPipeError):
            self.process.__exit__(None, None, None)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require(name.split(maxsplit=1)[0])
    found = subprocess.run(
        ["sh", "-c", f"command -v {name.split(maxsplit=1)[0]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return " ".join([found.stdout.strip(), *name.split()[1:]])


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """An own folder for PATH: without it there is no tool at all."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in (*BIN, "timeout", "sleep"):
        found = subprocess.run(
            ["sh", "-c", f"command -v {name}"],
            capture_output=True,
            text=True,
            check=True,
        )
        (folder / name).symlink_to(found.stdout.strip())
    return folder


@pytest.fixture
def probes(shell: str, tools: Path) -> Iterator[list[Probe]]:
    """Where each test leaves its probes, to be ended."""
    assert shell
    assert tools
    started: list[Probe] = []
    yield started
    for probe in started:
        probe.stop()


def write_tool(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def start(
    probes: list[Probe], shell: str, tools: Path, script: str | None = None
) -> Probe:
    probe = Probe(shell, str(tools), script or MONITOR.script())
    probes.append(probe)
    return probe


def both(samples: list[Sample]) -> tuple[NodeSample, GpuSample]:
    (node,) = [each for each in samples if isinstance(each, NodeSample)]
    (gpus,) = [each for each in samples if isinstance(each, GpuSample)]
    return node, gpus


def test_the_probe_is_clean_posix_shell() -> None:
    assert lint_shell(MONITOR.script().encode(), "sh") == ""


def test_this_machine_is_read(probes: list[Probe], shell: str, tools: Path) -> None:
    probe = start(probes, shell, tools)
    first, gpus = both(probe.ask(1))
    assert first.host == "nid001000"
    assert first.is_whole
    assert first.cores == os.cpu_count()
    assert first.load is not None
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert first.memory_total == pytest.approx(total, rel=0.02)
    assert 0 < (first.memory_used or 0) < (first.memory_total or 0)
    names = {each.name for each in first.counters if not each.is_adapter}
    assert names == set(os.listdir("/sys/class/net")) - {"bonding_masters"}
    assert gpus.tool in ("none", "amdgpu")
    assert gpus.allotted == 2
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    second, _ = both(probe.ask(2))
    assert second.number == 2
    assert second.time >= first.time + 0.2
    assert (second.busy or 0) > (first.busy or 0)
    assert (second.spent or 0) > (first.spent or 0)
    assert probe.end() == (0, "")


def test_counters_are_those_of_the_kernel(
    probes: list[Probe], shell: str, tools: Path
) -> None:
    node, _ = both(start(probes, shell, tools).ask(1))
    counted = {each.name: each for each in node.counters}
    statistics = Path("/sys/class/net/lo/statistics")
    later = int((statistics / "rx_bytes").read_text())
    assert 0 <= later - counted["lo"].received < 1e8
    assert counted["lo"].received == counted["lo"].sent  # what leaves, comes


def test_nothing_but_numbers_is_answered(
    probes: list[Probe], shell: str, tools: Path
) -> None:
    probe = start(probes, shell, tools)
    assert probe.process.stdin is not None
    probe.process.stdin.write("\n; touch canary\n$(touch canary)\n-1\n1x\n")
    node, _ = both(probe.ask(7))
    assert node.number == 7
    assert probe.end() == (0, "")


def test_it_ends_with_its_input_at_once(
    probes: list[Probe], shell: str, tools: Path
) -> None:
    write_tool(tools, "nvidia-smi", "sleep 600")
    probe = start(probes, shell, tools)
    probe.ask(1, 1)
    assert probe.end() == (0, "")


NVIDIA = """\
case "$*" in
*--query-gpu=index,utilization.gpu,memory.used,memory.total,power.draw,name*) ;;
*) exit 2 ;;
esac
printf '0, 97, 1024, 81559, 512.34, NVIDIA H100 80GB HBM3\\n'
printf '1, [N/A], [N/A], 81559, [Unknown Error], NVIDIA H100 80GB HBM3\\n'"""


def test_nvidia_smi_is_asked(probes: list[Probe], shell: str, tools: Path) -> None:
    write_tool(tools, "nvidia-smi", NVIDIA)
    write_tool(tools, "rocm-smi", "echo '{}'")
    _, gpus = both(start(probes, shell, tools).ask(1))
    assert (gpus.tool, gpus.status, gpus.problem) == ("nvidia-smi", 0, None)
    assert [(gpu.use, gpu.power) for gpu in gpus.gpus] == [(97.0, 512.34), (None, None)]


@pytest.mark.parametrize("name", ["clocks_event_reasons", "clocks_throttle_reasons"])
def test_clock_and_errors_come_by_the_names_that_the_driver_has(
    probes: list[Probe], shell: str, tools: Path, name: str
) -> None:
    write_tool(
        tools,
        "nvidia-smi",
        f"""case "$*" in
*{name}.active,name*) printf '0, 97, 1024, 81559, 512.34, 700.00, 1980, 5, 1, 0x04, A, B\\n' ;;
*) echo 'Field "x" is not a valid field to query: error'; exit 2 ;;
esac""",
    )
    _, gpus = both(start(probes, shell, tools).ask(1))
    assert (gpus.status, gpus.problem) == (0, None)
    assert gpus.gpus == (
        Gpu(
            0,
            97.0,
            1024 << 20,
            81559 << 20,
            512.34,
            "A, B",
            True,
            1980.0,
            4,
            5,
            1,
        ),
    )


def test_errors_of_amd_come_from_the_driver(
    probes: list[Probe], shell: str, tools: Path, tmp_path: Path
) -> None:
    for card, counts in {"card1": "ue: 2\nce: 7\n", "card2": "ue: 0\nce: 0\n"}.items():
        path = tmp_path / "sys/class/drm" / card / "device/ras/umc_err_count"
        path.parent.mkdir(parents=True)
        path.write_text(counts)
    cards = ", ".join(
        f'"card{n}": {{"GPU use (%)": "9", "sclk clock speed:": "(1700Mhz)"}}'
        for n in range(2)
    )
    write_tool(tools, "rocm-smi", f"printf '%s' '{{{cards}}}'")
    script = MONITOR.script().replace("/sys/class/", f"{tmp_path}/sys/class/")
    _, gpus = both(start(probes, shell, tools, script).ask(1))
    assert gpus.problem is None
    values = [(gpu.clock, gpu.corrected, gpu.uncorrected) for gpu in gpus.gpus]
    assert values == [(1700.0, 7, 2), (1700.0, 0, 0)]


def test_rocm_smi_is_asked_and_long_lines_come_whole(
    probes: list[Probe], shell: str, tools: Path
) -> None:
    cards = ", ".join(
        f'"card{n}": {{"GPU use (%)": "{n}", "x": "{"y" * 300}"}}' for n in range(32)
    )
    (tools / "answer").write_text(f"{{{cards}}}\n")
    write_tool(tools, "rocm-smi", f"cat {tools}/answer")
    probe = start(probes, shell, tools)
    probe.longest = 900  # longer ones srun tears when several nodes write at once
    _, gpus = both(probe.ask(1))
    assert [gpu.use for gpu in gpus.gpus] == [float(n) for n in range(32)]


def test_xpu_smi_is_asked(probes: list[Probe], shell: str, tools: Path) -> None:
    rows = "Timestamp, DeviceId, GPU Power (W)\\n06:14:46.000,    0, 14.61\\n"
    write_tool(tools, "xpu-smi", f"[ \"$2\" = -d ] && printf '{rows}'")
    _, gpus = both(start(probes, shell, tools).ask(1))
    assert (gpus.tool, [gpu.power for gpu in gpus.gpus]) == ("xpu-smi", [14.61])


def test_amd_smi_is_asked_where_there_is_no_rocm_smi(
    probes: list[Probe], shell: str, tools: Path
) -> None:
    answer = '[{"gpu": 0, "usage": {"gfx_activity": {"value": 5, "unit": "%"}}}]'
    write_tool(tools, "amd-smi", f"printf '%s' '{answer}'")  # no newline at its end
    _, gpus = both(start(probes, shell, tools).ask(1))
    assert (gpus.tool, [gpu.use for gpu in gpus.gpus]) == ("amd-smi", [5.0])


@pytest.mark.parametrize("code", [0, 6, 137])
def test_a_tool_that_fails_is_said(
    probes: list[Probe], shell: str, tools: Path, code: int
) -> None:
    write_tool(tools, "nvidia-smi", f"echo 'No devices were found' >&2; exit {code}")
    node, gpus = both(start(probes, shell, tools).ask(1))
    assert node.is_whole
    assert (gpus.status, gpus.gpus) == (code, ())
    assert gpus.problem


def test_a_tool_that_hangs_holds_up_nothing_else(
    probes: list[Probe], shell: str, tools: Path
) -> None:
    write_tool(
        tools,
        "nvidia-smi",
        f"[ -e {tools}/go ] || {{ : >{tools}/hung; sleep 3; }}\n{NVIDIA}",
    )
    probe = start(probes, shell, tools)
    (node,) = probe.ask(1, 1)
    assert isinstance(node, NodeSample)
    waits, second = probe.ask(2)
    assert (waits, second.number) == (GpuWait("nid001000", 2), 2)
    (tools / "go").touch()
    late, *_ = [each for each in probe.ask(3, 3) if isinstance(each, GpuSample)]
    assert late.number == 1
    for number in range(4, 50):  # it is asked again, once it is gone
        again = [each for each in probe.ask(number) if isinstance(each, GpuSample)]
        if again:
            break
    assert [(each.number, len(each.gpus)) for each in again] == [(number, 2)]


def test_adapters_are_counted(
    probes: list[Probe], shell: str, tools: Path, tmp_path: Path
) -> None:
    made = {
        "infiniband/mlx5_0/ports/1/counters/port_rcv_data": "1000\n",
        "infiniband/mlx5_0/ports/1/counters/port_xmit_data": "2000\n",
        "infiniband/mlx5_0/device/net/ib0/mtu": "4092\n",
        "infiniband/mlx5_1/ports/1/counters/port_rcv_data": "N/A (no PMA)\n",
        "infiniband/mlx5_1/ports/1/counters/port_xmit_data": "N/A (no PMA)\n",
        "cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets": "77@1700000000.123\n",
        "cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets": "88@1700000000.123\n",
        "cxi/cxi0/device/net/hsn0/mtu": "9000\n",
    }
    for name, text in made.items():
        path = tmp_path / "sys" / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    script = MONITOR.script().replace("/sys/class/", f"{tmp_path}/sys/class/")
    node, _ = both(start(probes, shell, tools, script).ask(1))
    assert [each for each in node.counters if each.is_adapter] == [
        Counter("mlx5_0", 4000, 8000, "ib0", is_adapter=True),
        Counter("cxi0", 77, 88, "hsn0", is_adapter=True),
    ]
    assert node.is_whole


def test_without_any_tool_the_driver_is_read(
    probes: list[Probe], shell: str, tools: Path, tmp_path: Path
) -> None:
    made = {
        "card0/device/vendor": "0x1a03\n",  # shows a picture only
        "card1/device/gpu_busy_percent": "42\n",
        "card1/device/mem_info_vram_used": "1048576\n",
        "card1/device/mem_info_vram_total": "68702699520\n",
        "card1/device/hwmon/hwmon3/power1_average": "301000000\n",
        "card2/device/gpu_busy_percent": "0\n",
    }
    for name, text in made.items():
        path = tmp_path / "sys/class/drm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    script = MONITOR.script().replace("/sys/class/", f"{tmp_path}/sys/class/")
    _, gpus = both(start(probes, shell, tools, script).ask(1))
    assert (gpus.tool, gpus.problem) == ("amdgpu", None)
    first, second = gpus.gpus
    assert (first.number, first.use, first.power) == (0, 42.0, 301.0)
    assert (first.memory_used, first.memory_total) == (1048576, 68702699520)
    assert (second.use, second.memory_used, second.power) == (0.0, None, None)
