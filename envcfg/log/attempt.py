"""One attempt of a job: what ended in it, and what ranks did that did not end first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envcfg.log.endings import Endings, has_agents, in_order
from envcfg.log.job import Job
from envcfg.log.numbers import count_of
from envcfg.log.rulebook import RAISED, Rule
from envcfg.log.thrown import ABSENT, End, Thrown
from envcfg.log.who import Who
from envcfg.log.world import World

EXCEPTION = "program-exception"
_MOST_RANKS = 1 << 16


class Attempt:
    """The ends of one attempt of a job.

    Attributes:
        ends: in their order.
        follow: of them, what only follows from another end.
        waits: of them, what says that somebody waited for others in vain.
        causes: of them, what may have been the first.
        lines: of them, what one line tells.
        agents: tasks of the starter are agents, and no ranks.
    """

    def __init__(self, ends: Iterable[Thrown | End], endings: Endings) -> None:
        """Take in *ends*, which *endings* knows."""
        self.ends = in_order(list(ends))
        self._endings = endings
        self.waits = [each for each in self.ends if self.rule(each).event == ABSENT]
        self.follow = [
            each
            for each in self.ends
            if self.rule(each).consequence
            and (isinstance(each, Thrown) or each not in self.waits)
        ]
        self.causes = []
        for each in self.ends:
            # Does it say that a program ended, and not what its network did?
            rule = self.rule(each)
            if isinstance(each, End):
                ended = bool(rule.says or rule.ends) and rule.event != ABSENT
            else:
                ended = rule.ends or rule.event == RAISED or rule.severity != "error"
                ended = ended and not rule.benign
            if ended and not rule.consequence:
                self.causes.append(each)
        self.lines = [each for each in self.ends if isinstance(each, End)]
        self.agents = has_agents(self.lines)

    def rule(self, each: Thrown | End) -> Rule:
        """Return the rule that knows *each*."""
        if isinstance(each, End):
            return each.rule
        rules = self._endings.rulebook.rules
        return self._endings.rule_of(each) or rules[EXCEPTION]

    def whose(self, each: Thrown | End) -> Who:
        """Return whose end *each* was; nobody where the task is an agent."""
        who = self._endings.whose(each) if isinstance(each, Thrown) else each.who
        if isinstance(each, End) and each.rule.event == ABSENT:
            who = each.speaker  # he speaks of another
        return Who() if self.agents and who.is_task else who


def others_of(ranks: Sequence[int], job: Job, attempt: Attempt) -> str:
    """Say how many others report that they lost somebody, else how many were ended.

    Tasks of the starter that are agents are not ranks.
    """
    follow = attempt.follow
    lost: set[object] = {
        rank
        for each in follow
        if isinstance(each, Thrown)
        for rank in attempt.whose(each).ranks
    }
    for occurrence in job.occurrences.values():
        if occurrence.rule.severity != "error" or occurrence.rule.ends:
            continue
        for process in occurrence.processes.values():
            own = {comm.rank for comm in process.communicators.values()}
            if process.label is not None:
                if process.label_is_rank or not attempt.agents:
                    lost.add(process.label)
            elif process.pid is not None:
                lost.update(own or {process.key})
    if waited := lost - set(ranks):
        return f"{count_of(len(waited), 'rank')} waited for it"
    ended = {
        rank
        for each in follow
        if isinstance(each, End)
        and not each.root
        and (not attempt.agents or each.rule.event == "failure")
        for rank in each.who.ranks
    } - set(ranks)
    if not ranks or not ended:
        return ""
    return f"{count_of(len(ended), 'other rank')} ended after it"


def absent_of(attempt: Attempt) -> End | None:
    """Return the line that says for whom others waited in vain, or how many did not come.

    Who did not come is known where those that complain are told apart, and are the rest.
    """
    lines = [each for each in attempt.waits if isinstance(each, End)]
    counted = next((each for each in lines if each.fields.get("size")), None)
    if counted:
        came, size = (int(counted.fields[name] or 0) for name in ("came", "size"))
        thrown = [each for each in attempt.ends if isinstance(each, Thrown)]
        shown = {rank for each in thrown for rank in attempt.whose(each).ranks}
        if size <= _MOST_RANKS and len(shown) == came and not attempt.agents:
            left = sorted(set(range(size)) - shown)
            counted.who = Who(ranks=tuple(left))
    return next((each for each in lines if each.who.ranks), counted)


def silent_of(attempt: Attempt, world: World) -> tuple[int, ...]:
    """Return the ranks that say nothing, where most others say that they lost somebody."""
    follow = attempt.follow
    if not any(isinstance(each, Thrown) for each in follow):
        return ()
    shown = {rank for each in follow for rank in attempt.whose(each).ranks}
    size = max([world.size or 0, *(rank + 1 for rank in shown)])
    silent = tuple(rank for rank in range(size) if rank not in shown)
    return silent if len(silent) <= size // 4 else ()
