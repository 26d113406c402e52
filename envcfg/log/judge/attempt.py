"""One attempt of a job: the process that ended first, and the reactions of the other
ranks."""

import re
from collections.abc import Iterable, Sequence

from envcfg.log.numbers import count_of
from envcfg.log.read.endings import has_agents, in_order
from envcfg.log.read.exceptions import ABSENT, STOPPED, End, LogException
from envcfg.log.read.line_owner import Owner
from envcfg.log.read.rulebook import RAISED, LogRule
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.world import World

EXCEPTION = "program-exception"
_MOST_RANKS = 1 << 16
# A shell that a program started for one command; a script has its own name here.
_SHELL = re.compile(r"(?:^|[ /])(?:ba|da)?sh: (?:line )?1: ")


class Attempt:
    """The ends of one attempt of a job."""

    def __init__(
        self, ends: Iterable[LogException | End], job: JobLog, world: World
    ) -> None:
        """Add *ends*, which *job* holds, of processes of its *world*."""
        self.ends = in_order(list(ends))  # in their order
        self._endings = job.endings
        # Those that report waiting in vain for others.
        self.waits = [event for event in self.ends if self.rule(event).event == ABSENT]
        # Those that only follow from another end.
        self.follow = [
            event
            for event in self.ends
            if self.rule(event).consequence
            and (isinstance(event, LogException) or event not in self.waits)
        ]
        self.causes = []  # those that may have been the first
        for end in self.ends:
            # The cause must be the end of a program, not a report on its network.
            rule = self.rule(end)
            if isinstance(end, End):
                ended = bool(rule.says or rule.ends) and rule.event != ABSENT
            else:
                ended = rule.ends or rule.event == RAISED or rule.severity != "error"
                ended = ended and not rule.benign
            if ended and not rule.consequence:
                self.causes.append(end)
        # Those in a single line.
        self.lines = [event for event in self.ends if isinstance(event, End)]
        # The node of each rank, by the lines that name both. Lines of exits come after
        # those of NCCL, and win: they name rank and node together.
        self._hosts = {
            entity.rank: entity.process.host
            for entity in world.entities
            if entity.rank is not None and entity.process.host
        }
        for line in self.lines:
            if len(line.who.hosts) == 1:
                self._hosts.update(dict.fromkeys(line.who.ranks, line.who.hosts[0]))
        self.causes = self._without_survived(self.causes)
        # True if tasks of the starter are agents, and no ranks.
        self.agents = has_agents(self.lines)
        self.causes = self._of_failed(self.causes)
        self.lost = self._lost(job)
        self.same_exits = self._same_exits()
        # Line that ended the whole attempt, before any other end; None without one.
        self.stop = self._first_stop()
        if self.stop is None:  # an end came before those lines
            self.causes = [c for c in self.causes if not _is_stop(self.rule(c))]
        self._sort_causes()

    def _sort_causes(self) -> None:
        """Move the system's report of the first cause before it, if it is of a node with
        an exit."""
        first = self.rule(self.causes[0]).id if self.causes else ""
        nodes = {
            host
            for end in self.lines
            if "tasks" in end.fields
            for host in end.who.hosts
        }
        self.causes.sort(
            key=lambda end: (
                first not in self.rule(end).explains
                or not nodes.issuperset(self.process_of(end).hosts)
            )
        )

    def _lost(self, job: JobLog) -> set[object]:
        """Return the ranks, or processes without a known rank, that report a loss."""
        lost: set[object] = {
            rank
            for event in self.follow
            if isinstance(event, LogException)
            for rank in self.process_of(event).ranks
        }
        for occurrence in job.occurrences.values():
            if occurrence.rule.severity != "error" or occurrence.rule.ends:
                continue
            for process in occurrence.processes.values():
                own = {comm.rank for comm in process.communicators.values()}
                if process.label is not None:
                    if process.label_is_rank or not self.agents:
                        lost.add(process.label)
                elif process.pid is not None:
                    lost.update(own or {process.key})
        return lost

    def _same_exits(self) -> tuple[int, ...]:
        """Return the ranks of all exits that launchers report, if one follows the other
        and all are the same; none if tasks are agents, or a rank may have lost others."""
        exits = [end for end in self.lines if end.who.ranks and end.is_of_launcher]
        lost = any(isinstance(event, LogException) for event in self.follow)
        is_same = len(exits) > 1 and len({end.says for end in exits}) == 1
        if not is_same or self.agents or lost or self.lost:
            return ()
        first = self.lines.index(exits[0])
        if exits != self.lines[first : first + len(exits)]:
            return ()  # others were ended after the first
        return tuple(sorted({rank for end in exits for rank in end.who.ranks}))

    def _first_stop(self) -> End | None:
        """Return the line by which a scheduler, a user or envcfg ended this attempt.

        All that follows is a consequence. An end before it is the cause, except one that
        a signal explains: other nodes may react before the line is printed.
        """
        stops: list[End] = []
        for event in self.ends:
            rule = self.rule(event)
            if isinstance(event, End) and _is_stop(rule):
                stops.append(event)
            elif not stops and not _is_reaction(event, rule):
                return None
        # A line on the job explains that on its step, and the scheduler's that of srun.
        stops.sort(key=lambda end: (end.rule.consequence, bool(end.fields.get("step"))))
        return stops[0] if stops else None

    def _without_survived(
        self, causes: list[LogException | End]
    ) -> list[LogException | End]:
        """Return *causes* without missing commands that a program ran in a shell.

        If no exit code is that of a missing command, the program went on without it.
        """
        remaining = [
            cause
            for cause in causes
            if isinstance(cause, LogException)
            or cause.rule.event != "lacking"
            or not _SHELL.search(cause.sighting.text)
        ]
        codes = {line.fields.get("code") for line in self.lines} - {None}
        raised = any(isinstance(end, LogException) for end in self.ends)
        survived = codes and not codes & {"126", "127"}
        return remaining if survived and (remaining or raised) else causes

    def _of_failed(self, causes: list[LogException | End]) -> list[LogException | End]:
        """Return *causes* without exceptions of ranks that did not fail.

        If launchers report exit codes of ranks that raised, then another rank that raised
        and has no exit code caught its exception.
        """
        failed = {
            rank
            for end in self.lines
            if end.fields.get("code")
            for rank in self.process_of(end).ranks
        }
        ranks = [set(self.process_of(cause).ranks) for cause in causes]
        if not any(own & failed for own in ranks):
            return causes
        return [
            cause
            for cause, own in zip(causes, ranks, strict=True)
            if not own or own & failed or isinstance(cause, End)
        ]

    def rule(self, event: LogException | End) -> LogRule:
        """Return the rule that matched *event*."""
        if isinstance(event, End):
            return event.rule
        rules = self._endings.rulebook.rules
        return self._endings.rule_of(event) or rules[EXCEPTION]

    def owner_of(self, ranks: Iterable[int]) -> Owner:
        """Return *ranks* with their nodes, as far as they are known."""
        ranks = tuple(sorted(ranks))
        names = dict.fromkeys(self._hosts[r] for r in ranks if r in self._hosts)
        return Owner(ranks=ranks, hosts=tuple(names))

    def process_of(self, event: LogException | End) -> Owner:
        """Return the process that ended; unknown if the task is an agent."""
        owner = (
            self._endings.process_of(event)
            if isinstance(event, LogException)
            else event.who
        )
        if isinstance(event, End) and event.rule.event == ABSENT:
            owner = event.speaker  # the writer reports another process
        return Owner() if self.agents and owner.is_task else owner


def by_step(ends: Iterable[LogException | End]) -> list[list[LogException | End]]:
    """Return *ends* by the step of the job, one list or more.

    srun reports a task of a step once, so that a second report of it is of another step.
    """
    steps: list[list[LogException | End]] = [[]]
    tasks: set[tuple[int, int]] = set()
    new: list[LogException | End] = []
    for end in in_order(list(ends)):
        new.append(end)
        if isinstance(end, LogException) or not end.fields.get("tasks"):
            continue
        own = {(end.sighting.spot.source, rank) for rank in end.who.ranks}
        if own & tasks:
            steps.append([])
            tasks.clear()
        tasks |= own
        steps[-1] += new
        new = []
    steps[-1] += new
    return steps


def others_of(ranks: Sequence[int], attempt: Attempt) -> str:
    """Return the number of ranks that report a loss, else of those that were ended.

    Tasks of the starter that are agents are not ranks.
    """
    if waited := attempt.lost - set(ranks):
        return f"{count_of(len(waited), 'rank')} waited for it"
    ended = {
        rank
        for event in attempt.follow
        if isinstance(event, End)
        and not event.root
        and (not attempt.agents or event.rule.event == "failure")
        for rank in event.who.ranks
    } - set(ranks)
    if not ranks or not ended:
        return ""
    return f"{count_of(len(ended), 'other rank')} ended after it"


def absent_of(attempt: Attempt) -> End | None:
    """Return the line that names the absent ranks, or their number, for which others
    waited.

    The absent ranks are known if the waiting ones are identified: they are the rest.
    """
    lines = [wait for wait in attempt.waits if isinstance(wait, End)]
    counted = next((line for line in lines if line.fields.get("size")), None)
    if counted:
        came, size = (int(counted.fields.get(name) or 0) for name in ("came", "size"))
        thrown = [end for end in attempt.ends if isinstance(end, LogException)]
        ranks_shown = {rank for end in thrown for rank in attempt.process_of(end).ranks}
        if size <= _MOST_RANKS and len(ranks_shown) == came and not attempt.agents:
            missing = sorted(set(range(size)) - ranks_shown)
            counted.who = Owner(ranks=tuple(missing))
    return next((line for line in lines if line.who.ranks), counted)


def silent_of(attempt: Attempt, world: World) -> tuple[int, ...]:
    """Return the ranks without lines, if most others report a loss."""
    follow = attempt.follow
    if not any(isinstance(event, LogException) for event in follow):
        return ()
    ranks_shown = {rank for event in follow for rank in attempt.process_of(event).ranks}
    size = max([world.size or 0, *(rank + 1 for rank in ranks_shown)])
    if size > _MOST_RANKS:
        return ()
    silent = tuple(rank for rank in range(size) if rank not in ranks_shown)
    # If many ranks are silent, the log is incomplete, and silence proves nothing.
    return silent if len(silent) <= size // 4 else ()


def _is_stop(rule: LogRule) -> bool:
    return rule.event == STOPPED or (rule.event == "attempt" and rule.ends)


def _is_reaction(event: LogException | End, rule: LogRule) -> bool:
    """Return whether a signal explains *event*, or the program may have gone on."""
    doubtful = isinstance(event, End) and event.is_doubtful
    return doubtful or rule.reaction or (rule.consequence and rule.severity == "note")
