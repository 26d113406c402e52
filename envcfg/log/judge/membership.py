"""Checks over all ranks: participation, progress, and lagging ranks.

The lines of PyTorch's watchdog show lagging ranks. Each rank that gives a collective up
prints its number, its type and the rank's progress. The ranks of a group call the same
collectives in the same order. A rank holds the others up if it has not ended the oldest
open collective, called another operation under one number, or is silent.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.log.collective.collective_front import Front, GroupProgress, front_of
from envcfg.log.expectations import Expectations
from envcfg.log.judge.rank import Symptom, judge_rank
from envcfg.log.judge.reasons import Member, reasons_of, warned_symptoms
from envcfg.log.numbers import collect, count_of, ranks_of, said_of
from envcfg.log.read.process_facts import Sighting
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.process import GAVE_UP, Process
from envcfg.log.state.traffic import Entity
from envcfg.log.state.world import World, world_communicators, world_of
from envcfg.log.verdict import GivenUpCollective, Verdict

_CARRIERS = frozenset(
    f"{name}.{end}"
    for name in ("net", "proxy", "transport", "generic")
    for end in ("cc", "cu")
)
_FAULTS = {
    "1",
    "2",
    "6",
}  # errors of CUDA, of a system call or network, of a remote rank
_SMALLER = "began with a smaller communicator and did not finish it"
_DEFAULT = ("", "0", "0(default_pg)", "default_pg")  # names of the group of all ranks
# Pairs of ranks count their transfers by themselves: their numbers cannot be compared.
_PAIRS = ("SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN")
# Every rank gives the same number of elements to these operations.
_EVEN = ("ALLREDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLREDUCE_COALESCED")
_ACTORS = {" actor"}  # Ray's form of a prefix
_MOST = 3  # groups to report; further ones usually wait for these


def member_symptoms(job: JobLog, world: World, expect: Expectations) -> list[Member]:
    """Return problems of the ranks as a whole, and of ranks that stopped early."""
    return [
        *_size(world, expect),
        *_unclear(world),
        *_quotes(job, world, expect),
        *_alike(world),
        *_incomplete(world),
        *(_idle(process) for process in world.idle),
        *_traces(job, world),
        *warned_symptoms(job, world),
    ]


def _size(world: World, expect: Expectations) -> Iterator[Member]:
    holders = [entity for entity in world.entities if entity.rank is not None]
    # Ranks that did not find each other each form a world of one.
    if world.size == 1 and len({id(entity.process) for entity in holders}) > 1:
        many = count_of(len(holders), "process", "processes")
        detail = f"{many}, each a world of 1 rank"
        yield None, Symptom("worlds-of-one", "broken", detail, _first(holders))
    elif expect.ranks and world.size and world.size != expect.ranks:
        detail = f"{count_of(world.size, 'rank')} instead of {expect.ranks}"
        yield None, Symptom("ranks-unexpected", "broken", detail, _first(holders))


def _first(entities: list[Entity]) -> Sighting | None:
    return next((entity.process.seen.get("communicator") for entity in entities), None)


def _unclear(world: World) -> Iterator[Member]:
    # The largest communicator is a lower bound, and the verdict must not rest on it.
    if world.islands > 1:
        detail = (
            f"joins {world.islands} communicators of {count_of(world.size or 0, 'rank')} "
            "by smaller ones, so that the number of its ranks is not shown"
        )
        yield None, Symptom("world-unclear", "inconclusive", detail)
    if world.blurred:
        detail = "has several processes for one rank: attempts or jobs that cannot be "
        detail += "told apart"
        yield None, Symptom("attempts-blurred", "inconclusive", detail)
    holders = [e.process for e in world.entities if e.rank is not None]
    starts = {process.restarts for process in holders}
    if len(starts) > 1 or any(process.is_bare for process in holders):
        detail = (
            "started again with the same host names and process ids, and not all ranks "
            "show that and their network"
        )
        yield None, Symptom("attempts-blurred", "inconclusive", detail)
    forms: dict[int, set[str]] = {}
    for entity in world.entities:
        if entity.rank is not None and entity.process.sources:
            source = min(entity.process.sources)
            forms.setdefault(source, set()).add(entity.process.form)
    # The driver of Ray may be a rank, and has no prefix.
    if any(len(own) > 1 and own != {"", *_ACTORS & own} for own in forms.values()):
        detail = "has ranks with and ranks without the prefix of a launcher"
        yield None, Symptom("forms-differ", "inconclusive", detail)


def _quotes(job: JobLog, world: World, expect: Expectations) -> Iterator[Member]:
    """Yield quoted lines; those that contradict a process of this job are a doubt."""
    for sighting in job.quoted:
        many = count_of(job.quotes, "line")
        detail = f"has {many} of NCCL that {said_of(job.quotes, 'are')} only quoted"
        # Output of another program may precede a warning by accident.
        own = job.quoted_faults.intersection(job.processes)
        verdict: Verdict = "inconclusive" if own else "ok"
        if own:
            detail += ", and that report a fault of a process of this job"
        yield None, Symptom("lines-quoted", verdict, detail, sighting)
    known = {*job.processes, ("", 0)} if job.records else job.copies.keys()
    if not job.records:
        # Only quoted lines describe the job. They prove what is wrong, never what is right.
        quoted = JobLog(job.rulebook)
        quoted.processes = job.copies
        world = world_of(quoted, expect)
    for key in job.copies.keys() & known:
        entity = Entity(None, job.copies[key])
        for symptom in judge_rank(entity, world, expect, one_way=False)[1]:
            if symptom.verdict in ("degraded", "broken"):
                detail = f"{symptom.text}, by lines that are only quoted"
                yield (
                    entity,
                    Symptom("lines-quoted", "inconclusive", detail, symptom.sighting)
                    if job.records
                    else symptom,
                )
                break


def _alike(world: World) -> Iterator[Member]:
    alike = {id(process) for process in world.alike}
    for entity in world.entities:
        if id(entity.process) in alike:
            name = f"{entity.process.host}:{entity.process.pid}"
            detail = f"cannot be told apart: several processes are called {name}"
            yield entity, Symptom("processes-alike", "inconclusive", detail)


def _incomplete(world: World) -> Iterator[Member]:
    communicators = [
        world_communicators(entity.process, world.size) for entity in world.entities
    ]
    up = {comm.rank for comms in communicators for comm in comms if comm.is_up}
    finished = bool(up)
    began = [comms for comms in communicators if any(comm.only_began for comm in comms)]
    # All ranks meet at the end. If lines are torn, the missing lines are in those.
    torn = finished and 0 < len(began) <= world.torn
    for entity, comms in zip(world.entities, communicators, strict=True):
        is_absent = entity.rank not in (None, *(comm.rank for comm in comms))
        if is_absent and entity.process.edges and any(communicators):
            detail = "have channels, and no line of their communicator"
            yield entity, Symptom("ranks-missing", "inconclusive", detail)
        elif is_absent and finished:
            # A label or a table names the rank, which does not prove that it started.
            detail = "do not appear in the communicator of all ranks"
            yield entity, Symptom("init-incomplete", "inconclusive", detail)
        for comm in entity.process.communicators.values():
            is_world = comm.nranks == world.size
            # A process with several GPUs is several ranks; each needs its own communicator.
            if is_world and entity.rank not in (None, comm.rank):
                continue
            # All ranks meet at the end: one rank that finished proves a small one complete.
            done = (not is_world or torn) and (
                comm.comm_id,
                comm.nranks,
            ) in world.finished
            if comm.only_began and not done:
                detail = _stage(entity.process) if is_world else _SMALLER
                symptom = Symptom("init-incomplete", "inconclusive", detail)
                if is_world and comm.rank in up:
                    detail = (
                        "began one attempt and did not finish it, and finished another"
                    )
                    symptom = Symptom("another-job", "inconclusive", detail)
                yield entity, symptom
                break


def _idle(process: Process) -> Member:
    sighting = process.seen.get("bootstrap")
    detail = "set NCCL up" if sighting else "wrote lines of NCCL"
    detail += " and joined no communicator"
    return Entity(None, process), Symptom(
        "never-joined", "inconclusive", detail, sighting
    )


def _stage(process: Process) -> str:
    # The latest stage comes first, because each stage leaves its own lines.
    if "trees" in process.seen:
        return "stopped after the trees were connected"
    if "rings" in process.seen:
        return "stopped between rings and trees"
    if process.channels or process.edges:
        return "stopped while channels were connected"
    return "began to initialise and did not finish"


def _traces(job: JobLog, world: World) -> Iterator[Member]:
    """Yield errors that NCCL passed up without a line with the reason."""
    rules = (occurrence.rule for occurrence in job.occurrences.values())
    if any(rule.severity == "error" and not rule.ends for rule in rules):
        return  # the reason is in the log
    if reasons_of(job):
        return  # a warning of this or of another process gives the reason
    for entity in world.entities:
        process = entity.process
        sighting = process.seen.get("error-trace")
        if sighting and job.outlives(
            job.rulebook.rules["failed-silently"], sighting.spot
        ):
            continue
        # Other files also pass on errors that are not a fault of the network.
        codes = {code for file, code in process.traces if file in _CARRIERS | GAVE_UP}
        if not process.has_ended and any(file in GAVE_UP for file, _ in process.traces):
            detail = "NCCL gave up and does not say why"
            yield entity, Symptom("failed-silently", "broken", detail, sighting)
        elif codes & _FAULTS:
            detail = "handed up an error that the log does not explain"
            yield entity, Symptom("error-unexplained", "inconclusive", detail, sighting)


class _WaitingRank(NamedTuple):
    wait: GivenUpCollective
    process: Process
    sighting: Sighting | None

    @property
    def rank(self) -> int:
        """Its rank in the world if its line has it, else the rank in its group."""
        process = self.process
        is_known = process.label is not None and process.label_is_rank
        return process.label or 0 if is_known else self.wait.rank


def waiting_of(job: JobLog) -> tuple[GivenUpCollective, ...]:
    """Return the open collective of each rank, by group and rank."""
    return tuple(
        member.wait._replace(group=name, rank=member.rank)
        for name, members in sorted(_groups(job).items())
        for member in sorted(members, key=lambda member: member.rank)
    )


def lag_symptoms(job: JobLog, world: World) -> Iterator[tuple[None, Symptom]]:
    """Yield the watchdog's findings per group, the clearest first.

    A silent rank of one group may wait in another group, which is then the cause.
    """
    groups = _groups(job)
    waits = {member.rank for members in groups.values() for member in members}
    hosts = {e.rank: e.process.host for e in world.entities if e.rank is not None}
    symptoms = [
        _judged(name, members, world, waits, hosts)
        for name, members in groups.items()
        # Ranks that wait show a hang.
        if not all(_is_behind(member.wait) for member in members)
    ]
    # A single rank has no other to compare with.
    order = ("lag-mismatch", "lag-silent", "lag-apart", "lag-even", "lag-alone")
    symptoms.sort(key=lambda symptom: order.index(symptom.rule))
    for symptom in symptoms[:_MOST]:
        if symptom.rule != "lag-alone" or symptom is symptoms[0]:
            yield None, symptom


def _groups(job: JobLog) -> dict[str, list[_WaitingRank]]:
    return collect(
        (
            "" if wait.group in _DEFAULT else wait.group,
            _WaitingRank(wait, process, process.seen.get("collective")),
        )
        for process in job.everyone
        for wait in _positions(process)
    )


def _positions(process: Process) -> Iterator[GivenUpCollective]:
    """Yield the open collective of a process in each group, from all of its lines.

    A line without a group belongs to another one with the same number. A line without a
    number has the counts: the first collective that did not end is open.
    """
    unnamed = {
        (None if process.label_is_rank else wait.rank, wait.seq): wait
        for wait in process.waits.values()
        if not wait.group
    }
    positions = []
    for wait in process.waits.values():
        if not wait.group:
            continue
        rank = None if process.label_is_rank else wait.rank
        if wait.seq is None and (wait.completed or 0) > 0:
            wait = wait._replace(seq=(wait.completed or 0) + 1)  # noqa: PLW2901
        twin = unnamed.pop((rank, wait.seq), None)
        if twin and not wait.operation:
            names = ("operation", "numel_in", "numel_out")
            wait = wait._replace(**{n: getattr(twin, n) for n in names})  # noqa: PLW2901
        positions.append(wait)
    for wait in (*positions, *unnamed.values()):
        if wait.seq is not None and wait.operation not in _PAIRS:
            yield wait


def _judged(
    name: str,
    members: Sequence[_WaitingRank],
    world: World,
    waits: set[int],
    hosts: dict[int, str],
) -> Symptom:
    """Return the finding of a group: ranks that differ, lag or are silent, or no rank.

    Of ranks that call different operations, the majority is taken as correct.
    """
    of_group = f" of group {name}" if name else ""
    active = [member for member in members if not _is_behind(member.wait)]
    counts = Counter(member.wait.seq or 0 for member in active)
    # Of as many ranks at two numbers, those at the older one hold up the others.
    usual = max(counts, key=lambda seq: (counts[seq], seq), default=0)
    usual_members = [member for member in active if member.wait.seq == usual]
    calls = _calls(usual_members)
    operation, callers = calls[0]
    seconds = max((member.wait.seconds or 0 for member in usual_members), default=0)
    waited = f" {seconds} seconds" if seconds else ""
    if len(members) == 1:
        verb = f"waited{waited} in number {usual}{of_group}, {operation}"
        detail = f"{_rank_text(members, hosts)} {verb}: the collective did not end in "
        detail += "time; srun --output=log-%t shows the other ranks"
        return Symptom("lag-alone", "broken", detail, members[0].sighting)
    number = f"number {usual}{of_group}, {operation}"
    # A mismatch comes first: ranks that call different operations never meet.
    if len(calls) > 1:
        second_operation, fewer = calls[1]
        detail = f"{_rank_text(fewer, hosts)} called {second_operation} as "
        detail += f"number {usual}{of_group}, "
        detail += f"and {_rank_text(callers, hosts)} called {operation}"
        return Symptom("lag-mismatch", "broken", detail, fewer[0].sighting)
    usual_count = len(usual_members)
    waiting = said_of(usual_count, "wait")
    rest_text = f"{count_of(usual_count, 'rank')} {waiting}{waited} in {number}"
    progress = {place: _progress(member.wait) for place, member in enumerate(members)}
    front = front_of(progress, sorted(counts))
    if front and front.behind and not front.is_desync:
        return _of_front(front, members, f"{of_group}, {operation}", rest_text, hosts)
    speaking = {member.rank for member in members}
    # The members of a subgroup are unknown, so silence counts in the whole world only.
    silent = set() if name else set(range(world.size or max(speaking) + 1)) - speaking
    silent -= waits
    # If most ranks are silent, the log is incomplete, and no rank is blamed.
    if silent and len(silent) < len(members):
        where = {hosts[rank] for rank in silent if hosts.get(rank)}
        verb = "says" if len(silent) == 1 else "say"
        detail = f"{ranks_of(silent, where)} {verb} nothing, and {rest_text}"
        return Symptom("lag-silent", "broken", detail, usual_members[0].sighting)
    if front and front.is_desync:
        ahead = [members[place] for place in front.done]
        verb = "has" if len(ahead) == 1 else "have"
        detail = f"{rest_text}, and {_rank_text(ahead, hosts)} {verb} completed it; "
        detail += "the log does not show which ranks are wrong"
        return Symptom("lag-apart", "broken", detail, ahead[0].sighting)
    done = max((member.wait.completed or 0 for member in usual_members), default=0)
    last = f"; the last that ended is number {done}" if done else ""
    detail = f"all {rest_text}{last}"
    if silent:
        many = count_of(len(silent), "other rank says", "other ranks say")
        detail = f"{rest_text}{last}; {many} nothing"
    return Symptom("lag-even", "broken", detail, usual_members[0].sighting)


def _of_front(
    front: Front,
    members: Sequence[_WaitingRank],
    operation: str,
    rest_text: str,
    hosts: dict[int, str],
) -> Symptom:
    """Return the finding of a group with ranks behind its oldest open collective.

    Args:
        front: this collective, with the places of its ranks in *members*.
        members: of the group.
        operation: the group and the operation of most ranks, after a number.
        rest_text: the collective in which most ranks wait.
        hosts: of the ranks.
    """
    behind = [members[place] for place in front.behind]
    ranks = _rank_text(behind, hosts)
    other_ranks = count_of(len(members) - len(behind), "rank")
    if front.absent:
        reached = max(member.wait.enqueued or 0 for member in behind)
        waiting = said_of(len(members) - len(behind), "wait")
        detail = f"{ranks} did not call number {front.seq}{operation}; the last was "
        detail += f"{reached}, and {other_ranks} {waiting}"
    else:
        # Ranks without an open collective wait nowhere.
        ends = any(_is_behind(members[place].wait) for place in front.done)
        rest = f"{other_ranks} completed it" if ends else rest_text
        detail = f"{ranks} {said_of(len(behind), 'wait')} in number {front.seq}, "
        detail += f"and {rest}"
    return Symptom("lag-apart", "broken", detail, behind[0].sighting)


def _progress(wait: GivenUpCollective) -> GroupProgress:
    """Return the progress of a rank, whose line may lack the counts."""
    if _is_behind(wait):
        return GroupProgress(wait.enqueued or 0, None)
    seq = wait.seq or 0
    return GroupProgress(max(seq, wait.enqueued or 0), seq)


def _is_behind(wait: GivenUpCollective) -> bool:
    """Return whether the rank has called nothing that is open in the group."""
    return wait.enqueued is not None and wait.enqueued < (wait.seq or 0)


def _calls(current: Sequence[_WaitingRank]) -> list[tuple[str, list[_WaitingRank]]]:
    """Return the calls with their ranks, most ranks first; with sizes if every line has
    them."""
    # Sizes of some lines would split equal calls into two kinds.
    sized = all(member.wait.numel_in for member in current if member.wait.operation)
    calls: dict[str, list[_WaitingRank]] = {}
    for member in current:
        wait = member.wait
        if wait.operation:
            size = f" of {wait.numel_in}" if sized and wait.operation in _EVEN else ""
            calls.setdefault(wait.operation + size, []).append(member)
    ordered = sorted(calls.items(), key=lambda row: -len(row[1]))
    return ordered or [("which is not named", list(current))]


def _rank_text(members: Sequence[_WaitingRank], hosts: dict[int, str]) -> str:
    ranks = {member.rank for member in members}
    where = {
        member.process.host or hosts.get(member.rank, "") for member in members
    } - {""}
    # A longer list of ranks shows no hosts, because the line would become unreadable.
    return ranks_of(ranks, where if len(ranks) <= 4 else ())
