"""Ends of processes, line by line: exceptions, exit codes, signals, messages of shells."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set

from envcfg.log.exceptions import ABSENT, End, LogException
from envcfg.log.line_owner import Owner, numbers_in, owner, speaker
from envcfg.log.prefix import Record
from envcfg.log.process_facts import Sighting, Spot
from envcfg.log.rulebook import Match, Rule, Rulebook
from envcfg.log.tracebacks import Tracebacks

# Events of lines about the end or absence of a process, the place of ranks, or a new
# attempt of the job.
ENDS = frozenset(("ended", "lacking", "failure", ABSENT, "attempt", "nodes"))
_NODE = re.compile(r"'([\w.-]{1,128})': \[([\d, ]+)\]")
_MOST = 4096  # lines to keep
_STEPS = 3  # new steps that show that a job continued
# Lines that may follow the last words of a program: of its launcher, of the job's script.
# After errors that programs often survive, fewer lines prove that it continued.
_FEW, _FEWER = 20, 5


class Endings:
    """All ends of a job.

    Attributes:
        lines: ends in single lines.
        tracebacks: the exceptions.
        requeues: lines with which the scheduler ends an attempt, and puts the job back.
        files: process of each file, if its name shows it.
        nodes: the ranks of each node by their local rank, if a launcher lists them.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        """Begin without endings."""
        self.lines: list[End] = []
        self.tracebacks = Tracebacks()
        self.rulebook = rulebook
        self._starts: list[Spot] = []
        self.requeues: list[End] = []
        self.files: dict[int, Owner] = {}
        self.nodes: dict[str, tuple[int, ...]] = {}
        self._known: dict[str, Rule | None] = {}
        self._marks: dict[int, End] = {}
        self._failure: dict[str, str] = {}  # torchrun's report, one field in each line

    def begin(self, source: int, name: str) -> None:
        """Begin a new file."""
        self.files[source] = owner(name)

    def process_of(self, thrown: LogException) -> Owner:
        """Return the process that raised, by the prefix of its lines, else by the name
        of its file."""
        who = speaker(thrown.prefix)
        return (
            who if who != Owner() else self.files.get(thrown.sighting.spot.source, who)
        )

    def fold(self, match: Match, record: Record, sighting: Sighting) -> None:
        """Add a line that a rule identifies as an end."""
        if match.rule.event == "attempt" and not match.rule.ends:
            self._starts.append(sighting.spot)
            return
        if match.rule.event == "nodes":
            for host, ranks in _NODE.findall(match.fields.get("nodes") or ""):
                own = ranks.replace(" ", "")
                self.nodes[host.split(".")[0]] = tuple(numbers_in(own))
            return
        if match.rule.event == "failure":
            self._failure.update({k: v for k, v in match.fields.items() if v})
            # The report is complete when its exit code or signal came.
            if "code" not in self._failure and "signal" not in self._failure:
                return
            match = match._replace(fields=self._failure)
        if len(self.lines) == _MOST:
            return
        end = End(match, record, sighting)
        if match.rule.event == "failure":
            end.root = "root" in self._failure
            self._failure = {}
        self.lines.append(end)
        if match.rule.event == "attempt":
            self.requeues.append(end)
        self._marks[sighting.spot.line] = end

    def starts(self) -> list[Spot]:
        """Return the lines with which a further attempt of the job begins, in order.

        A job that was put back has a further attempt only if the log goes on.
        """
        if not self.requeues:
            return sorted(self._starts)
        spots = {
            *(end.sighting.spot for end in self.lines if not end.rule.consequence),
            *(thrown.sighting.spot for thrown in self.tracebacks.found),
        }
        requeues = {end.sighting.spot: end for end in self.requeues}
        last = max(spots - set(requeues), default=Spot(0, 0, 0))
        followed = [
            spot
            for spot, end in requeues.items()
            if spot < last or self.is_over(end, ended=False)
        ]
        return sorted([*self._starts, *followed])

    def take(
        self,
        text: bytes,
        spot: Spot,
        contained: Set[bytes],
        rows: Sequence[int] | None = None,
    ) -> None:
        """Read a block; *contained* are the words that it may contain.

        *rows* are the numbers of its lines in the file, if some of them are folded there.
        """
        marks, self._marks = self._marks, {}
        self.tracebacks.take(text, spot, marks, contained, rows)

    def rule_of(self, thrown: LogException) -> Rule | None:
        """Return the rule for an exception, or for the exception that caused it.

        The cause has the rule if the rule of the exception names it in ``unless``.
        """
        rule = self._rule_of_text(thrown.said)
        if thrown.earlier is None:
            return rule
        earlier = self._rule_of_text(thrown.earlier.said)
        if rule and earlier and earlier.id in rule.unless:
            return earlier
        return rule or earlier

    def _rule_of_text(self, text: str) -> Rule | None:
        if text not in self._known:  # ranks print the same message
            match = next(self.rulebook.matches(text), None)
            self._known[text] = match and match.rule
        return self._known[text]

    def is_past(self, rule: Rule) -> bool:
        """Return whether all matches of *rule* were in attempts before the last."""
        ends = [line for line in self.lines if line.rule.id == rule.id]
        starts = self.starts()
        return bool(ends) and all(attempt_of(end, starts) < len(starts) for end in ends)

    def is_over(self, subject: LogException | End, *, ended: bool) -> bool:
        """Return whether the job made no progress after this event.

        Args:
            subject: possible end of the job.
            ended: True if other lines report an end with an error.
        """
        lines, steps = self.tracebacks.after(subject)
        if ended:
            return steps >= _STEPS
        # Number of lines that may follow if the event ended the program.
        if isinstance(subject, LogException):
            most = -1 if subject.is_caught else _FEW
        elif subject.rule.event == "lacking":
            most = 0  # a shell continues, and any later line may show it
        else:
            most = _FEWER if subject.is_doubtful else _FEW
        return steps > 0 or lines > most


def attempt_of(subject: LogException | End, starts: Sequence[Spot]) -> int:
    """Return the attempt of the job, from 0, in which this event happened.

    *starts* are the lines with which further attempts begin, in order.
    """
    return bisect_left(starts, subject.sighting.spot)


def has_agents(ends: Iterable[End]) -> bool:
    """Return whether an agent reports its workers: tasks of the starter are then agents."""
    return any(end.rule.id.startswith(("elastic-", "deepspeed-")) for end in ends)


def in_order(items: Sequence[LogException | End]) -> list[LogException | End]:
    """Return *items* in order: by time if all have one, else by position."""
    events = sorted(items, key=lambda event: event.sighting.spot)
    if all(event.time for event in events):
        return sorted(events, key=lambda event: event.time.replace("T", " "))
    return events
