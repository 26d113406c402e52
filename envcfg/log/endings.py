"""What ended processes of a job, line by line: exceptions, exit codes, signals, shells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.log.numbers import first_of, ranks_of
from envcfg.log.prefix import Record
from envcfg.log.process import Sighting, Spot
from envcfg.log.rulebook import Match, Rule, Rulebook
from envcfg.log.thrown import Thrown, Tracebacks

# Events of lines that tell how a process ended, or did not come, where ranks are, or that
# the job begins anew.
ENDS = frozenset(("ended", "lacking", "failure", "absent", "attempt", "nodes"))
_NODE = re.compile(r"'([\w.-]{1,128})': \[([\d, ]+)\]")
_MOST = 4096  # lines that are kept
_WIDEST = 1 << 16  # ranks that one line names
_STEPS = 3  # new steps after which a job went on, whatever ended it later
# Lines after the last words of a program: of its launcher, of the job's script. Where
# programs often go on, fewer show it.
_FEW, _FEWER = 20, 5
# Who speaks, by what stands in front of a line.
_SPEAKERS = tuple(
    map(
        re.compile,
        (
            r"\[rank(?P<rank>\d{1,7})\]",  # torch.distributed
            r"\[\d+,(?P<rank>\d{1,7})\]<std",  # Open MPI
            r"\[[A-Za-z_]+(?P<local>\d{1,5})(?:\|\d+)?\]:",  # torchrun
            # Ray
            r"\((?P<process>[A-Za-z]\w*)[^()]*? pid=(?P<pid>\d+)(?:, ip=(?P<host>[\d.]+))?",
            r"\[pod/(?P<host>[^/\]]{1,128})/",  # kubectl
            r"(?:^|\s)(?P<host>[A-Za-z][\w.-]{0,127}) (?P<rank>\d{1,7}): ",  # PALS
            r"^\s*(?P<task>\d{1,7}): ",  # srun
            r"^\[(?P<rank>\d{1,7})\] ",  # MPICH
            # pdsh
            r"^(?!ERROR|WARNING|INFO|CRITICAL|FATAL)(?P<host>[A-Za-z][\w.-]{1,127}): ",
        ),
    )
)


class Who(NamedTuple):
    """Whose end it was, as far as a line tells.

    Attributes:
        ranks: in the world.
        local: rank on its node; None where unknown.
        hosts: nodes.
        process: what the line calls it.
        is_task: the number is that of a task, which may be an agent.
    """

    ranks: tuple[int, ...] = ()
    local: int | None = None
    hosts: tuple[str, ...] = ()
    process: str = ""
    is_task: bool = False

    @property
    def words(self) -> str:
        """Name it as people do."""
        where = f" ({first_of(self.hosts)})" if self.hosts else ""
        if self.ranks:
            return ranks_of(self.ranks, self.hosts)
        if self.local is not None:
            return f"local rank {self.local}{where}"
        if self.process:
            return f"{self.process}{where}"
        return f"a process on {first_of(self.hosts)}" if self.hosts else "the job"


class End:
    """A line that says how something ended.

    Attributes:
        rule: that knows the line.
        fields: what it captured.
        sighting: the line.
        time: in front of it; empty where there is none.
        who: whose end it was.
        root: the launcher calls it the first.
        lines: that were looked at before it.
    """

    def __init__(self, match: Match, record: Record, sighting: Sighting) -> None:
        """Begin with the line."""
        self.rule: Rule = match.rule
        self.fields: Mapping[str, str | None] = match.fields
        self.sighting = sighting
        self.time = record.time
        self.root = False
        self.lines = 0
        before = speaker(_before(sighting.text, record))
        if self.rule.event == "absent":
            before = Who()  # he speaks of another
        self.who = _named(match.fields) or before
        if not self.who.hosts:  # as where pdsh shows the node
            self.who = self.who._replace(hosts=before.hosts)

    @property
    def says(self) -> str:
        """What happened, in words that go behind whose end it was."""
        captured = {name: text or "" for name, text in self.fields.items()}
        words = self.rule.says or f"ended: {self.rule.meaning}"
        return words.format_map(captured) if "{" in words else words

    @property
    def is_doubtful(self) -> bool:
        """Whether programs go on after such a line, too."""
        return self.rule.severity != "error"


class Endings:
    """All ends of a job.

    Attributes:
        lines: the ends that one line tells.
        tracebacks: the exceptions.
        starts: lines with which an attempt of the job begins anew.
        nodes: the ranks of each node by their local rank, where a launcher tells.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        """Begin with none."""
        self.lines: list[End] = []
        self.tracebacks = Tracebacks()
        self.rulebook = rulebook
        self.starts: list[Spot] = []
        self.nodes: dict[str, tuple[int, ...]] = {}
        self._known: dict[str, Rule | None] = {}
        self._marks: dict[int, End] = {}
        self._failure: dict[str, str] = {}  # torchrun's, of which a line each tells

    def fold(self, match: Match, record: Record, sighting: Sighting) -> None:
        """Take in a line that a rule knows as an end."""
        if match.rule.event == "attempt":
            self.starts.append(sighting.spot)
            return
        if match.rule.event == "nodes":
            for host, ranks in _NODE.findall(match.fields["nodes"] or ""):
                own = ranks.replace(" ", "")
                self.nodes[host.split(".")[0]] = tuple(_numbers(own))
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

    def take(self, text: bytes, spot: Spot) -> None:
        """Read a block whose known lines were folded."""
        marks, self._marks = self._marks, {}
        self.tracebacks.take(text, spot, marks)

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
        return steps > 0 or lines > _last_words(what)


def _last_words(what: Thrown | End) -> int:
    """Return how many lines may follow *what* if it ended the program; -1: it did not."""
    if isinstance(what, Thrown):
        return -1 if what.is_caught else _FEW
    if what.rule.event == "lacking":
        return 0  # a shell goes on, and any line behind may show it
    return _FEWER if what.is_doubtful else _FEW


def _before(line: str, record: Record) -> str:
    """Return what stands in front of the message of *line*."""
    return line.partition(record.message)[0] if record.message else line


def speaker(prefix: str) -> Who:
    """Return who speaks behind *prefix*, as launchers name him."""
    for pattern in _SPEAKERS:
        if found := pattern.search(prefix):
            part = found.groupdict()
            number = part.get("rank") or part.get("task")
            name = part.get("process")
            return Who(
                ranks=(int(number),) if number else (),
                local=int(part["local"]) if part.get("local") else None,
                hosts=(part["host"],) if part.get("host") else (),
                process=f"{name} (pid {part['pid']})" if name else "",
                is_task=part.get("task") is not None,
            )
    return Who()


def _named(fields: Mapping[str, str | None]) -> Who | None:
    ranks = tuple(_numbers(fields.get("tasks") or fields.get("rank") or ""))
    host = (fields.get("host") or "").split(".")[0]
    hosts = (host,) if host and host != "localhost" else ()
    local = fields.get("local")
    if not ranks and not hosts and not local:
        return None
    return Who(ranks, int(local) if local else None, hosts)


def _numbers(text: str) -> Iterator[int]:
    """Yield the numbers of ``0-3,5``."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and len(first) < 8 and (not last or last.isdigit()):
            yield from range(int(first), min(int(last or first) + 1, _WIDEST))


def has_agents(ends: Iterable[End]) -> bool:
    """Return whether an agent tells of its workers: tasks of the starter are agents."""
    return any(each.rule.id.startswith(("elastic-", "deepspeed-")) for each in ends)


def in_order(items: Sequence[Thrown | End]) -> list[Thrown | End]:
    """Return *items* as they came: by time where all tell it, else as they stand."""
    given = sorted(items, key=lambda each: each.sighting.spot)
    if all(each.time for each in given):
        return sorted(given, key=lambda each: each.time.replace("T", " "))
    return given
