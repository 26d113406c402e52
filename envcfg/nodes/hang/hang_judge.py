"""The cause of a hang, from the processes and libraries of the job; pure.

Certain evidence comes first: a node that does not answer, a process that is stopped, ended
or stuck in the kernel. Then the evidence of NCCL and PyTorch: ranks that have not begun the
operation in which others wait. Only if neither names a rank, ranks are compared with each
other; if most ranks differ, none is blamed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from envcfg.common.findings import EvidenceLine as Line
from envcfg.common.findings import Finding
from envcfg.log.numbers import count_of
from envcfg.nodes.hang.hang_records import FLIGHT, RAS, Evidence, by_program
from envcfg.nodes.hang.hang_rules import behind_said, finding, ranks_said, span
from envcfg.nodes.hang.processes import blamed, compared, of_nodes, of_processes, twice
from envcfg.nodes.hang.rank_activity import does

# Age in seconds of the newest line or collective below which a job counts as running.
_MOVES = 15.0
# Ranks on other nodes wait for those of such a node, and are no cause.
_LOST = frozenset({"hang-node-silent", "hang-node-empty", "hang-link-down"})

Verdict = Literal["named", "moves", "unclear"]


class Judgement(NamedTuple):
    """The answer of envcfg hang."""

    # `named`: a rank or node blocks the job; `moves`: it may not hang; `unclear`: the
    # evidence does not decide.
    verdict: Verdict
    # The reasons, the certain ones first, then missing evidence.
    findings: tuple[Finding, ...]

    @property
    def is_inconclusive(self) -> bool:
        """Whether no rank or node could be named although the job is silent."""
        return self.verdict == "unclear"


def judge(evidence: Evidence) -> Judgement:
    """Return the blocking ranks and nodes, and missing evidence."""
    parts = by_program(evidence)
    certain = list(of_nodes(evidence))
    for part in parts:
        certain += _with_program(part, of_processes(part))
    # Ranks that occur twice cannot be compared, but their stopped processes still count.
    findings, clear = list(certain), [part for part in parts if not twice(part)]
    is_lost = any(finding.rule in _LOST for finding in certain)
    for part in clear:
        victims = blamed(certain, part) | {r.rank for r in part.ranks if is_lost}
        findings += _with_program(part, _of_libraries(part, victims))
    # Comparing ranks is the weakest evidence, and is used only without any other.
    for part in () if findings else clear:
        findings += _with_program(part, compared(part.ranks))
    # Missing evidence is always shown, so that the user can enable it for the next run.
    notes = list(_missing(evidence))
    # A certain problem does not disappear because the log continues.
    moves = [] if certain else list(_moves(evidence))
    if moves and _stands(evidence, parts, findings):
        is_all = len(evidence.still) == len(evidence.ranks)
        subject = "no rank" if is_all else "no communicator, and none of these ranks,"
        watched = span(evidence.watched or 0.0)
        message = f"its log goes on, but {subject} has moved for {watched}"
        findings.append(finding("hang-stands-still", f"job {evidence.job}", message))
    elif moves:
        # One moment of a running job proves nothing.
        seen_now = [finding._replace(severity="note") for finding in findings]
        return Judgement("moves", (*_with_log([*seen_now, *moves], evidence),))
    if any(finding.severity == "error" for finding in findings):
        return Judgement("named", (*_with_log(findings, evidence), *notes))
    why = "ranks that compute may hold it up, and nothing proves it"
    if all(finding.severity != "warning" for finding in findings):
        why = _why_unclear(evidence)
    unclear = finding("hang-unclear", f"job {evidence.job}", why)
    return Judgement("unclear", (*_with_log([*findings, unclear], evidence), *notes))


def _with_program(part: Evidence, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings of a program, with its name if the job has several."""
    for reason in findings:
        name = f" of {part.program}" if part.program else ""
        yield reason._replace(subject=f"{reason.subject}{name}")


def wants_another_look(evidence: Evidence, judgement: Judgement) -> bool:
    """Return whether only the log moves, so that a second look may tell more."""
    rules = [finding.rule for finding in judgement.findings]
    return (
        judgement.verdict == "moves"
        and evidence.watched is None
        and "hang-log-moves" in rules
        and len(rules) > 1
    )


def _stands(
    evidence: Evidence, parts: Sequence[Evidence], findings: Sequence[Finding]
) -> bool:
    """Return whether the job hangs although its log grows.

    A rank that computes or reads, such as an evaluation on one rank, is no hang. The ranks
    that block others must not have run since the look before. If RAS shows that no
    communicator has moved either, the activity of the others does not matter; otherwise
    they must be idle too.
    """
    everyone = {(rank.host, rank.pid) for rank in evidence.ranks}
    if findings and everyone and everyone <= evidence.still:
        return True
    for part in parts:
        still = {r.rank for r in part.ranks if (r.host, r.pid) in evidence.still}
        stands = [
            set(behind.ranks)
            for behind in part.behind
            if behind.stands and behind.ranks
        ]
        if any(ranks <= still for ranks in stands):
            return True
    return False


def _moves(evidence: Evidence) -> Iterator[Finding]:
    """Yield recent activity that suggests the job is not hanging."""
    # A long wait in a collective outweighs a young log line.
    waits = [behind.since for behind in evidence.behind if behind.since is not None]
    if max(waits, default=0.0) >= _MOVES or any(
        behind.differs for behind in evidence.behind
    ):
        return
    job, log = f"job {evidence.job}", evidence.log
    if log.age is not None and log.age < _MOVES and not log.problem:
        message = f"its last line is {log.age:.0f} s old, so that it may not hang"
        yield finding("hang-log-moves", job, message)
    elif waits or (evidence.called is not None and evidence.called < _MOVES):
        since = f"{max(waits, default=evidence.called or 0.0):.0f} s ago"
        message = (
            f"its ranks were in other collectives {since}, so that it may not hang"
        )
        yield finding("hang-ranks-move", job, message)


def _of_libraries(evidence: Evidence, blamed: set[int]) -> Iterator[Finding]:
    views = {rank.rank: rank for rank in evidence.ranks}
    hosts = {number: rank.host for number, rank in views.items()}
    for behind in evidence.behind:
        subject = f"communicator {behind.group}"
        if behind.ranks:
            subject = ranks_said(behind.ranks, hosts)
        rule = "hang-ranks-out-of-step" if behind.differs else "hang-rank-behind"
        same = (
            f", as {span(evidence.watched)} ago"
            if behind.same and evidence.watched
            else ""
        )
        message = f"{behind_said(behind)}{same} ({behind.by})"
        if len(behind.ranks) == 1 and (rank := views.get(behind.ranks[0])):
            message = f"{does(rank)}; {message}"
        # The stopped process is the cause, and this finding follows from it.
        follows = behind.follows or bool(set(behind.ranks) & blamed)
        yield finding(rule, subject, message)._replace(cause=not follows)


def _why_unclear(evidence: Evidence) -> str:
    ranks = evidence.ranks
    if not any(node.answers for node in evidence.nodes):
        return "no node has answered"
    busy = [node.ray for node in evidence.nodes if node.ray is not None]
    if busy and not ranks:
        workers = count_of(
            sum(busy), "busy worker of Ray has", "busy workers of Ray have"
        )
        return (
            f"I cannot tell: {workers} no ranks; ray stack on a node shows their lines"
        )
    if not ranks:
        return (
            "no process of the job says that it is a rank (RANK, or a task of a step)"
        )
    if len(ranks) == 1:
        return f"I cannot tell: its one rank {does(ranks[0])}"
    # A rank on two nodes means several programs, which cannot be told apart.
    if twofold := next(filter(None, map(twice, by_program(evidence))), ""):
        return f"I cannot tell: several programs run in it, as {twofold}"
    most = Counter(map(does, ranks)).most_common(4)
    message = "; ".join(f"{count_of(count, 'rank')}: {place}" for place, count in most)
    return f"I cannot tell who holds it up: {message}"


def _missing(evidence: Evidence) -> Iterator[Finding]:
    """Yield the evidence that was missing."""
    if not evidence.ranks:
        return
    job = f"job {evidence.job}"
    # NCCL, and with it both of its sources, needs GPUs.
    on_gpus = any(node.tool != "none" for node in evidence.nodes)
    if not evidence.ras_read and (on_gpus or RAS in evidence.problems):
        message = evidence.problems.get(RAS, "NCCL's RAS does not answer on any node")
        yield finding("hang-ras-absent", job, message)
    if not evidence.flights and (on_gpus or FLIGHT in evidence.problems):
        message = evidence.problems.get(FLIGHT, "Flight Recorder is not set up")
        yield finding("hang-flight-absent", job, message)
    if without := [rank for rank in evidence.ranks if not rank.stack]:
        problems = (f": {rank.stack_problem}" for rank in without if rank.stack_problem)
        message = f"no Python stack of {ranks_said([rank.rank for rank in without])}"
        yield finding("hang-stacks-absent", job, message + next(problems, ""))


def _with_log(findings: Iterable[Finding], evidence: Evidence) -> Iterator[Finding]:
    """Yield *findings*; the last line of the log becomes the evidence of the first one."""
    log = evidence.log
    first = Line(log.path, log.line or 1, log.text) if log.text else None
    for reason in findings:
        yield reason._replace(evidence=first) if first else reason
        first = None
