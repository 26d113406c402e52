"""Ends of processes, line by line: exceptions, exit codes, signals, messages of shells."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set

from envcfg.log.read.attempt_steps import AttemptSteps
from envcfg.log.read.exceptions import ABSENT, STOPPED, End, LogException
from envcfg.log.read.line_owner import Owner, attempt_number, numbers_in, owner, speaker
from envcfg.log.read.prefix import Record
from envcfg.log.read.process_facts import Sighting, Spot
from envcfg.log.read.rulebook import LogRule, Match, Rulebook
from envcfg.log.read.steps import is_run, runs_of
from envcfg.log.read.tracebacks import Tracebacks

# Events of lines about the end or absence of a process, the place of ranks, or a new
# attempt of the job.
ENDS = frozenset(("ended", STOPPED, "lacking", "failure", ABSENT, "attempt", "nodes"))
_NODE = re.compile(r"'([\w.-]{1,128})': \[([\d, ]+)\]")
_MOST = 4096  # lines to keep


class Endings:
    """All ends of a job."""

    def __init__(self, rulebook: Rulebook) -> None:
        """Begin without endings."""
        self.lines: list[End] = []  # ends in single lines
        self.fenced: list[End] = []  # those in a quoted part of a text
        self.nccl: list[Spot] = []  # the last lines of NCCL that show something
        self.tracebacks = Tracebacks()  # the exceptions
        self.rulebook = rulebook
        # Lines with which an attempt of the job ends and another one begins.
        self.attempts: list[End] = []
        self.files: dict[int, Owner] = {}  # process of each file, if its name shows it
        self.new_files: list[Spot] = []  # begins of files of a further attempt
        self._highest: int | None = None  # number of an attempt in the names of files
        marks = [r.needle for r in rulebook.rules.values() if r.event == "attempt"]
        self.steps = AttemptSteps([mark.encode() for mark in marks])
        # The ranks of each node by their local rank, if a launcher lists them.
        self.nodes: dict[str, tuple[int, ...]] = {}
        self._known: dict[str, LogRule | None] = {}
        self._marks: dict[int, End] = {}
        self._failure: dict[str, str] = {}  # torchrun's report, one field in each line

    def begin(self, source: int, name: str) -> None:
        """Begin a new file."""
        self.files[source] = owner(name)
        number = attempt_number(name)
        if self._highest is not None and number > self._highest:
            self.new_files.append(Spot(source, -1, 0))
        self._highest = max(number, self._highest or 0)

    def process_of(self, thrown: LogException) -> Owner:
        """Return the process that raised, by the prefix of its lines, else by the name
        of its file."""
        writer = speaker(thrown.prefix)
        return (
            writer
            if writer != Owner()
            else self.files.get(thrown.sighting.spot.source, writer)
        )

    def writer_of(self, event: LogException | End) -> Owner:
        """Return the process that wrote the line of *event*."""
        return event.speaker if isinstance(event, End) else self.process_of(event)

    def fold(
        self,
        match: Match,
        record: Record,
        sighting: Sighting,
        *,
        fenced: bool = False,
    ) -> None:
        """Add a line that a rule identifies as an end; it may be in a *fenced* part."""
        event = match.rule.event
        if fenced and event in ("nodes", "attempt"):
            return
        if event == "nodes":
            for host, ranks in _NODE.findall(match.fields.get("nodes") or ""):
                self.nodes[host.split(".")[0]] = tuple(numbers_in(ranks))
            return
        if event == "failure":
            self._failure.update({k: v for k, v in match.fields.items() if v})
            # The report is complete when its exit code or signal came.
            if not {"code", "said", "signal"} & set(self._failure):
                return
            match = match._replace(fields=self._failure)
        if len(self.lines) + len(self.fenced) == _MOST:
            return
        end = End(match, record, sighting)
        if event == "failure":
            end.root = "root" in self._failure
            self._failure = {}
        end.is_fenced = fenced
        if fenced:
            self.fenced.append(end)
        elif match.rule.ends or event != "attempt":
            self.lines.append(end)
        if event == "attempt":
            self.attempts.append(end)
        self._marks[sighting.spot.line] = end

    def unfence(self, source: int, start: Spot) -> None:
        """Accept the lines of a file from *start* that are in no quoted part after all."""
        for end in list(self.fenced):
            spot = end.sighting.spot
            if spot.source == source and spot >= start:
                end.is_fenced = False
                self.fenced.remove(end)
                self.lines.append(end)

    def starts(self) -> list[Spot]:
        """Return the lines with which a further attempt of the job begins, in order.

        An attempt counts only if the log goes on with it: by a line of NCCL, a step, an
        exception or another end.
        """
        marks = {*self.new_files, *(end.sighting.spot for end in self.attempts)}
        if not marks:
            return []
        spots = {
            *(end.sighting.spot for end in self.lines if not end.rule.consequence),
            *self.nccl,
            *(
                thrown.sighting.spot
                for thrown in self.tracebacks.found
                if not ((rule := self.rule_of(thrown)) and rule.consequence)
            ),
        }
        last = max(spots - marks, default=Spot(0, 0, 0))
        return sorted(
            spot
            for spot in marks
            if spot < last
            or self.tracebacks.begins_again(spot)
            or any(map(is_run, runs_of(self.tracebacks.steps_after(spot))))
        )

    @property
    def starts_again(self) -> bool:
        """Whether the last attempt ends with the line by which the job is put back."""
        starts = self.starts()
        return any(
            attempt_of(end.sighting.spot, starts) == len(starts)
            for end in self.attempts
            if end.rule.ends
        )

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
        self.steps.take(text, spot)
        self.tracebacks.take(text, spot, marks, contained, rows)

    def rule_of(self, thrown: LogException) -> LogRule | None:
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

    def _rule_of_text(self, text: str) -> LogRule | None:
        if text not in self._known:  # ranks print the same message
            match = next(self.rulebook.matches(text), None)
            self._known[text] = match and match.rule
        return self._known[text]


def attempt_of(spot: Spot, starts: Sequence[Spot]) -> int:
    """Return the attempt of the job, from 0, of the line at *spot*.

    *starts* are the lines with which further attempts begin, in order.
    """
    return bisect_left(starts, spot)


def has_agents(ends: Iterable[End]) -> bool:
    """Return whether an agent reports its workers: tasks of the starter are then agents."""
    return any(end.rule.id.startswith(("elastic-", "deepspeed-")) for end in ends)


def in_order(items: Sequence[LogException | End]) -> list[LogException | End]:
    """Return *items* in order: by time if all have one, else by position."""
    events = sorted(items, key=lambda event: event.sighting.spot)
    if all(event.time for event in events):
        return sorted(events, key=lambda event: event.time.replace("T", " "))
    return events
