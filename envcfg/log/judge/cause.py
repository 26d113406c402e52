"""The first cause: which process ended first, the reason, the consequences, and the next
step.

The cause is the first error that no rule calls a consequence and that the job did not
outlive. If all ends are consequences, the cause is a silent rank that all others lost,
else the first exit code.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from envcfg.common.characters import one_line
from envcfg.log.judge.attempt import (
    Attempt,
    absent_of,
    by_step,
    others_of,
    silent_of,
)
from envcfg.log.numbers import ranks_of
from envcfg.log.read.endings import attempt_of
from envcfg.log.read.exceptions import End, LogException, TracebackFrame
from envcfg.log.read.line_owner import Owner, named
from envcfg.log.read.process_facts import Sighting, clip
from envcfg.log.read.rulebook import RAISED, LogRule
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.world import World

_SILENT, _ABSENT = "rank-left", "rank-absent"
_WIDE = 160  # characters of a message: it must fit in the summary line
# Addresses, pids and sizes change with each attempt: fingerprints leave numbers out.
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


class FirstEnd(NamedTuple):
    """The first end of a process in a job."""

    rule: LogRule  # rule that explains the end
    process: Owner  # process or ranks that ended
    says: str  # the event, as a verb phrase after the name of the process
    sighting: Sighting  # the line that shows it
    fingerprint: str  # equal for two attempts with the same end
    # The line of the program; None if the log does not show it.
    frame: TracebackFrame | None = None
    # Activity of the other ranks; empty if the log does not show it.
    other_ranks: str = ""

    @property
    def words(self) -> str:
        """Return the end in one sentence, without the other processes."""
        return one_line(f"{self.process.words} {self.says}")


def first_ends(job: JobLog, world: World) -> list[FirstEnd | None]:
    """Return the first end of each attempt of the job; None if no line reports it."""
    endings = job.endings
    events: list[LogException | End] = [*endings.tracebacks.found]
    # A traceback explains more than a line, so its lines are not separate events.
    occurrences = job.occurrences
    thrown = {
        part.sighting.spot
        for event in endings.tracebacks.found
        for part in filter(None, (event, event.earlier))
    }
    starts = endings.starts()
    events += [
        line
        for line in endings.lines
        if (line.rule.event or line.sighting.spot not in thrown)
        and (
            # A rule that was downgraded for this job does not report an end.
            line.rule.id not in occurrences
            or occurrences[line.rule.id].rule.severity == line.rule.severity
            or attempt_of(line.sighting.spot, starts) < len(starts)
        )
    ]
    if _is_handled(endings.lines):
        events = [event for event in events if isinstance(event, End)]
    attempts = [
        [
            event
            # Earlier attempts ended, because another attempt followed them.
            for event in events
            if attempt_of(event.sighting.spot, starts) == number
            and (number < len(starts) or job.weights.get(id(event)) == "counts")
        ]
        for number in range(len(starts) + 1)
    ]
    return [
        _of_steps(
            [
                _first_of(Attempt(step, job, world), job, world)
                for step in by_step(attempt)
            ]
        )
        for attempt in attempts
    ]


def _of_steps(firsts: Sequence[FirstEnd | None]) -> FirstEnd | None:
    """Return the first end that is a cause, with that of another step of the job."""
    steps = [first for first in firsts if first]
    if not steps:
        return None
    causes = [step for step in steps if not step.rule.consequence]
    first = causes[0] if causes else steps[0]
    for step in causes:
        if step.fingerprint != first.fingerprint:
            parts = filter(None, (first.other_ranks, f"another step: {step.words}"))
            return first._replace(other_ranks="; ".join(parts))
    return first


def _is_handled(lines: Iterable[End]) -> bool:
    """Return whether exit codes show that no exception ended a process.

    Python ends with 1 after an exception, and a signal or a killed process has another
    form. With only other codes, a program chose its code: it handled the exceptions in the
    log, or these are of another step that wrote to the same output.
    """
    codes = {line.fields.get("code") for line in lines if line.rule.event == "ended"}
    return bool(codes) and all(
        code and code.isdecimal() and 1 < int(code) < 126 for code in codes
    )


def _first_of(attempt: Attempt, job: JobLog, world: World) -> FirstEnd | None:
    """Return the process that ended first, with the reason; None if no line reports it.

    Evidence in this order, the strongest first: a line by which the job was stopped
    before any other end; a rank that never came, without any other
    cause; a silent rank that all others lost; the first exception or end that may be a
    cause; an exit code or a signal; ranks that waited in vain; an exception that only
    follows from a lost process.
    """
    if stop := attempt.stop:
        step = stop.fields.get("step")
        owner = named(stop.fields) or Owner(process=f"step {step}" if step else "")
        return FirstEnd(stop.rule, owner, stop.says, stop.sighting, stop.rule.id)
    codes = [
        event for event in attempt.follow if isinstance(event, End) and event.rule.says
    ]
    # A killed rank writes nothing, and its silence is then no evidence of another fault.
    killed = any(code.who.ranks and not code.fields.get("code") for code in codes)
    silent = () if attempt.causes or killed else silent_of(attempt, world)
    codes = [code for code in codes if not _is_of_wait(code, attempt)]
    # The launcher's "root cause" comes first; the sort keeps the order of the others.
    codes.sort(key=lambda end: not end.root)
    if not attempt.causes and not killed and (end := absent_of(attempt)):
        rule, ranks = job.rulebook.rules[_ABSENT], end.who.ranks
        first = FirstEnd(
            rule, attempt.owner_of(ranks), rule.says, end.sighting, rule.id
        )
        # Without rank numbers the line's own rule says more than "a rank is absent".
        if not ranks:
            first = first._replace(rule=end.rule, says=end.says)
    elif silent:
        rule = job.rulebook.rules[_ABSENT if attempt.waits else _SILENT]
        where = attempt.follow[0].sighting
        first = FirstEnd(rule, attempt.owner_of(silent), rule.says, where, rule.id)
    elif attempt.causes and isinstance(attempt.causes[0], LogException):
        first = _of_thrown(attempt.causes[0], attempt)
    elif ends := [end for end in (*attempt.causes, *codes) if isinstance(end, End)]:
        # A report of torchrun lists the other failures before its root cause.
        roots = (end for end in ends if end.root and ends[0].rule.event == "failure")
        first = _of_line(next(roots, ends[0]), attempt)
    elif attempt.waits:
        return _of_waits(attempt)
    elif thrown := [
        event for event in attempt.follow if isinstance(event, LogException)
    ]:
        first = _of_thrown(thrown[0], attempt)
    else:
        return None
    first = first._replace(
        process=_of_node(first.process, job.endings.nodes, attempt.lines)
    )
    ranks, says = first.process.ranks, first.says
    if len(ranks) > 1:  # rules write of one process
        says = re.sub("^was ", "were ", says)
        if ranks == attempt.same_exits:
            says = re.sub("^(ended|crashed)(:| with)", r"\1 alike:", says)
    return first._replace(says=says, other_ranks=others_of(ranks, attempt))


def _is_of_wait(code: End, attempt: Attempt) -> bool:
    """Return whether *code* is the exit of a process that only waited for others."""
    # Exit code 1 is that of an uncaught exception, such as the time-out of a wait.
    if not attempt.waits or code.fields.get("code") != "1":
        return False
    waited = [attempt.process_of(wait).ranks for wait in attempt.waits]
    ranks = {rank for group in waited for rank in group}
    behind = code.sighting.spot > attempt.waits[0].sighting.spot
    # If the waiting ranks are unknown, only the order of the lines can decide.
    return ranks >= set(code.who.ranks) if all(waited) else behind


def _of_waits(attempt: Attempt) -> FirstEnd:
    """Return the ranks that waited and the ranks they waited for, if there is no other
    evidence."""
    ranks = {rank for wait in attempt.waits for rank in attempt.process_of(wait).ranks}
    if not ranks:  # their exit codes name the ranks
        codes = (line for line in attempt.lines if _is_of_wait(line, attempt))
        ranks = {rank for code in codes for rank in code.who.ranks}
    lines = [wait.fields for wait in attempt.waits if isinstance(wait, End)]
    names_given = {line.get("root") or line.get("first") for line in lines} - {None}
    whom = (
        ranks_of({int(name or 0) for name in names_given}) if names_given else "others"
    )
    displayed, says = attempt.waits[0], f"waited for {whom}, which never joined"
    rule = attempt.rule(displayed)
    print_ = f"{rule.id} {whom}"
    owner = attempt.owner_of(ranks) if ranks else attempt.process_of(displayed)
    return FirstEnd(rule, owner, says, displayed.sighting, print_)


def _of_node(
    owner: Owner, nodes: Mapping[str, tuple[int, ...]], ends: Iterable[End]
) -> Owner:
    """Return *owner* with the global rank if a launcher lists the ranks of its nodes.

    The node is that of the line, else that of the first agent that ended with an error.
    """
    if owner.ranks or owner.local is None or not nodes:
        return owner
    failed = (end.who.hosts for end in ends if {"tasks", "code"} <= set(end.fields))
    hosts = owner.hosts or next(failed, ())
    own = (
        nodes.get("".join(hosts[:1]), ())
        if len(nodes) > 1
        else next(iter(nodes.values()))
    )
    # A local rank outside the node's list means that the list is of another attempt.
    if owner.local >= len(own):
        return owner
    return owner._replace(ranks=(own[owner.local],), hosts=hosts)


def _of_line(end: End, attempt: Attempt) -> FirstEnd:
    owner = end.who if end.who.ranks else _owner_in_lines(end, attempt)
    # A line that a rank wrote is of that rank alone.
    if end.is_of_launcher and set(owner.ranks) <= set(attempt.same_exits):
        owner = owner._replace(ranks=attempt.same_exits)
    owner = attempt.owner_of(owner.ranks) if owner.ranks else owner
    # The rule alone is too coarse: two errors with different codes are different ends.
    message = _NUMBERS.sub("#", end.fields.get("said") or end.fields.get("code") or "")
    return FirstEnd(
        end.rule, owner, end.says, end.sighting, f"{end.rule.id} {message}".strip()
    )


def _owner_in_lines(end: End, attempt: Attempt) -> Owner:
    """Return the process that another line names for *end*, which names no rank."""
    owner = end.who
    with_ranks = [line for line in attempt.lines if line.who.ranks]
    # A task ended with an exit code or a signal of its own.
    failed = {
        line.who
        for line in with_ranks
        if "code" in line.fields
        or (line.rule.consequence and line.rule.severity == "error")
    }
    # A failed GPU also ends ranks on other nodes, which may exit first.
    if end.rule.class_ == "GPU" and len({writer.hosts for writer in failed}) > 1:
        failed = set()
    same = (
        line.who
        for line in with_ranks
        if (owner.local is not None and line.who.local == owner.local)
        or (owner == Owner() and line.says == end.says)
        or (owner == Owner() and "said" in end.fields and line.who in failed)
    )
    return next(same, owner)


def _of_thrown(thrown: LogException, attempt: Attempt) -> FirstEnd:
    print_ = fingerprint(thrown)
    raised = [end for end in attempt.ends if isinstance(end, LogException)]
    same = [thrown for thrown in raised if fingerprint(thrown) == print_]
    frame = _frame(thrown)
    text = clip(thrown.text, _WIDE)
    if thrown.earlier:
        text = f"{text}, {thrown.link} {clip(thrown.earlier.text, _WIDE)}"
    where = f" ({frame.short})" if frame else ""
    rule = attempt.rule(thrown)
    reason = rule.says if rule.event == RAISED else ""
    return FirstEnd(
        rule=rule,
        process=_raiser(same, attempt),
        says=f"ended: {reason}{text}{where}",
        sighting=thrown.sighting,
        fingerprint=print_,
        frame=frame,
    )


def _frame(thrown: LogException) -> TracebackFrame | None:
    # "raise ... from" names the true cause; "during handling" is a second error.
    deepest = thrown.earlier if thrown.link == "from" else None
    first = deepest and deepest.frame
    return first if first and not first.is_library else thrown.frame


def fingerprint(thrown: LogException) -> str:
    """Return type, place in the program and message without numbers."""
    frame = _frame(thrown)
    place = f"{frame.short.rpartition(':')[0]}:{frame.function}" if frame else ""
    message = _NUMBERS.sub("#", clip(thrown.message, _WIDE))
    return " ".join(filter(None, (thrown.kind, place, message)))


def _raiser(same: Sequence[LogException], attempt: Attempt) -> Owner:
    """Return the process that raised: by its prefix, else by the exit code in a
    launcher's line.

    A rank in the prefix is certain. A local rank is certain if an exit of the same local
    rank names its rank. Otherwise failed exits decide: the first one by the launcher, or
    all of them if the exception came several times. A process that lines name by itself
    does not get the rank of another exit.
    """
    ends = attempt.lines
    owners = [attempt.process_of(thrown) for thrown in same]
    if ranks := {rank for owner in owners for rank in owner.ranks}:
        return attempt.owner_of(ranks)
    owner_found = owners[0]._replace(process=same[0].process or owners[0].process)
    for end in ends:
        if (
            owner_found.local is not None
            and end.who.ranks
            and end.who.local == owner_found.local
        ):
            return attempt.owner_of(end.who.ranks)
    failed = [
        end
        for end in ends
        # A negative code is a signal, which an uncaught exception does not cause.
        if (end.fields.get("code") or "-")[0] != "-"
        and not (attempt.agents and "tasks" in end.fields)
    ]
    first = [end for end in failed if end.root] or failed[:1]
    if same[0].process or not first or owner_found != Owner():
        return owner_found
    alike = [*first, *(failed if len(same) > 1 else ())]
    ranks = {rank for end in alike for rank in end.who.ranks}.union(attempt.same_exits)
    return attempt.owner_of(ranks) if ranks else first[0].who
