"""What ended processes of a job, line by line: exceptions, exit codes, signals, shells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from envcfg.log.facts import Sighting, Spot
from envcfg.log.prefix import Record
from envcfg.log.rulebook import Match, Rule, Rulebook
from envcfg.log.thrown import ABSENT, End, Thrown
from envcfg.log.tracebacks import Tracebacks
from envcfg.log.who import Who, numbers_in, owner, speaker

# Events of lines that tell how a process ended, or did not come, where ranks are, or that
# the job begins anew.
ENDS = frozenset(("ended", "lacking", "failure", ABSENT, "attempt", "nodes"))
_NODE = re.compile(r"'([\w.-]{1,128})': \[([\d, ]+)\]")
_MOST = 4096  # lines that are kept
_STEPS = 3  # new steps after which a job went on, whatever ended it later
# Lines after the last words of a program: of its launcher, of the job's script. Where
# programs often go on, fewer show it.
_FEW, _FEWER = 20, 5


class Endings:
    """All ends of a job.

    Attributes:
        lines: the ends that one line tells.
        tracebacks: the exceptions.
        starts: lines with which an attempt of the job begins anew.
        files: whose file a source is, where its name tells.
        nodes: the ranks of each node by their local rank, where a launcher tells.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        """Begin with none."""
        self.lines: list[End] = []
        self.tracebacks = Tracebacks()
        self.rulebook = rulebook
        self.starts: list[Spot] = []
        self.files: dict[int, Who] = {}
        self.nodes: dict[str, tuple[int, ...]] = {}
        self._known: dict[str, Rule | None] = {}
        self._marks: dict[int, End] = {}
        self._failure: dict[str, str] = {}  # torchrun's, of which a line each tells

    def begin(self, source: int, name: str) -> None:
        """Begin with a file."""
        self.files[source] = owner(name)

    def whose(self, thrown: Thrown) -> Who:
        """Return who threw, by what stands in front of it, else by the name of its file."""
        who = speaker(thrown.prefix)
        return who if who != Who() else self.files.get(thrown.sighting.spot.source, who)

    def fold(self, match: Match, record: Record, sighting: Sighting) -> None:
        """Take in a line that a rule knows as an end."""
        if match.rule.event == "attempt":
            self.starts.append(sighting.spot)
            return
        if match.rule.event == "nodes":
            for host, ranks in _NODE.findall(match.fields["nodes"] or ""):
                own = ranks.replace(" ", "")
                self.nodes[host.split(".")[0]] = tuple(numbers_in(own))
            return
        if match.rule.event == "failure":
            self._failure.update({k: v for k, v in match.fields.items() if v})
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
        self._marks[sighting.spot.line] = end

    def take(self, text: bytes, spot: Spot, held: Set[bytes]) -> None:
        """Read a block whose known lines were folded, and what it may hold."""
        marks, self._marks = self._marks, {}
        self.tracebacks.take(text, spot, marks, held)

    def rule_of(self, thrown: Thrown) -> Rule | None:
        """Return the rule that knows what was thrown, or what it comes from."""
        for each in filter(None, (thrown, thrown.earlier)):
            if each.said not in self._known:  # ranks say the same
                found = next(self.rulebook.matches(each.said), None)
                self._known[each.said] = found and found.rule
            if rule := self._known[each.said]:
                return rule
        return None

    def attempt(self, what: Thrown | End) -> int:
        """Return in which attempt of the job *what* was, from 0."""
        return sum(start < what.sighting.spot for start in self.starts)

    def is_past(self, rule: Rule) -> bool:
        """Return whether all that *rule* knows was in attempts before the last."""
        known = [each for each in self.lines if each.rule.id == rule.id]
        last = len(self.starts)
        return bool(known) and all(self.attempt(each) < last for each in known)

    def is_over(self, what: Thrown | End, *, ended: bool) -> bool:
        """Return whether the job went on after *what*.

        Args:
            what: what may have ended it.
            ended: other lines say that it ended with an error.
        """
        lines, steps = self.tracebacks.after(what)
        if ended:
            return steps >= _STEPS
        # Lines that may follow if it ended the program.
        if isinstance(what, Thrown):
            most = -1 if what.is_caught else _FEW
        elif what.rule.event == "lacking":
            most = 0  # a shell goes on, and any line behind may show it
        else:
            most = _FEWER if what.is_doubtful else _FEW
        return steps > 0 or lines > most


def has_agents(ends: Iterable[End]) -> bool:
    """Return whether an agent tells of its workers: tasks of the starter are agents."""
    return any(each.rule.id.startswith(("elastic-", "deepspeed-")) for each in ends)


def in_order(items: Sequence[Thrown | End]) -> list[Thrown | End]:
    """Return *items* as they came: by time where all tell it, else as they stand."""
    given = sorted(items, key=lambda each: each.sighting.spot)
    if all(each.time for each in given):
        return sorted(given, key=lambda each: each.time.replace("T", " "))
    return given
