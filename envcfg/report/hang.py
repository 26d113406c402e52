"""Who holds a job up: for people, and as JSON, which docs/hang.md describes."""

from collections.abc import Iterator

from envcfg.hang.activity import activity, does, is_in_collective
from envcfg.hang.judge import Judgement, span
from envcfg.hang.records import Evidence, NodeView, RankView, program_names
from envcfg.log.numbers import count_of, first_of, grouped, number_ranges
from envcfg.report.document import json_text, now_text, rounded
from envcfg.report.styled import Line, in_columns

_STYLES = {"error": "bold red", "warning": "yellow", "note": ""}
_HEAD = ("ranks", "nodes", "what each does")


def hang_lines(seen: Evidence, judgement: Judgement) -> Iterator[Line]:
    """Yield the report: what was seen, what it means, and how the log ends."""
    yield "bold", _title(seen)
    yield from _table(seen)
    for each in judgement.findings:
        subject = f"{each.subject}: " if each.subject else ""
        follows = "" if each.cause else "; follows from the above"
        said = f"{each.severity}: {subject}{each.message}{follows}  [{each.rule}]"
        yield _STYLES[each.severity], said
        if each.fix:
            yield "", f"  fix: {each.fix}"
    yield from _log(seen)
    looked = f"processes of {count_of(len(seen.ranks), 'rank')}, "
    looked += f"Python stacks of {sum(bool(rank.stack) for rank in seen.ranks)}, "
    looked += f"RAS of {count_of(len(seen.ras_read), 'node')}, "
    looked += f"Flight Recorder of {count_of(len(seen.flights), 'rank')}"
    yield "dim", f"looked at: {looked}"


def _title(seen: Evidence) -> str:
    answering = sum(node.answers for node in seen.nodes)
    said = f"{answering} of {count_of(len(seen.nodes), 'node')} answer"
    silent = seen.log.age
    since = f", its log silent for {span(silent)}" if silent is not None else ""
    return f"job {seen.job}: {said}, {count_of(len(seen.ranks), 'rank')} seen{since}"


def _table(seen: Evidence) -> Iterator[Line]:
    programs = program_names(seen.ranks)
    alike = grouped(seen.ranks, lambda r: (programs[r.host, r.pid], does(r)))
    rows = [_HEAD] if alike else []
    for (program, what), ranks in alike.items():
        hosts = {rank.host for rank in ranks}
        where = first_of(hosts) if len(hosts) <= 3 else count_of(len(hosts), "node")
        numbers = number_ranges([rank.rank for rank in ranks])
        rows.append((f"{numbers} of {program}" if program else numbers, where, what))
    yield from (("", line) for line in in_columns(rows))


def _log(seen: Evidence) -> Iterator[Line]:
    log = seen.log
    if not log.path:
        yield "", "log: Slurm names none for this job"
    elif log.problem:
        yield "", f"log: {log.path} cannot be read: {log.problem}"
    elif not log.text:
        yield "", f"log: {log.path} is empty"
    else:
        number = "" if log.line is None else f":{log.line}"
        yield "", f"log: {log.path}{number}, {span(log.age or 0)} ago: {log.text}"


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
    doing = activity(rank)
    return {
        "rank": rank.rank,
        "local_rank": rank.local_rank,
        "world_size": rank.world,
        "node": rank.host,
        "program": program or None,
        "pid": rank.pid,
        "process": rank.name,
        "state": rank.state,
        "activity": doing.kind,
        "activity_text": doing.said,
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
