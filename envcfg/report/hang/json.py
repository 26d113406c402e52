"""Who holds a job up, as JSON for programs; docs/hang.md says what it means."""

from __future__ import annotations

from envcfg.hang.activity import activity, is_in_collective
from envcfg.hang.judge import Judgement
from envcfg.hang.programs import program_names
from envcfg.hang.records import Evidence, NodeView, RankView
from envcfg.report.document import json_text, now_text, rounded


def hang_json(seen: Evidence, judgement: Judgement) -> str:
    """Return one document; what is unknown is null."""
    log, programs = seen.log, program_names(seen.ranks)
    document = {
        "schema_version": 1,
        "time": now_text(),
        "job": {"id": seen.job, "nodes": len(seen.nodes)},
        "verdict": judgement.verdict,
        "nodes": [_node(node, seen) for node in seen.nodes],
        "ranks": [
            _rank(rank, seen, programs[rank.host, rank.pid]) for rank in seen.ranks
        ],
        "behind": [
            {
                "by": each.by,
                "ranks": each.ranks,
                "waiting": each.waiting,
                "operation": each.operation,
                "group": each.group,
                "begun": each.number,
                "most": each.most,
                "waiting_seconds": rounded(each.since),
                "called_at": each.where or None,
                "differs": each.differs or None,
                "waits_itself_in": each.elsewhere or None,
                "program": each.program or None,
            }
            for each in seen.behind
        ],
        "log": {
            "path": log.path or None,
            "problem": log.problem or None,
            "line": log.line,
            "text": log.text or None,
            "age_seconds": rounded(log.age),
        },
        "findings": judgement.findings,
    }
    return json_text(document)


def _node(node: NodeView, seen: Evidence) -> dict[str, object]:
    return {
        "name": node.host,
        "answers": node.answers,
        "answers_whole": node.whole,
        "reason": node.reason or None,
        "slurm_state": node.state or None,
        "processes": node.processes if node.answers else None,
        "ras": node.host in seen.ras_read,
        "gpus": [{"index": each.number, "use_percent": each.use} for each in node.gpus],
    }


def _rank(rank: RankView, seen: Evidence, program: str) -> dict[str, object]:
    does = activity(rank)
    return {
        "rank": rank.rank,
        "local_rank": rank.local_rank,
        "world_size": rank.world,
        "node": rank.host,
        "program": program or None,
        "pid": rank.pid,
        "process": rank.name,
        "state": rank.state,
        "activity": does.kind,
        "activity_text": does.said,
        "kernel_function": rank.channel or None,
        "kernel_stack": rank.kernel,
        "cores_used": None if rank.use is None else round(rank.use, 2),
        "stands_still": (
            (rank.host, rank.pid) in seen.still if seen.watched is not None else None
        ),
        "age_seconds": rank.age,
        "threads": rank.threads,
        "python_stack": rank.stack,
        "python_stack_problem": rank.stack_problem or None,
        "in_collective": is_in_collective(rank) if rank.stack else None,
        "flight_recorder": rank.rank in seen.flights,
        "dump": rank.dump_path or None,
    }
