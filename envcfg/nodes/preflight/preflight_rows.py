"""The answers of nodes and ranks as rows of words by kind, for a report; pure.

docs/probe.md describes the words of each kind. An unknown value is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_interface

from envcfg.log.verdict import LogReport
from envcfg.nodes.preflight.attachment import attached_nics
from envcfg.nodes.preflight.preflight_records import Facts, Report
from envcfg.nodes.probe.node_answer import NodeAnswer, Rows

_LEFT_OUT = frozenset("variable plugin rate kind speed pci near".split())
# Each of these lists the GPUs of a job, as the scheduler assigns them.
VISIBLE = (
    *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    "ZE_AFFINITY_MASK",
)


def node_facts(answer: NodeAnswer, folders: Mapping[str, str]) -> Facts:
    """Return the facts in a node's answer.

    Args:
        answer: its words.
        folders: the path of each tested folder, by its name in the report.
    """
    rates = {row[0]: row[1] for row in answer.rows("rate")}
    tried = {row[2]: row for row in answer.rows("folder")}
    kinds = {path: kind for kind, path in answer.rows("kind")}
    speeds = {  # in MB/s; the clock of a node has steps of 0.01 s
        path: f"{int(size) / max(float(ended) - float(began), 0.01) / 1e6:.0f}"
        for size, began, ended, path in answer.rows("speed")
    }
    rows_by_kind: dict[str, Rows] = {
        kind: answer.rows(kind) for kind in answer.facts if kind not in _LEFT_OUT
    }
    rows_by_kind["attached"] = tuple(
        (str(gpu.number), gpu.address, " ".join(gpu.nics) or "-", gpu.reason)
        for gpu in attached_nics(answer)
    )
    rows_by_kind["network"] = tuple(
        (name, state, _network(address), rates.get(name, "-").replace("-1", "-"))
        for name, state, address in answer.rows("network")
        if name != "lo"
    )
    rows_by_kind["folder"] = tuple(
        (name, path, *tried[path][:2], kinds.get(path, "-"), speeds.get(path, "-"))
        for name, path in folders.items()
        if path in tried
    )
    # Only names are reported, because the values differ from job to job.
    rows_by_kind["visible"] = tuple(
        (name,) for name in answer.variables if name in VISIBLE
    )
    if answer.gpus and answer.gpus.tool != "none":
        number = sum(gpu.is_ours for gpu in answer.gpus.gpus)
        rows_by_kind["gpus"] = ((answer.gpus.tool, str(number)),)
    return {kind: rows for kind, rows in sorted(rows_by_kind.items()) if rows}


def _network(address: str) -> str:
    """Return the network part of an address, which does not identify the node."""
    try:
        return "-" if address == "-" else str(ip_interface(address).network)
    except ValueError:
        return "unknown"


def job_facts(report: Report, log: LogReport | None) -> Facts:
    """Return the facts that the ranks found together; empty without a collective."""
    if report.torch is None:
        return {}
    facts: dict[str, Rows] = {
        "state": ((report.network, report.verdict),),
        "collective": ((report.backend, *report.torch, str(len(report.ranks))),),
        "sum": tuple(
            (str(result.size), f"{result.seconds:.6f}", f"{result.bandwidth:.2f}")
            for result in report.sums
        ),
    }
    if log is not None:
        job = log.job
        facts["carried"] = tuple((name, str(n)) for name, n in job.networks.items())
        facts["version"] = tuple(
            (name, *version) for name, version in job.versions.items()
        )
        facts["gdr"] = ((job.gdr,),)
        if job.provider:
            facts["provider"] = ((job.provider,),)
    return facts
