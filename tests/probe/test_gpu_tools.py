"""What the tools of GPUs print becomes numbers; what is not a number is unknown, never 0."""

from __future__ import annotations

import json

import pytest

from envcfg.nodes.probe.gpu import Gpu, mark_ours, read_gpus

GIB = 1024**3
A100 = "0, 98, 30123, 40960, 351.22, NVIDIA A100-SXM4-40GB"


def one(tool: str, *lines: str, status: int = 0) -> Gpu:
    gpus, problem = read_gpus(tool, lines, status)
    assert problem is None
    (gpu,) = gpus
    return gpu


def rocm(**card: object) -> str:
    return json.dumps({"card0": card, "system": {"Driver version": "6.3.6"}})


def test_xpu_smi_is_read_by_the_names_of_its_columns() -> None:
    header = (
        "Timestamp, DeviceId, GPU Utilization (%), GPU Power (W), GPU Frequency (MHz), "
        "GPU Memory Used (MiB)"
    )
    row = "23:48:25.043,    0, {}, 280.50, 1600.00, 1024.00"
    used = one("xpu-smi", header, row.format("88.25"))
    assert used == Gpu(0, 88.25, GIB, power=280.5, clock=1600.0)
    # On Aurora, users do not see the use.
    assert one("xpu-smi", header, row.format(" N/A")).use is None
    assert read_gpus("xpu-smi", ["Error: Failed to init"], 1) == (
        (),
        "Error: Failed to init",
    )


def test_nvidia_smi_is_read() -> None:
    assert one("nvidia-smi", A100, "") == Gpu(
        0, 98.0, 30123 * 1024**2, 40 * GIB, 351.22, "NVIDIA A100-SXM4-40GB"
    )


@pytest.mark.parametrize(
    "word",
    ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "[GPU is lost]", "ERR!", "[Insufficient Permissions]", "", "-1"],
)  # fmt: skip
@pytest.mark.parametrize("field", range(4))
def test_a_word_of_nvidia_smi_is_unknown_and_the_rest_stays(
    word: str, field: int
) -> None:
    values = ["98", "30123", "40960", "351.22"]
    values[field] = word
    gpu = one("nvidia-smi", f"0, {', '.join(values)}, NVIDIA H100")
    known = [gpu.use, gpu.memory_used, gpu.memory_total, gpu.power]
    assert [number is None for number in known] == [at == field for at in range(4)]


def test_a_name_may_hold_a_comma() -> None:
    assert one("nvidia-smi", "3, 1, 2, 3, 4.5, GRID A, B").name == "GRID A, B"


NVIDIA_PROBLEMS = {
    "none": (["No devices were found"], 6, 0),
    "driver": (["NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.", ""], 9, 0),
    "library": (["Failed to initialize NVML: Driver/library version mismatch"], 18, 0),
    "one is lost": ([A100, "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error"], 255, 1),
    "one is lost, said first": (["Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error", A100], 0, 1),
    "silence": ([], 1, 0),
    "silence, and no error": ([], 0, 0),
    "cut": (["0, 98, 301"], 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", NVIDIA_PROBLEMS)
def test_what_nvidia_smi_says_instead_is_kept(name: str) -> None:
    lines, status, count = NVIDIA_PROBLEMS[name]
    gpus, problem = read_gpus("nvidia-smi", lines, status)
    assert len(gpus) == count
    assert problem
    said = [line for line in lines if line and line != A100]
    assert not said or said[0].startswith(problem)


@pytest.mark.parametrize(
    ("lines", "status", "problem"),
    [
        ([], 1, "nvidia-smi ended with code 1"),
        ([], 0, "nvidia-smi ended with code 0"),
        ([A100], 3, "nvidia-smi ended with code 3"),
        ([A100, "all is well"], 0, None),
        (["", "nothing here"], 0, "nothing here"),
        (["the first line", "and more"], 1, "the first line"),
        ([A100, "0, failed"], 0, None),  # a row of data, whatever it holds
        ([A100, "Failed " + "x" * 200], 0, "Failed " + "x" * 153),
    ],
)
def test_what_nvidia_smi_leaves_unsaid_is_its_code(
    lines: list[str], status: int, problem: str | None
) -> None:
    assert read_gpus("nvidia-smi", lines, status)[1] == problem


@pytest.mark.parametrize(
    "power",
    [
        {"Average Graphics Package Power (W)": "412.0"},
        {"Current Socket Graphics Package Power (W)": 412},
        {"Max Graphics Package Power (W)": "560", "Average Graphics Package Power (W)": "412.0"},
    ],
)  # fmt: skip
def test_rocm_smi_is_read(power: dict[str, object]) -> None:
    memory = {
        "VRAM Total Memory (B)": str(64 * GIB),
        "VRAM Total Used Memory (B)": str(GIB),
    }
    gpu = one("rocm-smi", rocm(**{"GPU use (%)": "97"}, **memory, **power))
    assert gpu == Gpu(0, 97.0, GIB, 64 * GIB, 412.0)


def test_a_second_die_has_no_power_of_its_own() -> None:
    text = rocm(
        **{
            "GPU use (%)": "0",
            "Average Graphics Package Power (W)": "N/A (Secondary die)",
        }
    )
    gpu = one("rocm-smi", text)
    assert (gpu.use, gpu.power) == (0.0, None)


def test_rocm_smi_counts_cards_as_numbers_and_may_warn_first() -> None:
    cards = {f"card{n}": {"GPU use (%)": str(n)} for n in (10, 2, 0)}
    warning = (
        "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control"
    )
    gpus, problem = read_gpus("rocm-smi", [warning, "", json.dumps(cards)], 0)
    assert [(gpu.number, gpu.use) for gpu in gpus] == [(0, 0.0), (2, 2.0), (10, 10.0)]
    assert problem is None


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["ERROR:root:Driver not initialized (amdgpu not found in modules)"], 0),
        (["Traceback (most recent call last):", "ModuleNotFoundError: rocm"], 1),
        (['{"card0": {"GPU use (%)": "9'], 0),
        (["{" * 100_000], 0),
        (["[1, 2]"], 0),
        (["{}"], 0),
        ([], 2),
    ],
)
def test_what_rocm_smi_says_instead_is_a_problem(lines: list[str], status: int) -> None:
    gpus, problem = read_gpus("rocm-smi", lines, status)
    assert gpus == ()
    assert problem
    assert len(problem) <= 160


AMD_GPU = {
    "gpu": 1,
    "usage": {"gfx_activity": {"value": 88, "unit": "%"}, "umc_activity": "N/A"},
    "power": {"socket_power": {"value": 550, "unit": "W"}},
    "mem_usage": {
        "total_vram": {"value": 196592, "unit": "MB"},
        "used_vram": {"value": 285, "unit": "MB"},
    },
}


@pytest.mark.parametrize("document", [[AMD_GPU], {"gpu_data": [AMD_GPU]}])
def test_amd_smi_is_read(document: object) -> None:
    gpu = one("amd-smi", *json.dumps(document, indent=4).splitlines())
    assert gpu == Gpu(1, 88.0, 285 * 1024**2, 196592 * 1024**2, 550.0)


def test_amd_smi_may_not_know() -> None:
    text = json.dumps(
        [{"gpu": 0, "usage": "N/A", "power": {"socket_power": "N/A"}, "mem_usage": {}}]
    )
    assert one("amd-smi", text) == Gpu(0)


@pytest.mark.parametrize(
    "document",
    [{}, {"gpu_data": None}, {"gpu_data": 3}, 3, ["gpu"], [{}], [{"gpu": "0"}]],
)
def test_what_of_amd_smi_is_no_gpu_is_none(document: object) -> None:
    gpus, problem = read_gpus("amd-smi", [json.dumps(document)], 0)
    assert gpus == ()
    assert problem


def test_the_driver_is_read_in_the_order_of_its_cards() -> None:
    lines = ["10 5 1 2 90000000", "2 - - - -", "x", "3 1 2"]
    gpus, problem = read_gpus("amdgpu", lines, 0)
    assert gpus == (Gpu(0), Gpu(1, 5.0, 1, 2, 90.0))
    assert problem is None


def test_a_tool_that_was_ended_by_force_has_not_answered() -> None:
    assert (
        read_gpus("nvidia-smi", [], 137)[1] == "nvidia-smi did not answer within 20 s"
    )


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([], [0, 1, 2, 3]),
        ([2, 3], [2, 3]),
        ([4, 5, 6, 7], [0, 1, 2, 3]),  # hidden are the others: counted from 0
    ],
)
def test_gpus_of_other_jobs_are_told_apart(
    ours: list[int], expected: list[int]
) -> None:
    marked = mark_ours([Gpu(number) for number in range(4)], ours)
    assert [gpu.number for gpu in marked if gpu.is_ours] == expected


def test_errors_of_amd_cards_are_sorted_by_number() -> None:
    numbers = (1, 17, 25, 9)  # as a shell sorts the names
    rows = [f"{number} 97 1000 9000 -" for number in numbers]
    rows += [f"ras {number} 0 {7 if number == 9 else 0}" for number in numbers]
    assert [gpu.uncorrected for gpu in read_gpus("amdgpu", rows, 0)[0]] == [0, 7, 0, 0]
