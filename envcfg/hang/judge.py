"""Who holds the job up, from what its processes and libraries say; pure.

What is certain comes first: a node that does not answer, a process that is stopped, gone
or stuck in the kernel. Then what NCCL or PyTorch know: ranks that have not begun what
others wait in. Only where neither names anybody, a rank is compared with the others; where
most are not alike, nobody is named.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from envcfg.findings import Evidence as Line
from envcfg.findings import Finding
from envcfg.hang.activity import does
from envcfg.hang.processes import blamed, compared, of_nodes, of_processes, twice
from envcfg.hang.records import FLIGHT, RAS, Behind, Evidence, by_program
from envcfg.hang.rules import finding, has, ranks_said
from envcfg.log.numbers import count_of

# Seconds without a new line or collective, below which a job does not hang.
_MOVES = 15.0

Verdict = Literal["named", "moves", "unclear"]


class Judgement(NamedTuple):
    """What envcfg hang says.

    Attributes:
        verdict: ``named``: somebody holds the job up; ``moves``: it may not hang at all;
            ``unclear``: what was seen does not tell.
        findings: the reasons, the certain ones first, then what was missing.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]

    @property
    def is_inconclusive(self) -> bool:
        """Whether nobody could be named though the job is silent."""
        return self.verdict == "unclear"


def judge(seen: Evidence) -> Judgement:
    """Return who holds the job up, and what would have told more."""
    parts = by_program(seen)
    certain = list(of_nodes(seen))
    for part in parts:
        certain += _named(part, of_processes(part))
    found, clear = list(certain), [part for part in parts if not twice(part)]
    for part in clear:
        found += _named(part, _of_libraries(part, blamed(certain, part)))
    for part in () if found else clear:
        found += _named(part, compared(part.ranks))
    notes = list(_missing(seen))
    moves = [] if certain else list(_moves(seen))
    if moves and _stands(seen, parts, found):
        is_all = len(seen.still) == len(seen.ranks)
        who = "no rank" if is_all else "no communicator, and none of these ranks,"
        said = f"its log goes on, but {who} has moved for {span(seen.watched or 0.0)}"
        found.append(finding("hang-stands-still", f"job {seen.job}", said))
    elif moves:
        # What is seen of one moment proves nothing of a job that goes on.
        seen_now = [each._replace(severity="note") for each in found]
        return Judgement("moves", (*_with_log([*seen_now, *moves], seen),))
    if any(each.severity == "error" for each in found):
        return Judgement("named", (*_with_log(found, seen), *notes))
    unclear = finding("hang-unclear", f"job {seen.job}", _why_unclear(seen))
    return Judgement("unclear", (*_with_log([*found, unclear], seen), *notes))


def _named(part: Evidence, found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield what was *found* of a program, with its name where the job has several."""
    for each in found:
        name = f" of {part.program}" if part.program else ""
        yield each._replace(subject=f"{each.subject}{name}")


def wants_another_look(seen: Evidence, judgement: Judgement) -> bool:
    """Return whether it is the log alone that moves, and a second look may tell more."""
    rules = [each.rule for each in judgement.findings]
    return (
        judgement.verdict == "moves"
        and seen.watched is None
        and "hang-log-moves" in rules
        and len(rules) > 1
    )


def _stands(
    seen: Evidence, parts: Sequence[Evidence], found: Sequence[Finding]
) -> bool:
    """Return whether the job stands still, though its log goes on.

    Who computes or reads, as for an evaluation on one rank, is no reason to call it hung:
    those who hold the others up must not have run at all since the look before. Where RAS
    says that no communicator has moved either, the others may wait as they like, else they
    must stand still too.
    """
    everyone = {(each.host, each.pid) for each in seen.ranks}
    if found and everyone and everyone <= seen.still:
        return True
    for part in parts:
        still = {r.rank for r in part.ranks if (r.host, r.pid) in seen.still}
        stands = [set(each.ranks) for each in part.behind if each.stands and each.ranks]
        if any(ranks <= still for ranks in stands):
            return True
    return False


def _moves(seen: Evidence) -> Iterator[Finding]:
    """Yield why the job may not hang at all: what it has done only now."""
    waits = [each.since for each in seen.behind if each.since is not None]
    if max(waits, default=0.0) >= _MOVES or any(each.differs for each in seen.behind):
        return
    job, log = f"job {seen.job}", seen.log
    if log.age is not None and log.age < _MOVES and not log.problem:
        said = f"its last line is {log.age:.0f} s old, so that it may not hang"
        yield finding("hang-log-moves", job, said)
    elif waits or (seen.called is not None and seen.called < _MOVES):
        since = f"{max(waits, default=seen.called or 0.0):.0f} s ago"
        said = f"its ranks were in other collectives {since}, so that it may not hang"
        yield finding("hang-ranks-move", job, said)


def _of_libraries(seen: Evidence, blamed: set[int]) -> Iterator[Finding]:
    views = {rank.rank: rank for rank in seen.ranks}
    hosts = {number: rank.host for number, rank in views.items()}
    for each in seen.behind:
        subject = f"communicator {each.group}"
        if each.ranks:
            subject = ranks_said(each.ranks, hosts)
        rule = "hang-ranks-out-of-step" if each.differs else "hang-rank-behind"
        same = f", as {span(seen.watched)} ago" if each.same and seen.watched else ""
        said = f"{_behind_said(each)}{same} ({each.by})"
        if len(each.ranks) == 1 and (rank := views.get(each.ranks[0])):
            said = f"{does(rank)}; {said}"
        # Where a process is stopped, this follows from it.
        follows = each.follows or bool(set(each.ranks) & blamed)
        yield finding(rule, subject, said)._replace(cause=not follows)


def _behind_said(each: Behind) -> str:
    if each.differs:
        return f"out of step at {each.most} of {each.group}: {each.operation}"
    verb = has(each.ranks)
    waits = f"{each.waiting} wait{'s' if each.waiting == 1 else ''}"
    where = f" at {each.where}" if each.where else ""
    since = f" for {span(each.since)}" if each.since is not None else ""
    if each.by == FLIGHT:
        done = "written no dump"
        if each.number is not None:
            done = f"called {each.number} collectives of {each.group}"
        call = f"number {each.most} of {each.group}, {each.operation}"
        return f"{verb} {done}; {waits} in {call}{since}{where}"
    return (
        f"{verb} begun {each.number} {each.operation} of communicator {each.group}, "
        f"{count_of(each.waiting, 'other')} {each.most}"
    )


def _why_unclear(seen: Evidence) -> str:
    ranks = seen.ranks
    if not any(node.answers for node in seen.nodes):
        return "no node has answered"
    if not ranks:
        return (
            "no process of the job says that it is a rank (RANK, or a task of a step)"
        )
    if len(ranks) == 1:
        return f"I cannot tell: its one rank {does(ranks[0])}"
    if twofold := next(filter(None, map(twice, by_program(seen))), ""):
        return f"I cannot tell: several programs run in it, as {twofold}"
    most = Counter(map(does, ranks)).most_common(4)
    said = "; ".join(f"{count_of(count, 'rank')}: {what}" for what, count in most)
    return f"I cannot tell who holds it up: {said}"


def _missing(seen: Evidence) -> Iterator[Finding]:
    """Yield what would have told more, and was not there."""
    if not seen.ranks:
        return
    job = f"job {seen.job}"
    if not seen.ras_read:
        said = seen.problems.get(RAS, "NCCL's RAS does not answer on any node")
        yield finding("hang-ras-absent", job, said)
    if not seen.flights:
        said = seen.problems.get(FLIGHT, "Flight Recorder is not set up")
        yield finding("hang-flight-absent", job, said)
    if without := [rank for rank in seen.ranks if not rank.stack]:
        problems = (f": {rank.stack_problem}" for rank in without if rank.stack_problem)
        said = f"no Python stack of {ranks_said([rank.rank for rank in without])}"
        yield finding("hang-stacks-absent", job, said + next(problems, ""))


def _with_log(found: Iterable[Finding], seen: Evidence) -> Iterator[Finding]:
    """Yield *found*, the first with the line of the log that was last."""
    log = seen.log
    first = Line(log.path, log.line or 1, log.text) if log.text else None
    for each in found:
        yield each._replace(evidence=first) if first else each
        first = None


def span(seconds: float) -> str:
    """Return a time as people say it: ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
