"""The output of GPU tools, parsed into :class:`Gpu`.

Formats: nvidia-smi's CSV without header and units (its manual, 331 to 610; words such as
``[N/A]`` in place of numbers; the reasons for a low clock are a mask of NVML); rocm-smi's
JSON of ROCm 5 to 7 (ROCm/rocm_smi_lib, rocm_smi.py: "Average Graphics Package Power",
since ROCm 6 also "Current Socket Graphics Package Power"; a second die has no power of
its own; clocks as ``(800Mhz)``); amd-smi's JSON of ROCm 6 and 7 (a list, or a list in
``gpu_data``); xpu-smi's CSV (intel/xpumanager, dump). The counters of AMD's memory errors
are those of the driver.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from envcfg.common.characters import whole_number
from envcfg.common.foreign_data import mapping, mappings, read_json

KIB = 1024
MIB = 1024 * 1024
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?")
# Words in the messages about a GPU that does not answer.
_PROBLEM = re.compile(
    r"unable|fail|error|no devices|no gpu|not initialized|not found|lost|killed|denied",
    re.IGNORECASE,
)
_DATA = re.compile(r'[{}\[\]"]|\d+, ')  # a row of CSV, or JSON
HARDWARE_SLOWDOWN = 0x8  # a bit of NVML's mask
_LONGEST = 160  # characters of a problem to keep


class Gpu(NamedTuple):
    """A GPU; *use* in percent, memory in bytes, *power* in watts, *clock* in MHz."""

    number: int  # of the tool, from 0
    use: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    name: str | None = None
    is_ours: bool = True  # False: the tool lists it, and the job does not have it
    clock: float | None = None
    throttle: int | None = None  # NVML's mask of the reasons for a low clock
    # Errors of its memory since the driver was loaded; on a board, since the first sample.
    corrected: int | None = None
    uncorrected: int | None = None
    is_idle: bool = False  # used below the limit in this sample and the one before


Answer = tuple[tuple[Gpu, ...], str | None]


def read_gpus(tool: str, lines: Sequence[str], status: int | None) -> Answer:
    """Return the GPUs that *tool* lists in *lines*, and the errors it reports.

    A tool outside ``TOOLS`` lists no GPU; *status* is its exit code.
    """
    parser = TOOLS.get(tool)
    gpus = _with_errors(parser(lines), lines) if parser else ()
    if status == 137:  # killed by the probe's time limit, perhaps without any output
        return gpus, f"{tool} did not answer within 20 s"
    messages = [line.strip() for line in lines if line.strip()]
    # Names of GPUs in data rows may contain words of an error.
    remarks = (line for line in messages if not _DATA.match(line))
    problem = next(filter(_PROBLEM.search, remarks), None)
    # An empty list with exit code 0 is a failure too.
    if problem is None and (status or (parser and not gpus)):
        problem = (
            messages[0] if messages and not gpus else f"{tool} ended with code {status}"
        )
    return gpus, problem[:_LONGEST] if problem else None


def mark_ours(gpus: Sequence[Gpu], ours: Sequence[int]) -> tuple[Gpu, ...]:
    """Return *gpus*, with *is_ours* False for those that the job does not have.

    A tool that lists no more GPUs than the job has lists the job's GPUs: it counts them
    from 0, independent of the scheduler's numbers.
    """
    if not ours or len(gpus) <= len(ours):
        return tuple(gpus)
    return tuple(gpu._replace(is_ours=gpu.number in ours) for gpu in gpus)


def _gpu(number: int, *values: object, unit: int = 1) -> Gpu:
    """Return a GPU by its use, used and total memory (in *unit* bytes), and power."""
    use, used, total, power = map(_number, values)
    own, all_ = (
        number if number is None else int(number * unit) for number in (used, total)
    )
    return Gpu(number, use, own, all_, power)


def _nvidia(lines: Sequence[str]) -> tuple[Gpu, ...]:
    gpus = []
    for line in lines:
        # The name comes last, because it may contain commas.
        index, *values = (value.strip() for value in line.split(",", 10))
        number = whole_number(index)
        if number is None or len(values) < 5:
            continue
        gpu = _gpu(number, *values[:4], unit=MIB)
        # A driver that does not know the other fields prints these alone.
        if len(values) == 10:
            gpu = gpu._replace(
                clock=_number(values[5]),
                corrected=whole_number(values[6]),
                uncorrected=whole_number(values[7]),
                throttle=_mask(values[8]),
                name=values[9] or None,
            )
        else:
            gpu = gpu._replace(name=", ".join(values[4:]) or None)
        gpus.append(gpu)
    return tuple(gpus)


def _mask(text: str) -> int | None:
    return int(text, 16) if re.fullmatch("0x[0-9a-fA-F]{1,16}", text) else None


_POWER = re.compile(r"(?!Max).*Graphics Package Power \(W\)", re.DOTALL)
_CLOCK = re.compile(r"\(?([0-9]{1,6})[Mm][Hh]z\)?")
_ROCM = ("GPU use (%)", "VRAM Total Used Memory (B)", "VRAM Total Memory (B)")


def _rocm(lines: Sequence[str]) -> tuple[Gpu, ...]:
    gpus = []
    for card, values in mapping(_json(lines)).items():
        number = re.fullmatch(r"card([0-9]{1,9})", card)
        if number and isinstance(values, dict):
            powers = (v for n, v in values.items() if _POWER.fullmatch(n))
            # Releases name the power differently, and the maximum is not a measurement.
            power = next((v for v in powers if _number(v) is not None), None)
            gpu = _gpu(int(number[1]), *map(values.get, _ROCM), power)
            clock = _CLOCK.fullmatch(str(values.get("sclk clock speed:")))
            gpus.append(gpu._replace(clock=_number(clock and clock[1])))
    return tuple(sorted(gpus, key=lambda gpu: gpu.number))


_AMD = "usage.gfx_activity mem_usage.used_vram mem_usage.total_vram power.socket_power"
_AMD_CLOCK = "clock.gfx_0.clk"
_AMD_ERRORS = ("ecc.total_correctable_count", "ecc.total_uncorrectable_count")


def _amd(lines: Sequence[str]) -> tuple[Gpu, ...]:
    document = _json(lines)
    if isinstance(document, dict):
        # Some releases wrap the list in an object.
        document = document.get("gpu_data")
    gpus = []
    for element in mappings(document):
        if isinstance(element.get("gpu"), int):
            values = (_quantity(element, name) for name in _AMD.split())
            errors = [whole_number(str(_quantity(element, n))) for n in _AMD_ERRORS]
            gpus.append(
                _gpu(element["gpu"], *values, unit=MIB)._replace(
                    clock=_number(_quantity(element, _AMD_CLOCK)),
                    corrected=errors[0],
                    uncorrected=errors[1],
                )
            )
    return tuple(gpus)


def _quantity(gpu: Mapping[str, object], path: str) -> object:
    value: object = gpu
    for name in path.split("."):
        value = mapping(value).get(name)
    return value.get("value") if isinstance(value, dict) else value


_XPU = ("GPU Utilization (%)", "GPU Memory Used (MiB)", "", "GPU Power (W)")


def _intel(lines: Sequence[str]) -> tuple[Gpu, ...]:
    """Parse CSV with a header: the columns of a release, in its order."""
    gpus: dict[int, Gpu] = {}
    header: list[str] = []
    for line in lines:
        words = [word.strip() for word in line.split(",")]
        row = dict(zip(header, words, strict=False))
        number = whole_number(row.get("DeviceId"))
        if "DeviceId" in words:
            header = words
        elif number is not None and len(words) == len(header):
            gpu = _gpu(number, *map(row.get, _XPU), unit=MIB)
            gpus[number] = gpu._replace(clock=_number(row.get("GPU Frequency (MHz)")))
    return tuple(gpus[number] for number in sorted(gpus))


def _driver(lines: Sequence[str]) -> tuple[Gpu, ...]:
    """Parse lines of CARD USE USED TOTAL POWER: percent, bytes, bytes, microwatts.

    Card numbers have gaps, because a card for the display has a number too.
    """
    rows = [row for row in map(str.split, lines) if len(row) == 5]
    rows = [row for row in rows if whole_number(row[0]) is not None]
    rows.sort(key=lambda row: int(row[0]))
    gpus = [_gpu(index, *values) for index, (_, *values) in enumerate(rows)]
    return tuple(gpu._replace(power=gpu.power and gpu.power / 1e6) for gpu in gpus)


def _with_errors(gpus: tuple[Gpu, ...], lines: Sequence[str]) -> tuple[Gpu, ...]:
    """Return *gpus* with the driver's counters, ``ras CARD CORRECTED UNCORRECTED``."""
    # The shell sorts card9 after card17, and numbers of cards have gaps.
    rows = [
        row
        for _, row in sorted(
            (int(row[1]), row[2:])
            for row in map(str.split, lines)
            if len(row) == 4 and row[0] == "ras" and whole_number(row[1]) is not None
        )
    ]
    if len(rows) != len(gpus):  # the tool shows other cards than the driver
        return gpus
    return tuple(
        gpu._replace(corrected=whole_number(row[0]), uncorrected=whole_number(row[1]))
        for gpu, row in zip(gpus, rows, strict=True)
    )


def _json(lines: Sequence[str]) -> object:
    """Return the document from the first brace on; text before it is a message."""
    text = "\n".join(lines)
    start = re.search(r"^\s*[{\[]", text, re.MULTILINE)
    if start is None:
        return None
    try:
        return read_json(text[start.end() - 1 :], is_whole=False)
    except ValueError:
        return None


def _number(value: object) -> float | None:
    """Return a number, or None for ``[N/A]``, ``ERR!`` and other words."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip()
    return float(text) if _NUMBER.fullmatch(text) else None


TOOLS: Mapping[str, Callable[[Sequence[str]], tuple[Gpu, ...]]] = {
    "nvidia-smi": _nvidia,
    "rocm-smi": _rocm,
    "amd-smi": _amd,
    "amdgpu": _driver,
    "xpu-smi": _intel,
}
