"""What answers of RAS tell of a hang: who is gone, who is behind, who has left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envcfg.findings import Evidence
from envcfg.log.numbers import count_of, first_of, number_ranges, said_of
from envcfg.log.traces import Answer, Said, are_apart

if TYPE_CHECKING:
    from envcfg.trace.ras import Laggard, RasComm, RasProcess, RasRank

_MOST = 5  # ranks that are behind, by collective; the farthest come first


def of_answers(answers: Sequence[Answer]) -> Iterator[Said]:
    """Yield what answers of RAS tell, the oldest of them first.

    What is given up or has failed stays so; how far ranks are, the last one tells.
    """
    from envcfg.trace.ras import laggards

    found: dict[tuple[str, str], Said] = {}
    for answer in answers:
        for each in _lasting(answer):
            found.setdefault((each.rule, each.subject), each)
    for last in answers[-1:]:
        for each in _silent(last, dead=False):
            found[each.rule, each.subject] = each
        late = laggards(last.report)
        if last.report.whole and not (found or late):
            yield _even(last)
        yield from found.values()
        for lag in late[:_MOST]:
            before = [each for each in answers[:-1] if are_apart(each, last)]
            stuck = any(_is_same(lag, each) for each in before)
            yield _behind(last, lag, stuck=stuck)


def _lasting(answer: Answer) -> Iterator[Said]:
    yield from _silent(answer, dead=True)
    for comm in answer.report.comms:
        yield from _of_comm(answer, comm)


def _silent(answer: Answer, *, dead: bool) -> Iterator[Said]:
    report = answer.report
    named = [each for each in report.silent if each.dead == dead]
    many = max(report.dead if dead else report.missing, len(named))
    if many:
        what = "are given up by NCCL" if dead else "did not answer NCCL in time"
        where = first_of({f"process {each.pid} on {each.host}" for each in named})
        yield Said(
            "ras-dead" if dead else "ras-silent",
            where if len(named) == many else count_of(many, "process", "processes"),
            said_of(many, what),
            _line(answer, *_written(named)),
        )


def _even(answer: Answer) -> Said:
    groups = answer.report.groups
    many = len(answer.report.comms) or sum(each.comms for each in groups)
    what = f"{count_of(many, 'communicator')}: all ranks answer, none is behind"
    return Said("ras-even", "job", what, _line(answer, "NCCL version", "nccl_version"))


def _written(processes: Sequence[RasProcess]) -> Iterator[str]:
    for each in processes[:1]:
        yield from (f"Process {each.pid} ", f'"pid": {each.pid},')


def _of_comm(answer: Answer, comm: RasComm) -> Iterator[Said]:
    failed = [each for each in comm.ranks if each.error]
    if failed or "ERROR" in comm.problems:
        errors = first_of({each.error for each in failed}) or "an error"
        yield Said(
            "ras-error",
            _ranks(failed) or f"communicator {comm.hash}",
            f"{errors} in communicator {comm.hash} of {comm.size or 'some'} ranks",
            _line(answer, "reported ", " error", '"async_error": '),
        )
    for spread in comm.spreads:
        states = {share.value: share for share in spread.shares}
        for state in ("ABORT", "NOCOMM"):
            if state in states and len(states) > 1:
                share = states[state]
                verb = "have aborted" if state == "ABORT" else "know nothing of"
                yield Said(
                    "ras-left",
                    _ranks(share.ranks) or count_of(share.count, "rank"),
                    said_of(share.count, f"{verb} communicator {comm.hash}")
                    + ", which others still use",
                    _line(answer, f"status {state}", '"abort_flag": true', comm.hash),
                )


def _is_same(lag: Laggard, before: Answer) -> bool:
    """Return whether ranks were as far behind in an earlier answer."""
    from envcfg.trace.ras import laggards

    return any(
        (each.comm.hash, each.operation, each.share.value)
        == (lag.comm.hash, lag.operation, lag.share.value)
        and {rank.rank for rank in each.share.ranks}
        >= {r.rank for r in lag.share.ranks}
        for each in laggards(before.report)
    )


def _behind(answer: Answer, lag: Laggard, *, stuck: bool) -> Said:
    share = lag.share
    who = _ranks(share.ranks) or count_of(share.count, "rank")
    launched = f"have launched {share.value} of {lag.most} {lag.operation}"
    what = said_of(share.count, launched)
    where = f"in communicator {lag.comm.hash}"
    first = share.ranks[0].rank if share.ranks else -1
    evidence = _line(answer, f"Rank {first} ", f'"rank": {first},', lag.operation)
    if stuck:
        return Said("ras-stuck", who, f"{what} {where}, as an answer before", evidence)
    doubt = f"whether the job hangs: {who} {what}"
    return Said("ras-behind", who, f"{what} {where}", evidence, doubt)


def _ranks(ranks: Iterable[RasRank]) -> str:
    known = list(ranks)
    numbers = sorted({each.rank for each in known})
    if not numbers:
        return ""
    hosts = first_of({each.host for each in known if each.host})
    where = f" ({hosts})" if hosts else ""
    return f"rank{'s' if len(numbers) > 1 else ''} {number_ranges(numbers)}{where}"


def _line(answer: Answer, *texts: str) -> Evidence | None:
    """Return the first line of an answer that holds one of *texts*, in their order."""
    for text in filter(None, texts):
        at = answer.text.find(text)
        if at >= 0:
            start = answer.text.rfind("\n", 0, at) + 1
            line = answer.text[start : start + 400].partition("\n")[0].strip()
            return Evidence(answer.name, answer.text.count("\n", 0, start) + 1, line)
    return None
