"""Numbers of GPUs in the directives of Slurm that contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envcfg.job.request.admission import GivenOption, Problem
from envcfg.job.request.scheduler_options import Table

# A type may precede the number ("a100:4"); numbers of different types are not compared.
_GPUS = re.compile(r"(?:gres:)?(?:gpu[:=])?(?:([a-zA-Z][\w.-]*)[:=])?([0-9]{1,9})")
_NODES = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_GPU_OPTIONS = ("gpus", "gpus-per-node", "gres", "gpus-per-task")


def check_gpu_counts(table: Table, options: Sequence[GivenOption]) -> Iterator[Problem]:
    """Yield the first contradiction that sbatch finds; unknown numbers have none."""
    values = {option.name: option for option in options if not option.part}
    requests = [values[name] for name in _GPU_OPTIONS if name in values]
    parsed = {option.name: _GPUS.fullmatch(option.value or "") for option in requests}
    types = {match and match[1] for match in parsed.values()}
    # Two numbers for a node may both hold, and an unread one may be of other devices.
    is_clear = len(types) == 1 and all(parsed.values())
    if not is_clear or {"gpus-per-node", "gres"} <= parsed.keys():
        return
    if "gres" in parsed and "gpu" not in (values["gres"].value or ""):
        return
    counts = {name: int(match[2]) for name, match in parsed.items() if match}
    if says := _contradiction(counts, values):
        offset = max(option.offset for option in requests)
        names = " and ".join(table.dashed(option.name) for option in requests)
        yield Problem("refused", offset, table.gpus[says], f"make {names} agree")


def _contradiction(gpus: dict[str, int], values: dict[str, GivenOption]) -> str | None:
    """Return the name of the message; None if the numbers may agree."""
    total, task = gpus.get("gpus"), gpus.get("gpus-per-task")
    node = gpus.get("gpus-per-node", gpus.get("gres"))
    least, most = _bounds(values)
    tasks, per_node = _count(values, "ntasks"), _count(values, "ntasks-per-node")
    if tasks and least and tasks < least:
        least = most = tasks  # sbatch takes fewer nodes
    elif tasks is None and least == most and (least or per_node):
        tasks = (per_node or 1) * (least or 1)  # it asks for one task on each node
    if total:
        if total < (node or task or 0):
            return "less"
        if least and total < least:
            return "few"
        if node and total % node:
            return "nodes"
        if node and least and most and not least <= total // node <= most:
            return "bounds"
    return _of_tasks(total, node, task, tasks=tasks, per_node=per_node)


def _of_tasks(
    total: int | None,
    node: int | None,
    task: int | None,
    *,
    tasks: int | None,
    per_node: int | None,
) -> str | None:
    """Return the contradiction with the GPUs of a *task*; None if there is none."""
    if not task:
        return None
    if total and total % task:
        return "tasks"
    if total and tasks and total // task != tasks:
        return "ntasks"
    if node and node < task:
        return "task"
    if node and per_node and node // task != per_node:
        return "per-node"
    return None


def _bounds(values: dict[str, GivenOption]) -> tuple[int | None, int | None]:
    """Return the least and the largest number of nodes; None if they are not given."""
    nodes = _NODES.fullmatch(values["nodes"].value or "") if "nodes" in values else None
    return (int(nodes[1]), int(nodes[2] or nodes[1])) if nodes else (None, None)


def _count(values: dict[str, GivenOption], name: str) -> int | None:
    text = (values[name].value or "") if name in values else ""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
