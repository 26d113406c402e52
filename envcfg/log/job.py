"""The state of a job: records go in, processes and occurrences of rules add up."""

from __future__ import annotations

from sys import intern

from envcfg.log.endings import ENDS, Endings
from envcfg.log.facts import Room, Sighting, Spot, clip
from envcfg.log.learning import ALIKE, learn
from envcfg.log.life import Life
from envcfg.log.names import longest_end, network_kind
from envcfg.log.numbers import grouped
from envcfg.log.prefix import Record
from envcfg.log.process import Process, Raised
from envcfg.log.rulebook import Match, Rule, Rulebook
from envcfg.log.speakers import Speakers

_MANY = 1 << 16  # processes that one rule keeps; more are only counted
_ALIKE = 256  # processes with one number on several nodes, where torn lines are mended
_PIECES = 2  # lines of one process that are torn at most
_SHAPES = 64  # unknown warnings that are kept


class Occurrence:
    """How often a rule was seen, first where, and in which processes."""

    def __init__(self, rule: Rule, sighting: Sighting, order: int, time: str) -> None:
        """Begin with the first line."""
        self.rule = self.given = rule
        self.first = sighting
        self.last: dict[int, Spot] = {}  # of each source
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
        self.kinds: dict[str, str] = {}  # files that are not text, and what they are
        self.cut = 0  # lines of which the end was not looked at
        self.room = Room()
        self._beyond = Process("", None, self.room)  # all that there is no room for
        self.unknown: dict[str, tuple[int, Sighting]] = {}
        self.endings = Endings(rulebook)
        self.life = Life()
        self._hosts: set[str] = set()
        self._by_label: dict[int, Process] = {}
        self.speakers = Speakers(self.room)
        self.torn = 0  # lines that are pieces of two
        self.doubted: list[Rule] = []  # errors after which steps go on
        self.died = False  # something ended its program, and it was not at its end

    @property
    def everyone(self) -> list[Process]:
        """All processes, with those that lines without a host and pid stand for."""
        return [*self.processes.values(), *self.strangers.values()]

    def settle(self) -> None:
        """Make notes of errors that mean nothing next to others, when all was read.

        Of those that the job outlived, what ended its program comes first: where it died,
        an earlier error may be the cause.
        """
        self._mend()
        self.died, self.doubted = False, []
        errors = [o for o in self.occurrences.values() if o.given.severity == "error"]
        for known in sorted(errors, key=lambda each: not each.given.ends):
            rule = known.rule = known.given
            ended = [
                self.outlives(rule, spot, steps=False) for spot in known.last.values()
            ]
            if self._is_hidden(known) or all(ended) or self.endings.is_past(rule):
                known.rule = rule._replace(severity="note", ends=False)
            elif all(self.outlives(rule, spot) for spot in known.last.values()):
                known.rule = rule._replace(severity="note", ends=False)
                self.doubted.append(rule)
            self.died = self.died or known.rule.ends
        self._set_firsts(errors)

    def _is_hidden(self, known: Occurrence) -> bool:
        """Return whether *known* follows from what its rule names, and that from none."""
        for other in filter(None, map(self.occurrences.get, known.given.unless)):
            # Each writer keeps its own order: it may have come first.
            first, then = other.first, known.first
            apart = first.spot.source != then.spot.source
            apart = apart or first.text.partition(":")[0] != then.text.partition(":")[0]
            if (apart or first.spot < then.spot) and not self._is_hidden(other):
                return True
        return False

    def _mend(self) -> None:
        """Give what torn lines taught to the process of whose name they hold a piece."""
        alike = grouped(self.processes.values(), lambda process: process.pid)
        for same in alike.values():
            # In containers all may have one number, and nothing is told by it.
            few = same if 1 < len(same) < _ALIKE else ()
            for part in [each for each in few if not each.communicators]:
                # The host of a part is that of a process, cut or with text in front.
                homes = [
                    each
                    for each in same
                    if each.communicators
                    and each.host
                    and part.host
                    and (each.host.endswith(part.host) or part.host.endswith(each.host))
                ]
                if len(homes) == 1 and part.records <= _PIECES:
                    homes[0].take_in(self.processes.pop((part.host, part.pid or 0)))
                    self.torn += 1

    def _set_firsts(self, errors: list[Occurrence]) -> None:
        """Forget the first errors of hosts that are errors no longer."""
        if all(each.rule.severity == "error" for each in errors):
            return
        for ends, firsts in ((False, self.first_errors), (True, self.first_ends)):
            firsts.clear()
            for known in sorted(errors, key=lambda each: each.order):
                rule = known.rule
                if rule.severity != "error" or rule.consequence or rule.ends != ends:
                    continue
                for process in known.processes.values():
                    firsts.setdefault(process.host, known)

    def outlives(self, rule: Rule, spot: Spot | None, *, steps: bool = True) -> bool:
        """Return whether the job went on behind an error at *spot*, or had ended before.

        A program that says that it is done may still die: what ends one counts then, and
        so does what may be its cause, unless nobody says so whose job did not end well.
        What counts at the start only is what is tried again: it is not proof, and any later
        step shows that it went well. Else steps show it where they are no rest of what was
        held back as the program died, and nothing tells that a process of it stopped.

        Args:
            rule: of the error.
            spot: where it stands; None: nobody knows.
            steps: steps behind it count, too, and not only how the job ended.
        """
        life = self.life
        at_edge = rule.phase in ("start", "end")
        if rule.phase == "always" or not (life or at_edge):
            return False
        if rule.phase == "end" or (at_edge and self.certain):
            return True
        if life.has_ended_before(spot, "success"):
            return True
        if spot and life.has_end_behind(spot):
            return True
        if rule.phase == "start":
            if any(c.is_up for p in self.everyone for c in p.communicators.values()):
                return True
            if not spot or life.behind(spot) or life.is_in_another(spot.source):
                return True
        if rule.ends or self.died:
            return False
        if life.has_ended_before(spot, "end"):
            return True
        given = (occurrence.given for occurrence in self.occurrences.values())
        stopped = any(r.consequence and r.severity == "error" for r in given)
        return bool(steps and spot and not stopped and life.goes_on_behind(spot))

    def goes_on(self, line: bytes, shape: bytes) -> bool:
        """Take in a line that says what others said; return whether it does."""
        if not (shape and self.speakers.goes_on(line, shape)):
            return False
        self.records += 1
        return True

    def fold_plain(
        self, record: Record, text: str, spot: Spot, *, line: bytes, shape: bytes
    ) -> None:
        """Take in a record that is all of its *line*, and remember what that came to."""
        key = record.host, record.pid or 0
        process = self.processes.get(key)
        before = process.facts if process else None
        taught = self.fold(record, text, spot, shape)
        process = process or self.processes.get(key)
        if process and shape:
            dull = process.facts is before and taught
            dull = dull and self.rulebook.is_dull(record.message, shape)
            before = before if taught else None
            self.speakers.hear(process, before, line, shape, dull=dull)

    def fold(self, record: Record, text: str, spot: Spot, shape: bytes = b"") -> bool:
        """Take in one record; *text* is its line, *spot* where that is.

        Without its numbers the line is *shape*, where that is known. Returns whether it
        taught nothing but facts of its process, if anything.

        A rule is looked for first, as a line without NCCL's prefix counts only where one
        knows it, and where no program may have said the same words. Only then does its
        process get known. A warning is kept whether a rule knows it or not: an error that
        follows may have no other reason. What comes last is what the rule says: that it was
        seen, by which versions, and what its event teaches. The row of a table is learned
        by the process that it names, which is not the one that wrote it.
        """
        if self.certain and not record.certain:
            return False
        self.deduplicated += record.repeated
        self.torn += record.torn or record.glued
        match = self.rulebook.match(record.message, record.where, shape)
        bare = not record.level and record.pid is None
        if bare and match and not _is_said_bare(match):
            match = None
        if match is None and not record.level:
            return False
        process = self._speaker(record, spot)
        if match is None and record.level == "INFO":
            return True
        sighting = Sighting(spot, clip(text))
        # The first words of a warning without numbers: of many, one is shown.
        warns = record.level == "WARN"
        begin = record.message[:60] if warns else ""
        words = "".join("#" if each.isdigit() else each for each in begin)
        told = match and (match.rule.severity == "error" or match.rule.where)
        if warns and not told:  # it may be the reason of an error that follows it
            harmless = match is not None and match.rule.benign
            over = process.has_ended
            raised = Raised(words, sighting, harmless=harmless, over=over)
            process.warn(record.device, raised)
        if match is None:
            if warns and (words in self.unknown or len(self.unknown) < _SHAPES):
                count, first = self.unknown.get(words, (0, sighting))
                self.unknown[words] = count + 1, first
            return False
        rule = match.rule
        if rule.severity:
            self._occurrence(rule, process, sighting, record.time)
        if rule.ends or rule.event in ENDS:
            self.endings.fold(match, record, sighting)
        if rule.event in ENDS:
            return False
        if rule.versions:
            for each in rule.versions.items():
                process.add("dialects", each)
        if rule.event == "rank-row":
            process = self._named(match.fields.get("host"), match.fields.get("pid"))
        if rule.event:
            learn(process, rule.event, match.fields, record, sighting)
        return not (rule.severity or rule.ends) and rule.event in ALIKE

    def _speaker(self, record: Record, spot: Spot) -> Process:
        """Return the process whose line it is, and note that it spoke."""
        known = None if record.glued else self.processes.get((record.host, record.pid))  # type: ignore[arg-type]
        process = known or self._process(record)
        if spot.source not in process.sources:  # all of them, however many
            process.know("sources", process.sources | {spot.source})
        if record.level:
            self.records += 1
            process.records += 1
            if record.level == "INFO" and not process.informed:
                process.know("informed", True)
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
        known.last[sighting.spot.source] = sighting.spot
        if time and time < known.time:  # files are read one after another
            known.time, known.first = time, sighting
        if len(known.processes) < _MANY:
            key = process.key
            if process.pid is None and process.label is not None:
                key = f"{process.host} {process.label}", None
            known.processes[key] = process
        if rule.severity == "error" and not rule.consequence:
            firsts = self.first_ends if rule.ends else self.first_errors
            firsts.setdefault(process.host, known)


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
