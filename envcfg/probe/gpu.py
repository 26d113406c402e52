"""What the tools of GPUs print, read into :class:`Gpu`.

Formats: nvidia-smi's CSV without header and units (its manual, 331 to 610; words such as
``[N/A]`` in place of numbers); rocm-smi's JSON of ROCm 5 to 7 (ROCm/rocm_smi_lib,
rocm_smi.py: "Average Graphics Package Power", since ROCm 6 also "Current Socket Graphics
Package Power"; a second die has no power of its own); amd-smi's JSON of ROCm 6 and 7 (a
list, or a list in ``gpu_data``).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from envcfg.characters import whole_number

KIB = 1024
MIB = 1024 * 1024
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?")
# What is said of a GPU that cannot be asked.
_PROBLEM = re.compile(
    r"unable|fail|error|no devices|no gpu|not initialized|not found|lost|killed|denied",
    re.IGNORECASE,
)
_DATA = re.compile(r'[{}\[\]"]|\d+, ')  # a row of CSV, or JSON
_LONGEST = 160  # characters of a problem that are kept


class Gpu(NamedTuple):
    """A GPU; *use* in percent, memory in bytes, *power* in watts.

    Attributes:
        number: as the tool counts them, from 0.
        is_ours: False where the tool shows it and the job does not have it.
    """

    number: int
    use: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    name: str | None = None
    is_ours: bool = True


Answer = tuple[tuple[Gpu, ...], str | None]


def read_gpus(tool: str, lines: Sequence[str], status: int | None) -> Answer:
    """Return the GPUs that *tool* names in *lines*, and what it says is wrong.

    A tool that is none of ``TOOLS`` names no GPU; *status* is its exit code.
    """
    read = TOOLS.get(tool)
    gpus = read(lines) if read else ()
    if status == 137:  # it was ended by force, and may have said nothing
        return gpus, f"{tool} did not answer within 20 s"
    said = [line.strip() for line in lines if line.strip()]
    told = (line for line in said if not _DATA.match(line))
    found = next(filter(_PROBLEM.search, told), None)
    if found is None and (status or (read and not gpus)):
        found = said[0] if said and not gpus else f"{tool} ended with code {status}"
    return gpus, found[:_LONGEST] if found else None


def mark_ours(gpus: Sequence[Gpu], ours: Sequence[int]) -> tuple[Gpu, ...]:
    """Return *gpus* with those marked that the job does not have.

    A tool that shows no more than the job has shows the job's: it counts them from 0,
    whatever the scheduler's numbers are.
    """
    if not ours or len(gpus) <= len(ours):
        return tuple(gpus)
    return tuple(gpu._replace(is_ours=gpu.number in ours) for gpu in gpus)


def _gpu(number: int, *values: object, unit: int = 1) -> Gpu:
    """Return a GPU by its use, memory used and there (in *unit* bytes) and power."""
    use, used, total, power = map(_number, values)
    own, all_ = (each if each is None else int(each * unit) for each in (used, total))
    return Gpu(number, use, own, all_, power)


def _nvidia(lines: Sequence[str]) -> tuple[Gpu, ...]:
    found = []
    for line in lines:
        index, *values = (value.strip() for value in line.split(",", 5))
        number = whole_number(index)
        if number is not None and len(values) == 5:
            gpu = _gpu(number, *values[:4], unit=MIB)
            found.append(gpu._replace(name=values[4] or None))
    return tuple(found)


_ROCM = ("GPU use (%)", "VRAM Total Used Memory (B)", "VRAM Total Memory (B)")


def _rocm(lines: Sequence[str]) -> tuple[Gpu, ...]:
    document = _json(lines)
    found = []
    for card, values in document.items() if isinstance(document, dict) else ():
        number = re.fullmatch(r"card([0-9]{1,9})", card)
        if number and isinstance(values, dict):
            powers = (
                value
                for name, value in values.items()
                if name.endswith("Graphics Package Power (W)")
                and not name.startswith("Max")
                and _number(value) is not None
            )
            told = map(values.get, _ROCM)
            found.append(_gpu(int(number[1]), *told, next(powers, None)))
    return tuple(sorted(found, key=lambda each: each.number))


_AMD = (
    ("usage", "gfx_activity"),
    ("mem_usage", "used_vram"),
    ("mem_usage", "total_vram"),
    ("power", "socket_power"),
)


def _amd(lines: Sequence[str]) -> tuple[Gpu, ...]:
    document = _json(lines)
    if isinstance(document, dict):
        document = document.get("gpu_data")
    return tuple(
        _gpu(each["gpu"], *(_quantity(each, *names) for names in _AMD), unit=MIB)
        for each in (document if isinstance(document, list) else ())
        if isinstance(each, dict) and isinstance(each.get("gpu"), int)
    )


def _quantity(gpu: Mapping[str, object], block: str, name: str) -> object:
    values = gpu.get(block)
    value = values.get(name) if isinstance(values, dict) else None
    return value.get("value") if isinstance(value, dict) else value


def _driver(lines: Sequence[str]) -> tuple[Gpu, ...]:
    """Read lines of CARD USE USED TOTAL POWER: percent, bytes, bytes, microwatts.

    Cards have any numbers, for a card that only shows a picture has one too.
    """
    rows = [row for row in map(str.split, lines) if len(row) == 5]
    rows = [row for row in rows if whole_number(row[0]) is not None]
    rows.sort(key=lambda row: int(row[0]))
    gpus = [_gpu(index, *values) for index, (_, *values) in enumerate(rows)]
    return tuple(each._replace(power=each.power and each.power / 1e6) for each in gpus)


def _json(lines: Sequence[str]) -> object:
    """Return the document that begins with the first brace; what stands before is said."""
    import json

    text = "\n".join(lines)
    start = re.search(r"^\s*[{\[]", text, re.MULTILINE)
    if start is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(text[start.end() - 1 :])[0]
    except (ValueError, RecursionError):
        return None


def _number(value: object) -> float | None:
    """Return a number, or None for ``[N/A]``, ``ERR!`` and all else."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip()
    return float(text) if _NUMBER.fullmatch(text) else None


TOOLS: Mapping[str, Callable[[Sequence[str]], tuple[Gpu, ...]]] = {
    "nvidia-smi": _nvidia,
    "rocm-smi": _rocm,
    "amd-smi": _amd,
    "amdgpu": _driver,
}
