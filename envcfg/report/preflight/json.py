"""What a preflight comes to, as JSON for programs; docs/preflight.md says what it means."""

from __future__ import annotations

from envcfg.preflight.node_list import fold_nodes
from envcfg.preflight.nodes import wanted_gpus
from envcfg.preflight.records import NodeAnswer, Report, Wanted
from envcfg.preflight.speed import speeds
from envcfg.report.document import json_text, now_text


def preflight_json(report: Report, wanted: Wanted, seconds: float) -> str:
    """Return one document; what is unknown is null."""
    failed = report.failed
    passed = [host for host in report.nodes if host not in failed]
    document = {
        "schema_version": 1,
        "time": now_text(),
        "seconds": round(seconds, 1),
        "profile": wanted.profile,
        "passed": fold_nodes(passed),
        "failed": fold_nodes(failed),
        "inconclusive": report.is_inconclusive,
        "nodes": _nodes(report, wanted, failed),
        "collective": _collective(report),
        "network": {"state": report.network, "summary": report.said},
        "findings": report.job,
    }
    return json_text(document)


def _nodes(
    report: Report, wanted: Wanted, failed: list[str]
) -> list[dict[str, object]]:
    measured = speeds(report.ranks)
    found: list[dict[str, object]] = []
    for host, findings in report.nodes.items():
        answer = report.answers.get(host, NodeAnswer(host))
        sent, received = measured.get(host, (None, None))
        gpus = answer.gpus
        is_counted = gpus is not None and gpus.tool != "none"
        found.append(
            {
                "name": host,
                "passes": host not in failed,
                "answers": answer.is_whole,
                "gpu_tool": gpus and gpus.tool,
                "gpus": sum(each.is_ours for each in gpus.gpus)
                if gpus and is_counted
                else None,
                "gpus_wanted": wanted_gpus(answer, wanted)[0] or None,
                "sends_bytes_per_second": sent,
                "receives_bytes_per_second": received,
                "findings": findings,
            }
        )
    return found


def _collective(report: Report) -> dict[str, object] | None:
    torch = next((each.torch for each in report.ranks.values() if each.torch), None)
    if torch is None:
        return None
    on_gpus = any(each.devices for each in report.ranks.values())
    return {
        "ranks": len(report.ranks),
        "torch": torch[0],
        "build": torch[1],
        "backend": "nccl" if on_gpus else "gloo",
        "sums": [
            {
                "bytes": each.size,
                "seconds": each.seconds,
                "gigabytes_per_second": each.bandwidth,
            }
            for rank in report.ranks.values()
            for each in rank.sums
        ],
    }
