"""The state of a job: records go in, processes and occurrences of rules add up."""

from __future__ import annotations

from sys import intern

from envcfg.log.endings import ENDS, Endings
from envcfg.log.learning import learn
from envcfg.log.names import longest_end, network_kind
from envcfg.log.prefix import Record
from envcfg.log.process import Process, Raised, Room, Sighting, Spot, clip, with_one
from envcfg.log.rulebook import Match, Rule, Rulebook

_MANY = 1 << 16  # processes that one rule keeps; more are only counted
_SHAPES = 64  # unknown warnings that are kept


class Occurrence:
    """How often a rule was seen, first where, and in which processes."""

    def __init__(self, rule: Rule, sighting: Sighting, order: int, time: str) -> None:
        """Begin with the first line."""
        self.rule = rule
        self.first = sighting
        self.order = order
        self.time = time
        self.count = 0
        self.processes: dict[tuple[str, int | None], Process] = {}


class Job:
    """Everything that the lines of a job said, by process."""

    def __init__(self, rulebook: Rulebook, *, certain: bool = False) -> None:
        """Begin with nothing known.

        Args:
            rulebook: reads the messages.
            certain: take in only lines of which it is certain who wrote them.
        """
        self.rulebook = rulebook
        self.certain = certain
        self.processes: dict[tuple[str, int], Process] = {}
        # Lines that name no process, by label.
        self.strangers: dict[int | None, Process] = {}
        self.occurrences: dict[str, Occurrence] = {}
        self.first_errors: dict[str, Occurrence] = {}
        self.first_ends: dict[str, Occurrence] = {}
        self.records = 0
        self.deduplicated = 0
        self.kinds: dict[str, str] = {}  # files that are no text, and what they are
        self.cut = 0  # lines of which the end was not looked at
        self.room = Room()
        self._beyond = Process("", None, self.room)  # all that there is no room for
        self.unknown: dict[str, tuple[int, Sighting]] = {}
        self.endings = Endings(rulebook)
        self._hosts: set[str] = set()
        self._by_label: dict[int, Process] = {}

    @property
    def everyone(self) -> list[Process]:
        """All processes, with those that lines without a host and pid stand for."""
        return [*self.processes.values(), *self.strangers.values()]

    def settle(self) -> None:
        """Make notes of errors that mean nothing beside others, when all was read."""
        for known in self.occurrences.values():
            if any(other in self.occurrences for other in known.rule.unless):
                known.rule = known.rule._replace(severity="note", ends=False)

    def fold(self, record: Record, text: str, spot: Spot) -> None:
        """Take in one record; *text* is its line, *spot* where that is.

        A rule is looked for first, as a line without NCCL's prefix counts only where one
        knows it, and where no program may have said the same words. Only then does its
        process get known. A warning is kept whether a rule knows it or not: an error that
        follows may have no other reason. What comes last is what the rule says: that it was
        seen, by which versions, and what its event teaches. The row of a table is learned
        by the process that it names, which is not the one that wrote it.
        """
        if self.certain and not record.certain:
            return
        self.deduplicated += record.repeated
        match = self.rulebook.match(record.message, record.where)
        bare = not record.level and record.pid is None
        if bare and match and not _is_said_bare(match):
            match = None
        if match is None and not record.level:
            return
        process = self._speaker(record, spot)
        sighting = Sighting(spot, clip(text))
        if record.level == "WARN" and (match is None or _may_matter(match.rule)):
            harmless = match is not None and match.rule.benign
            raised = Raised(
                _shape(record.message),
                sighting,
                harmless=harmless,
                over=process.has_ended,
            )
            process.warn(record.device, raised)
        if match is None:
            if record.level == "WARN":
                shape = _shape(record.message)
                count, first = self.unknown.get(shape, (0, sighting))
                if shape in self.unknown or len(self.unknown) < _SHAPES:
                    self.unknown[shape] = count + 1, first
            return
        rule = match.rule
        if rule.severity:
            self._occurrence(rule, process, sighting, record.time)
        if rule.ends or rule.event in ENDS:
            self.endings.fold(match, record, sighting)
        if rule.event in ENDS:
            return
        if rule.versions:
            for each in rule.versions.items():
                process.dialects = with_one(process.dialects, each)
        if rule.event == "rank-row":
            process = self._named(match.fields.get("host"), match.fields.get("pid"))
        if rule.event:
            learn(process, rule.event, match.fields, record, sighting)

    def _speaker(self, record: Record, spot: Spot) -> Process:
        """Return the process whose line it is, and note that it spoke."""
        process = self._process(record)
        process.sources.add(spot.source)
        self.records += bool(record.level)
        process.records += bool(record.level)
        process.informed = process.informed or record.level == "INFO"
        if record.label is not None and process.label is None:
            process.label, process.label_is_rank = record.label, record.is_rank
            if record.is_rank:
                self._by_label.setdefault(record.label, process)
        return process

    def _process(self, record: Record) -> Process:
        host, pid = record.host, record.pid
        if record.glued and host not in self._hosts:
            # The name has the end of other text in front; one that is known may be in it.
            host = longest_end(host, self._hosts)
        if pid is not None:
            return self._named(host, str(pid))
        if record.is_rank and record.label in self._by_label:
            return self._by_label[record.label]
        known = self.strangers
        if record.label not in known and len(known) > _MANY:
            return known.setdefault(None, Process("", None, self.room))
        if record.label not in known:
            known[record.label] = Process(host, None, self.room)
        return known[record.label]

    def _named(self, host: str | None, pid: str | None) -> Process:
        host, number = (host or "").split(".")[0], int((pid or "0")[:11])
        key = host, number
        if (known := self.processes.get(key)) is not None:
            return known
        if not self.room.takes("process"):
            return self._beyond
        host = intern(host)  # all processes of a node have one text of it
        if host:
            self._hosts.add(host)
        known = self.processes[host, number] = Process(host, number, self.room)
        return known

    def _occurrence(
        self, rule: Rule, process: Process, sighting: Sighting, time: str
    ) -> None:
        known = self.occurrences.get(rule.id)
        if known is None:
            order = len(self.occurrences)
            known = self.occurrences[rule.id] = Occurrence(rule, sighting, order, time)
        known.count += 1
        if time and time < known.time:  # files are read one after another
            known.time, known.first = time, sighting
        if len(known.processes) < _MANY:
            known.processes[process.key] = process
        if rule.severity == "error" and not rule.consequence:
            firsts = self.first_ends if rule.ends else self.first_errors
            firsts.setdefault(process.host, known)


def _shape(message: str) -> str:
    """Return the first words of a warning without its numbers: of many, one is shown."""
    return "".join("#" if c.isdigit() else c for c in message[:60])


def _may_matter(rule: Rule) -> bool:
    """Return whether a warning may be the reason of an error that follows it."""
    return rule.severity != "error" and not rule.where


def _is_said_bare(match: Match) -> bool:
    """Return whether a line without NCCL's prefix is NCCL's, and not a program's own.

    A program may use a network too, and say so: ``INFO Using network resnet50``. A line
    of NCCL whose prefix was taken off begins with NCCL's words, and names a network.
    """
    rule = match.rule
    if rule.severity or rule.anywhere or not rule.event:
        return True
    network = match.fields.get("network")
    return match.at == 0 and (
        network is None or network_kind(network.strip()) is not None
    )
