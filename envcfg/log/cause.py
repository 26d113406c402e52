"""Which end of a process was the first, of what, what followed, and what to do next.

What no rule calls a consequence may be the cause: the first of these that the job did not
outlive. Where all ends are consequences, the cause is a rank that says nothing while all
others lost it, else the exit code that came first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from envcfg.characters import one_line
from envcfg.log.attempt import EXCEPTION, Attempt, absent_of, others_of, silent_of
from envcfg.log.facts import Sighting
from envcfg.log.job import Job
from envcfg.log.numbers import ranks_of
from envcfg.log.rulebook import Rule
from envcfg.log.thrown import End, Frame, Thrown
from envcfg.log.who import Who
from envcfg.log.world import World

_SILENT, _ABSENT = "rank-left", "rank-absent"
_WIDE = 160  # characters of a message in the first line
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


class First(NamedTuple):
    """What ended first.

    Attributes:
        rule: that says what it means.
        who: whose end it was.
        says: what happened, in words that go behind whose end it was.
        sighting: the line that shows it.
        fingerprint: the same for two attempts that end alike.
        frame: the line of the program; None where the log does not tell.
        others: what the others did; empty where the log does not tell.
        repeats: how many attempts before ended alike.
    """

    rule: Rule
    who: Who
    says: str
    sighting: Sighting
    fingerprint: str
    frame: Frame | None = None
    others: str = ""
    repeats: int = 0

    @property
    def words(self) -> str:
        """The end in one sentence, without what the others did."""
        return one_line(f"{self.who.words} {self.says}")


def first_end(job: Job, world: World) -> First | None:
    """Return what ended the job first; None where no line tells of an end."""
    endings = job.endings
    known: list[Thrown | End] = [*endings.tracebacks.found]
    # A line means an end beside all that the log holds.
    seen = job.occurrences
    known += [
        each
        for each in endings.lines
        if each.rule.id not in seen
        or seen[each.rule.id].rule.severity == each.rule.severity
    ]
    if not known:
        return None
    ended = any(not each.is_doubtful for each in endings.lines)
    last = len(endings.starts)
    attempts = [
        Attempt(
            (
                each
                for each in known
                if endings.attempt(each) == number
                and (number < last or not _is_over(each, job, ended=ended))
            ),
            endings,
        )
        for number in range(last + 1)
    ]
    firsts = [_first_of(each, job, world) for each in attempts]
    found = firsts.pop()
    alike = sum(
        each.fingerprint == found.fingerprint for each in firsts if each and found
    )
    return found and found._replace(repeats=alike)


def _is_over(each: Thrown | End, job: Job, *, ended: bool) -> bool:
    if job.endings.is_over(each, ended=ended):
        return True
    rule = each.rule if isinstance(each, End) else job.rulebook.rules[EXCEPTION]
    spot = each.sighting.spot
    return job.outlives(rule, spot) or (not ended and bool(job.life.behind(spot)))


def _first_of(attempt: Attempt, job: Job, world: World) -> First | None:
    """Return who ended first and of what; None: no line says it.

    In this order, as each says less than the one before: a rank that never came, where
    nothing else is a cause; a rank that says nothing while all others lost somebody; the
    first exception or end that may be a cause; an exit code or a signal; those who waited
    in vain for others; an exception that only follows from a lost process.
    """
    hosts = _hosts(attempt.lines, world)
    codes = [
        each for each in attempt.follow if isinstance(each, End) and each.rule.says
    ]
    # Who was killed says nothing; others say nothing as they were ended after it.
    killed = any(each.who.ranks and "code" not in each.fields for each in codes)
    silent = () if attempt.causes or killed else silent_of(attempt, world)
    codes = [each for each in codes if not _is_of_wait(each, attempt)]
    codes.sort(key=lambda each: not each.root)
    if not attempt.causes and not killed and (shown := absent_of(attempt)):
        rule, ranks = job.rulebook.rules[_ABSENT], shown.who.ranks
        found = First(rule, _at(ranks, hosts), rule.says, shown.sighting, rule.id)
        if not ranks:
            found = found._replace(rule=shown.rule, says=shown.says)
    elif silent:
        rule = job.rulebook.rules[_ABSENT if attempt.waits else _SILENT]
        where = attempt.follow[0].sighting
        found = First(rule, _at(silent, hosts), rule.says, where, rule.id)
    elif attempt.causes and isinstance(attempt.causes[0], Thrown):
        found = _of_thrown(attempt.causes[0], attempt, hosts)
    elif ends := [each for each in (*attempt.causes, *codes) if isinstance(each, End)]:
        found = _of_line(ends[0], attempt, hosts)
    elif attempt.waits:
        return _of_waits(attempt, hosts)
    elif thrown := [each for each in attempt.follow if isinstance(each, Thrown)]:
        found = _of_thrown(thrown[0], attempt, hosts)
    else:
        return None
    found = found._replace(who=_of_node(found.who, job.endings.nodes, attempt.lines))
    return found._replace(others=others_of(found.who.ranks, job, attempt))


def _is_of_wait(code: End, attempt: Attempt) -> bool:
    """Return whether *code* is how one ended whose exception says that it waited."""
    if not attempt.waits or code.fields.get("code") != "1":
        return False
    waited = [attempt.whose(each).ranks for each in attempt.waits]
    ranks = {rank for each in waited for rank in each}
    behind = code.sighting.spot > attempt.waits[0].sighting.spot
    return ranks >= set(code.who.ranks) if all(waited) else behind


def _of_waits(attempt: Attempt, hosts: Mapping[int, str]) -> First:
    """Return who waited for whom, where nobody else says anything."""
    ranks = {rank for each in attempt.waits for rank in attempt.whose(each).ranks}
    if not ranks:  # their exits tell
        codes = (each for each in attempt.lines if _is_of_wait(each, attempt))
        ranks = {rank for each in codes for rank in each.who.ranks}
    lines = [each.fields for each in attempt.waits if isinstance(each, End)]
    named = {each.get("root") or each.get("first") for each in lines} - {None}
    whom = ranks_of({int(each or 0) for each in named}) if named else "others"
    shown, says = attempt.waits[0], f"waited in vain for {whom}"
    rule = attempt.rule(shown)
    print_ = f"{rule.id} {whom}"
    return First(rule, _at(sorted(ranks), hosts), says, shown.sighting, print_)


def _of_node(
    who: Who, nodes: Mapping[str, tuple[int, ...]], ends: Iterable[End]
) -> Who:
    """Name the rank of a local one where a launcher tells which ranks its nodes have.

    The node is what the lines say, else that whose agent ended with an error first.
    """
    if who.ranks or who.local is None or not nodes:
        return who
    failed = (each.who.hosts for each in ends if {"tasks", "code"} <= set(each.fields))
    hosts = who.hosts or next(failed, ())
    own = (
        nodes.get("".join(hosts[:1]), ())
        if len(nodes) > 1
        else next(iter(nodes.values()))
    )
    if who.local >= len(own):
        return who
    return who._replace(ranks=(own[who.local],), hosts=hosts)


def _of_line(end: End, attempt: Attempt, hosts: Mapping[int, str]) -> First:
    who = end.who
    if not who.ranks:
        # Another line may say the same of a rank, or with which code it ended.
        same = (
            each.who
            for each in attempt.lines
            if each.who.ranks
            and (
                (who.local is not None and each.who.local == who.local)
                or (who == Who() and each.says == end.says)
                or (who == Who() and "said" in end.fields and "code" in each.fields)
            )
        )
        who = next(same, who)
    who = _at(who.ranks, hosts) if who.ranks else who
    said = _NUMBERS.sub("#", end.fields.get("said") or end.fields.get("code") or "")
    return First(end.rule, who, end.says, end.sighting, f"{end.rule.id} {said}".strip())


def _of_thrown(thrown: Thrown, attempt: Attempt, hosts: Mapping[int, str]) -> First:
    print_ = fingerprint(thrown)
    raised = [each for each in attempt.ends if isinstance(each, Thrown)]
    same = [each for each in raised if fingerprint(each) == print_]
    frame = _frame(thrown)
    text = _cut(thrown.text)
    if thrown.earlier:
        text = f"{text}, {thrown.link} {_cut(thrown.earlier.text)}"
    where = f" ({frame.short})" if frame else ""
    return First(
        rule=attempt.rule(thrown),
        who=_who(same, attempt, hosts),
        says=f"ended: {text}{where}",
        sighting=thrown.sighting,
        fingerprint=print_,
        frame=frame,
    )


def _frame(thrown: Thrown) -> Frame | None:
    deepest = thrown.earlier if thrown.link == "from" else None
    first = deepest and deepest.frame
    return first if first and not first.is_library else thrown.frame


def _cut(text: str) -> str:
    return text if len(text) <= _WIDE else text[: _WIDE - 3] + "..."


def fingerprint(thrown: Thrown) -> str:
    """Return type, place in the program and message without numbers."""
    frame = _frame(thrown)
    place = f"{frame.short.rpartition(':')[0]}:{frame.function}" if frame else ""
    message = _NUMBERS.sub("#", _cut(thrown.message))
    return " ".join(filter(None, (thrown.kind, place, message)))


def _who(same: Sequence[Thrown], attempt: Attempt, hosts: Mapping[int, str]) -> Who:
    """Return who threw: by what stands in front, else by the exit that a launcher shows.

    A rank in the prefix is certain. A local rank is, where an exit of the same local rank
    names the rank. Else the exits that failed tell: the one that the launcher calls the
    first, all of them where the exception came several times. A process that the lines name
    by itself is not given the rank of another's exit.
    """
    ends = attempt.lines
    found = [attempt.whose(each) for each in same]
    if ranks := {rank for each in found for rank in each.ranks}:
        return _at(sorted(ranks), hosts)
    named = found[0]._replace(process=same[0].process or found[0].process)
    for each in ends:
        if named.local is not None and each.who.ranks and each.who.local == named.local:
            return _at(each.who.ranks, hosts)
    failed = [
        each
        for each in ends
        if (each.fields.get("code") or "-")[0] != "-"
        and not (attempt.agents and "tasks" in each.fields)
    ]
    first = [each for each in failed if each.root] or failed[:1]
    if same[0].process or not first or named != Who():
        return named
    alike = [*first, *(failed if len(same) > 1 else ())]
    ranks = {rank for each in alike for rank in each.who.ranks}
    return _at(sorted(ranks), hosts) if ranks else first[0].who


def _at(ranks: Sequence[int], hosts: Mapping[int, str]) -> Who:
    names = dict.fromkeys(hosts[rank] for rank in ranks if rank in hosts)
    return Who(ranks=tuple(ranks), hosts=tuple(names))


def _hosts(ends: Iterable[End], world: World) -> dict[int, str]:
    """Return the node of each rank, by the lines that name both."""
    hosts = {
        entity.rank: entity.process.host
        for entity in world.entities
        if entity.rank is not None and entity.process.host
    }
    for each in ends:
        if len(each.who.hosts) == 1:
            hosts.update(dict.fromkeys(each.who.ranks, each.who.hosts[0]))
    return hosts
