"""The report on a hang: for readers, and as JSON, described in docs/hang.md."""

from collections.abc import Iterator

from envcfg.common.provenance import now_text
from envcfg.log.numbers import count_of, first_of, grouped, number_ranges
from envcfg.nodes.hang.hang_judge import Judgement
from envcfg.nodes.hang.hang_records import Evidence, HangNode, HangRank, program_names
from envcfg.nodes.hang.hang_rules import span
from envcfg.nodes.hang.rank_activity import activity, does, is_in_collective
from envcfg.report.document import json_text, pick_fields, rounded
from envcfg.report.finding_report import rule_lines
from envcfg.report.styled import Line, in_columns

_HEAD = ("ranks", "nodes", "what each does")


def hang_lines(evidence: Evidence, judgement: Judgement) -> Iterator[Line]:
    """Yield the report: the evidence, its meaning, and the end of the log."""
    yield "bold", _title(evidence)
    yield from _table(evidence)
    for finding in judgement.findings:
        # An effect is marked, so that the user repairs the cause first.
        follows = "" if finding.cause else "; follows from the above"
        yield from rule_lines(finding, finding.subject, follows)
    yield from _log(evidence)
    # The last line shows what was examined: missing evidence limits the verdict.
    looked = f"processes of {count_of(len(evidence.ranks), 'rank')}, "
    looked += f"Python stacks of {sum(bool(rank.stack) for rank in evidence.ranks)}, "
    looked += f"RAS of {count_of(len(evidence.ras_read), 'node')}, "
    looked += f"Flight Recorder of {count_of(len(evidence.flights), 'rank')}"
    yield "dim", f"checked: {looked}"


def _title(evidence: Evidence) -> str:
    answering = sum(node.answers for node in evidence.nodes)
    title = f"{answering} of {count_of(len(evidence.nodes), 'node')} answer"
    silent = evidence.log.age
    since = f", its log silent for {span(silent)}" if silent is not None else ""
    ranks = count_of(len(evidence.ranks), "rank")
    return f"job {evidence.job}: {title}, {ranks} seen{since}"


def _table(evidence: Evidence) -> Iterator[Line]:
    programs = program_names(evidence.ranks)
    # Ranks with the same activity share a row, because the outliers matter.
    alike = grouped(evidence.ranks, lambda r: (programs[r.host, r.pid], does(r)))
    # Without ranks, a table with only a head would confuse.
    rows = [_HEAD] if alike else []
    for (program, activity_text), ranks in alike.items():
        hosts = {rank.host for rank in ranks}
        # The node's name helps only if there are few of them.
        where = first_of(hosts) if len(hosts) <= 3 else count_of(len(hosts), "node")
        numbers = number_ranges([rank.rank for rank in ranks])
        rows.append(
            (f"{numbers} of {program}" if program else numbers, where, activity_text)
        )
    yield from (("", line) for line in in_columns(rows))


def _log(evidence: Evidence) -> Iterator[Line]:
    log = evidence.log
    if not log.path:
        yield "", "log: Slurm names none for this job"
    elif log.problem:
        yield "", f"log: {log.path} cannot be read: {log.problem}"
    elif not log.text:
        yield "", f"log: {log.path} is empty"
    else:
        number = "" if log.line is None else f":{log.line}"
        ago = "" if log.age is None else f", {span(log.age)} ago"
        yield "", f"log: {log.path}{number}{ago}: {log.text}"


# Keys of JSON, with their fields.
_BEHIND = """
    by ranks waiting operation group begun=number most waiting_seconds=since
    called_at=where? differs? waits_itself_in=elsewhere? program?
"""
_NODE = "name=host answers answers_whole=is_complete reason? slurm_state=state?"


def hang_json(evidence: Evidence, judgement: Judgement) -> str:
    """Return one JSON document; unknown values are null."""
    # Empty texts become null, so that programs need one test only.
    log, programs = evidence.log, program_names(evidence.ranks)
    return json_text(
        {
            "time": now_text(),
            "job": {"id": evidence.job, "nodes": len(evidence.nodes)},
            "verdict": judgement.verdict,
            "nodes": [_node(node, evidence) for node in evidence.nodes],
            "ranks": [
                _rank(rank, evidence, programs[rank.host, rank.pid])
                for rank in evidence.ranks
            ],
            "behind": [
                pick_fields(behind, _BEHIND)
                | {"waiting_seconds": rounded(behind.since)}
                for behind in evidence.behind
            ],
            "log": pick_fields(log, "path? problem? line text?")
            | {"age_seconds": rounded(log.age)},
            "findings": judgement.findings,
        }
    )


def _node(node: HangNode, evidence: Evidence) -> dict[str, object]:
    return {
        **pick_fields(node, _NODE),
        # Without an answer, a count of zero processes would be wrong.
        "processes": node.processes if node.answers else None,
        "ras": node.host in evidence.ras_read,
        "gpus": [{"index": gpu.number, "use_percent": gpu.use} for gpu in node.gpus],
    }


def _rank(rank: HangRank, evidence: Evidence, program: str) -> dict[str, object]:
    doing = activity(rank)
    return {
        **pick_fields(rank, "rank local_rank world_size=world node=host"),
        "program": program or None,
        **pick_fields(rank, "pid process=name state"),
        **pick_fields(doing, "activity=kind activity_text=phrase"),
        **pick_fields(rank, "kernel_function=channel? kernel_stack=kernel"),
        "cores_used": None if rank.use is None else round(rank.use, 2),
        # Without a second look, standing still cannot be known.
        "stands_still": (
            (rank.host, rank.pid) in evidence.still
            if evidence.watched is not None
            else None
        ),
        **pick_fields(rank, "age_seconds=age threads python_stack=stack"),
        "python_stack_problem": rank.stack_problem or None,
        "in_collective": is_in_collective(rank) if rank.stack else None,
        "flight_recorder": rank.rank in evidence.flights,
        "dump": rank.dump_path or None,
    }
