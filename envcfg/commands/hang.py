"""``envcfg hang``: who holds up a running job that is silent."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.commands.formats import check_format, format_option, put_result
from envcfg.commands.job_target import add_target, find_job, job_name, no_answer
from envcfg.commands.options import add_option
from envcfg.core.option import Option
from envcfg.errors import UsageError
from envcfg.findings import exit_code
from envcfg.interrupts import raise_signals

if TYPE_CHECKING:
    from envcfg.hang.judge import Judgement
    from envcfg.hang.records import Evidence, NodeView


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hang``."""
    add_target(parser)
    add_option(parser, Option("--json", "all that was seen, as JSON", kind="switch"))
    add_option(parser, format_option("print the findings alone"))
    add_option(parser, Option("--strict", "warnings fail too", kind="switch"))


def run(options: argparse.Namespace) -> int:
    """Look at the job once; return 1 where somebody holds it up."""
    if options.command:
        msg = "envcfg hang takes no command"
        raise UsageError(msg, hint="envcfg hang JOBID")
    check_format(options, is_check=True)
    seen, judgement = look_at(options.job, options.nodes, options.srun_arg)
    if options.format is not None:
        from envcfg.report.findings import Result

        result = Result({f"job {seen.job}": judgement.findings}, "job")
        put_result(result, options.format, strict=options.strict)
    elif options.json:
        from envcfg.report.hang import hang_json

        sys.stdout.write(hang_json(seen, judgement))
    else:
        from envcfg.report.hang import hang_lines
        from envcfg.report.styled import put

        put(hang_lines(seen, judgement))
    return exit_code(
        judgement.findings,
        strict=options.strict,
        inconclusive=judgement.is_inconclusive,
    )


def look_at(
    given: str | None,
    nodes: str | None = None,
    srun_args: Sequence[str] = (),
    earlier: Evidence | None = None,
) -> tuple[Evidence, Judgement]:
    """Return what was seen of job *given* (None: this one) on *nodes*, and who holds it up.

    What was seen of it *earlier* says who has not moved since.

    Raises:
        EnvcfgError: nobody may look at it now, or no node answers.
    """
    name = job_name(given, "hang")
    from envcfg.hang.activity import LEAST, standing
    from envcfg.hang.gather import ask_libraries, last_line
    from envcfg.hang.judge import judge, wants_another_look
    from envcfg.hang.records import Evidence, LastLine
    from envcfg.hang.step import look
    from envcfg.probe.slurm import output_path

    job, hosts, is_part = find_job(name, nodes, "hang")
    path = output_path(job.id)
    # Before the step, as Flight Recorder says in the log that it writes a dump.
    log = last_line(path, time.time()) if path else LastLine()
    raise_signals()  # the step must be ended

    def seen_now(earlier: Evidence | None) -> Evidence:
        reader, lost, errors = look(
            job.id, hosts, is_part=is_part, more=srun_args, say=_say
        )
        if not reader.answering:
            raise no_answer(errors, "no node has answered")
        views = tuple(_with_states(reader.nodes(), lost))
        known = ask_libraries(views, time.time(), earlier.nodes if earlier else ())
        seen = Evidence(job.name, views, log, is_part=is_part, **known._asdict())
        seen = seen._replace(moment=time.monotonic())
        if earlier is None:
            return seen
        still = standing(earlier.ranks, seen.ranks)
        return seen._replace(still=still, watched=seen.moment - earlier.moment)

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
    nodes: Sequence[NodeView], lost: Mapping[str, str]
) -> Iterator[NodeView]:
    """Yield *nodes* with what srun (*lost*) and Slurm say of those that are silent."""
    from envcfg.probe.slurm import node_states

    silent = [node.host for node in nodes if not node.answers]
    states = node_states(silent) if silent else {}
    for node in nodes:
        state, reason = states.get(node.host, ""), lost.get(node.host, "")
        yield node if node.answers else node._replace(state=state, reason=reason)


def _say(text: str) -> None:
    sys.stderr.write(f"envcfg: {one_line(text)}\n")
