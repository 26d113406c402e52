"""What nodes and ranks have seen, as rows of words by kind, for a report; pure.

docs/probe.md says what the words of each kind are. What is not known is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_interface

from envcfg.log.verdict import LogReport
from envcfg.preflight.records import Facts, NodeAnswer, Report, Rows

_LEFT_OUT = frozenset("variable plugin health rate kind speed".split())
# Each names GPUs of a job, as the scheduler hands them out.
VISIBLE = (
    *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    "ZE_AFFINITY_MASK",
)


def node_facts(answer: NodeAnswer, folders: Mapping[str, str]) -> Facts:
    """Return what a node has said of itself.

    Args:
        answer: its words.
        folders: the path of each folder that was tried, by its name in the report.
    """
    rates = {row[0]: row[1] for row in answer.rows("rate")}
    tried = {row[2]: row for row in answer.rows("folder")}
    kinds = {path: kind for kind, path in answer.rows("kind")}
    speeds = {  # in MB/s; a node tells time in 0.01 s
        path: f"{int(size) / max(float(ended) - float(began), 0.01) / 1e6:.0f}"
        for size, began, ended, path in answer.rows("speed")
    }
    found: dict[str, Rows] = {
        kind: rows for kind, rows in answer.facts.items() if kind not in _LEFT_OUT
    }
    found["network"] = tuple(
        (name, state, _network(address), rates.get(name, "-").replace("-1", "-"))
        for name, state, address in answer.rows("network")
        if name != "lo"
    )
    found["folder"] = tuple(
        (name, path, *tried[path][:2], kinds.get(path, "-"), speeds.get(path, "-"))
        for name, path in folders.items()
        if path in tried
    )
    found["visible"] = tuple((name,) for name in answer.variables if name in VISIBLE)
    if answer.gpus and answer.gpus.tool != "none":
        number = sum(each.is_ours for each in answer.gpus.gpus)
        found["gpus"] = ((answer.gpus.tool, str(number)),)
    return {kind: rows for kind, rows in sorted(found.items()) if rows}


def _network(address: str) -> str:
    """Return the network of an address, which does not tell the node's own."""
    try:
        return "-" if address == "-" else str(ip_interface(address).network)
    except ValueError:
        return "unknown"


def job_facts(report: Report, log: LogReport | None) -> Facts:
    """Return what the ranks have seen together; nothing where there was no collective."""
    if report.torch is None:
        return {}
    found: dict[str, Rows] = {
        "state": ((report.network, report.said),),
        "collective": ((report.backend, *report.torch, str(len(report.ranks))),),
        "sum": tuple(
            (str(each.size), f"{each.seconds:.6f}", f"{each.bandwidth:.2f}")
            for each in report.sums
        ),
    }
    if log is not None:
        job = log.job
        found["carried"] = tuple((name, str(n)) for name, n in job.networks.items())
        found["version"] = tuple((name, *each) for name, each in job.versions.items())
        found["gdr"] = ((job.gdr,),)
        if job.provider:
            found["provider"] = ((job.provider,),)
    return found
