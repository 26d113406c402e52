"""What nodes and ranks have seen, as rows of words by kind, for a report; pure.

docs/probe.md says what the words of each kind are. What is not known is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_interface

from envcfg.log.verdict import LogReport
from envcfg.preflight.records import NodeAnswer, Report

Rows = tuple[tuple[str, ...], ...]
Facts = Mapping[str, Rows]
# Each names GPUs of a job, as the scheduler hands them out.
VISIBLE = (
    *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    "ZE_AFFINITY_MASK",
)
_HUNDREDTHS = 100  # of a second, in which a node tells time


def node_facts(answer: NodeAnswer, folders: Mapping[str, str]) -> Facts:
    """Return what a node has said of itself.

    Args:
        answer: its words.
        folders: the path of each folder that was tried, by its name in the report.
    """
    found: dict[str, list[tuple[str, ...]]] = {}
    rates, kinds, speeds = {}, {}, {}
    for kind, text in answer.facts:
        words = text.split()
        match kind, words:
            case "rate", [name, rate]:
                rates[name] = rate if rate.isdigit() else "-"
            case "kind", [name, *rest]:
                kinds[" ".join(rest)] = name
            case "speed", [size, began, ended, *rest]:
                speeds[" ".join(rest)] = _speed(size, began, ended)
            case "runtime", [name, *rest]:
                found.setdefault(kind, []).append((name, " ".join(rest) or "-"))
            case _:
                found.setdefault(kind, []).append(tuple(words))
    found["network"] = [
        (each.name, "up" if each.is_up else "down", _network(each.address),
         rates.get(each.name, "-"))
        for each in answer.networks if each.name != "lo"
    ]  # fmt: skip
    said = {True: "yes", False: "no", None: "unknown"}
    tried = {each.path: each for each in answer.folders}
    found["folder"] = [
        (name, path, said[tried[path].is_written], str(tried[path].free or "-"),
         kinds.get(path, "-"), speeds.get(path, "-"))
        for name, path in folders.items() if path in tried
    ]  # fmt: skip
    found["device"] = [(name, str(many)) for name, many in answer.devices.items()]
    found["visible"] = [(name,) for name in answer.variables if name in VISIBLE]
    if answer.memlock is not None:
        limit = str(answer.memlock) if answer.memlock >= 0 else "unlimited"
        found["memlock"] = [(limit,)]
    if answer.gpus and answer.gpus.tool != "none":
        number = sum(each.is_ours for each in answer.gpus.gpus)
        found["gpus"] = [(answer.gpus.tool, str(number))]
    return {kind: tuple(rows) for kind, rows in sorted(found.items()) if rows}


def _speed(size: str, began: str, ended: str) -> str:
    """Return how fast *size* bytes were written, in MB/s."""
    try:
        took = max(float(ended) - float(began), 1 / _HUNDREDTHS)
        return f"{int(size) / took / 1e6:.0f}"
    except ValueError:
        return "-"


def _network(address: str | None) -> str:
    """Return the network of an address, which does not tell the node's own."""
    try:
        return str(ip_interface(address).network) if address else "-"
    except ValueError:
        return "unknown"


def job_facts(report: Report, log: LogReport | None) -> Facts:
    """Return what the ranks have seen together; nothing where there was no collective."""
    torch = next((each.torch for each in report.ranks.values() if each.torch), None)
    if torch is None:
        return {}
    found: dict[str, Rows] = {"state": ((report.network, report.said),)}
    by = "nccl" if any(each.devices for each in report.ranks.values()) else "gloo"
    found["collective"] = ((by, *torch, str(len(report.ranks))),)
    found["sum"] = tuple(
        (str(each.size), f"{each.seconds:.6f}", f"{each.bandwidth:.2f}")
        for rank in report.ranks.values()
        for each in rank.sums
    )
    if log is not None:
        job = log.job
        found["carried"] = tuple((name, str(n)) for name, n in job.networks.items())
        found["version"] = tuple((name, *each) for name, each in job.versions.items())
        found["gdr"] = ((job.gdr,),)
        if job.provider:
            found["provider"] = ((job.provider,),)
    return found
