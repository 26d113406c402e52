"""``envcfg hang``: the ranks and nodes that block a silent running job."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.commands.formats import add_own, check_format, put_result
from envcfg.commands.job_target import (
    find_job,
    job_name,
    no_answer,
)
from envcfg.common.findings import exit_code
from envcfg.common.interrupts import raise_signals
from envcfg.common.secrets import safe_line

if TYPE_CHECKING:
    from envcfg.nodes.hang.hang_judge import Judgement
    from envcfg.nodes.hang.hang_records import Evidence, HangNode


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hang``."""
    add_own(parser, "hang")


def run(options: argparse.Namespace) -> int:
    """Examine the job once; return 1 if a rank or node blocks it."""
    check_format(options, is_check=True)
    evidence, judgement = look_at(options.job, options.nodes, options.srun_arg)
    if options.format is not None:
        from envcfg.common.findings import Result

        result = Result({f"job {evidence.job}": judgement.findings}, "job")
        put_result(result, options.format, strict=options.strict)
    elif options.json:
        from envcfg.report.hang_report import hang_json

        sys.stdout.write(hang_json(evidence, judgement))
    else:
        from envcfg.report.hang_report import hang_lines
        from envcfg.report.styled import put

        put(hang_lines(evidence, judgement))
    return exit_code(
        judgement.findings,
        strict=options.strict,
        inconclusive=judgement.is_inconclusive,
    )


def look_at(
    value: str | None,
    nodes: str | None = None,
    srun_args: Sequence[str] = (),
    earlier: Evidence | None = None,
) -> tuple[Evidence, Judgement]:
    """Return evidence on job *value* (None: this one) on *nodes*, and the blocking
    ranks.

    *earlier* evidence shows which ranks have not moved since.

    Raises:
        EnvcfgError: the job cannot be examined now, or no node answers.
    """
    name = job_name(value, "hang")
    from envcfg.nodes.hang.evidence_files import ask_libraries, last_line
    from envcfg.nodes.hang.hang_judge import judge, wants_another_look
    from envcfg.nodes.hang.hang_records import Evidence, LastLine
    from envcfg.nodes.hang.hang_step import look
    from envcfg.nodes.hang.rank_activity import LEAST, standing
    from envcfg.nodes.probe.slurm_job import output_path

    job, hosts, is_part = find_job(name, nodes, "hang")
    path = output_path(job.id)
    # Read before the step, because the Flight Recorder logs its own dumps.
    log = last_line(path, time.time()) if path else LastLine()
    raise_signals()  # an interruption must end the step

    def seen_now(earlier: Evidence | None) -> Evidence:
        nodes, lost, errors = look(
            job.id, hosts, is_part=is_part, more=srun_args, say=_say
        )
        if not any(node.answers for node in nodes):
            raise no_answer(errors, "no node has answered")
        views = tuple(_with_states(nodes, lost))
        evidence = Evidence(job.name, views, log, is_part=is_part)
        before = earlier.nodes if earlier else ()
        evidence = ask_libraries(evidence, time.time(), before)
        evidence = evidence._replace(moment=time.monotonic())
        if earlier is None:
            return evidence
        still = standing(earlier.ranks, evidence.ranks)
        return evidence._replace(still=still, watched=evidence.moment - earlier.moment)

    seen = seen_now(earlier)
    judgement = judge(seen)
    if wants_another_look(seen, judgement):
        then = f"another look in {LEAST:.0f} s says whether the ranks do"
        _say(f"the log goes on; {then}")
        time.sleep(LEAST)
        seen = seen_now(seen)
        judgement = judge(seen)
    return seen, judgement


def _with_states(
    nodes: Sequence[HangNode], lost: Mapping[str, str]
) -> Iterator[HangNode]:
    """Yield *nodes*, with messages of srun (*lost*) and Slurm on the silent ones."""
    from envcfg.nodes.probe.slurm_job import node_states

    silent = [node.host for node in nodes if not node.answers]
    states = node_states(silent) if silent else {}
    for node in nodes:
        state, reason = states.get(node.host, ""), lost.get(node.host, "")
        yield node if node.answers else node._replace(state=state, reason=reason)


def _say(text: str) -> None:
    sys.stderr.write(f"envcfg: {safe_line(text)}\n")
