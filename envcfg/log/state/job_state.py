"""The state of a job: records go in, processes and occurrences of rules add up."""

import re
from collections.abc import Sequence
from sys import intern

from envcfg.log.bugs import Bugs
from envcfg.log.names import longest_end, network_kind
from envcfg.log.numbers import grouped
from envcfg.log.read.endings import ENDS, Endings, attempt_of
from envcfg.log.read.evidence import Weight, weigh
from envcfg.log.read.exceptions import End, LogException
from envcfg.log.read.life_signs import JobProgress
from envcfg.log.read.losses import Losses
from envcfg.log.read.prefix import Record, quotes_launcher
from envcfg.log.read.process_facts import Room, Sighting, Spot, clip
from envcfg.log.read.rulebook import LogRule, Match, Rulebook
from envcfg.log.read.steps import is_long, runs_of
from envcfg.log.state.cold_start import ColdStart
from envcfg.log.state.event_effects import ALIKE, EventLine, learn
from envcfg.log.state.process import Process, RaisedWarning
from envcfg.log.state.quoted_lines import Speakers

_OWN, _SHELL = "envcfg: ", "coproc ENVCFG_"  # lines of envcfg, and of bash about it
_WRAPPED = "exception-wrapped"
_OWN_RULE = f"^{_OWN}"  # pattern of a rule for a line of envcfg
_FRONT = 400  # characters before the second
_MANY = 1 << 16  # processes that one rule keeps; further ones are only counted
_ALIKE = 256  # the largest number of processes with one pid for mending torn lines
_NAMED = re.compile(r"(?<![\w.-])([A-Za-z][\w-]{0,126})[\w.-]{0,126}:(\d{1,11}):\d+ \[")
# Text before a line of NCCL that a terminal, a mail or a page adds.
_MARKUP = re.compile(
    r"(?:[\s│┃║|>`*\"'-]|<[a-z]{1,9}>){0,20}(?=[\w.-]{1,99}:\d{1,9}:\d{1,9} |NCCL )"
)
_PIECES = 2  # the largest number of torn lines of one process
_TAILS = 64  # sources whose last bytes are kept
_SHAPES = 64  # unknown warnings to keep; a program may print endless different ones


class Occurrence:
    """The occurrences of a rule: their number, the first place, and the processes."""

    def __init__(
        self, rule: LogRule, sighting: Sighting, order: int, time: str
    ) -> None:
        """Begin with the first line."""
        self.rule = self.given = rule
        self.first = sighting
        self.last: dict[int, Spot] = {}  # by source
        self.order = order
        self.time = time
        self.count = 0
        self.processes: dict[tuple[str, int | None], Process] = {}


class JobLog:
    """Everything that the lines of a job report, by process."""

    def __init__(self, rulebook: Rulebook, *, certain: bool = False) -> None:
        """Begin without any facts.

        Args:
            rulebook: the rules that read the messages.
            certain: accept only lines whose writer is certain.
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
        self.kinds: dict[str, str] = {}  # files that are not text, with their kind
        self.cut = 0  # lines that were too long to read to their end
        self.room = Room()
        self._beyond = Process("", None, self.room)  # all processes beyond the limit
        self.unknown: dict[str, tuple[int, Sighting]] = {}
        self.endings = Endings(rulebook)
        self.life = JobProgress()
        self.cold_start = ColdStart()
        self.losses = Losses()
        self._hosts: set[str] = set()
        self._by_label: dict[int, Process] = {}
        self.speakers = Speakers(self.room)
        self.tails: dict[int, bytes] = {}  # the last bytes of sources
        self.torn = 0  # lines that mix pieces of two lines
        self.quoted: list[Sighting] = []  # first NCCL line that a program only repeats
        self.quotes = 0  # number of repeated NCCL lines
        # The first of them with an error, in marks of a terminal or a page.
        self.quoted_error: tuple[LogRule, Sighting, str] | None = None
        # The hosts and pids in repeated warnings and errors.
        self.quoted_faults: set[tuple[str, int | None]] = set()
        self.copies: dict[tuple[str, int], Process] = {}  # facts in repeated lines
        # Records in a quoted part without an end, by source.
        self._held: dict[int, list[tuple[Record, str, Spot]]] = {}
        # The node of each writer in a source, and the writers with several nodes.
        self._homes: dict[tuple[int, str], object] = {}
        self._copiers: set[tuple[int, str]] = set()
        self.doubted: list[LogRule] = []  # errors that later steps contradict
        self.bugs = Bugs()  # bugs of envcfg that stopped the reading of a line
        self.died = False  # an error ended the program before its end
        self.weights: dict[int, Weight] = {}  # of ends and exceptions, by their id
        self.doubts: list[Sighting] = []  # lines that may show an end of the job

    @property
    def everyone(self) -> list[Process]:
        """All processes, including those known only by lines without a host and pid."""
        return [*self.processes.values(), *self.strangers.values()]

    def keep_tail(self, source: int, tail: bytes) -> None:
        """Keep the last bytes of a source; of many sources, those of the last few."""
        self.tails.pop(source, None)
        self.tails[source] = tail
        if len(self.tails) > _TAILS:
            del self.tails[next(iter(self.tails))]

    def settle(self) -> None:
        """Downgrade errors that other evidence explains or contradicts, after all was read.

        Errors that end a program are settled first: if one did, an earlier error may be
        its cause, and the steps of the program do not contradict it.
        """
        self._unfence()
        self._drop_copies()
        self._mend()
        self.endings.nccl = [
            sighting.spot
            for process in self.processes.values()
            for sighting in process.seen.values()
        ]
        for error in self.occurrences.values():
            if error.given.severity == "error" and error.given.event not in ENDS:
                self.endings.nccl += error.last.values()
        # If all lines of NCCL are quoted, they may still show a fault.
        if self.quoted_error and not self.records:
            rule, sighting, time = self.quoted_error
            self._occurrence(rule, Process("", None, self.room), sighting, time)
            self.quoted_error = None
        self.died, self.doubted = False, []
        starts = self.endings.starts()
        self._weigh(starts)
        errors = [o for o in self.occurrences.values() if o.given.severity == "error"]
        for error in sorted(errors, key=lambda occurrence: not occurrence.given.ends):
            rule = error.rule = error.given
            is_past = bool(starts) and max(error.last.values()) <= starts[-1]
            note = rule._replace(severity="note", ends=False)
            if rule.ends or rule.event in ENDS:
                weights = {
                    self.weights.get(id(end), "counts")
                    for end in self.endings.lines
                    if end.rule.id == rule.id
                }
                if self._is_hidden(error) or is_past or "counts" not in weights:
                    error.rule = note
                self.died = self.died or error.rule.ends
                continue
            ended = [
                self.outlives(rule, spot, steps=False) for spot in error.last.values()
            ]
            # A hidden error stays visible as a note: the user may look for its line.
            if self._is_hidden(error) or all(ended) or is_past:
                error.rule = note
            elif all(self.outlives(rule, spot) for spot in error.last.values()):
                error.rule = note
                self.doubted.append(rule)
        self._set_firsts(errors)

    def _weigh(self, starts: Sequence[Spot]) -> None:
        """Weigh all ends and exceptions of the last attempt, which *starts* show."""
        endings = self.endings
        certain: list[LogException | End] = [
            end for end in endings.lines if not end.is_doubtful
        ]
        # Such an exception ended a program, and its cause is above it.
        certain += [
            thrown
            for thrown in endings.tracebacks.found
            if (rule := endings.rule_of(thrown)) and rule.id == _WRAPPED
        ]
        alone = not any(
            attempt_of(end.sighting.spot, starts) == len(starts) for end in certain
        )
        self.weights, self.doubts = {}, []
        if starts and endings.nccl and max(endings.nccl) < starts[-1]:
            # The lines of NCCL are of an earlier attempt, and prove nothing for the last.
            ends = (end.sighting for end in endings.attempts)
            self.doubts += [line for line in ends if line.spot == starts[-1]]
        begun = endings.tracebacks.torn.values()
        torn = [thrown for thrown in begun if thrown.frame and not thrown.aside]
        has_ended = self.life.progress and self.life.progress.ended
        events: list[LogException | End] = [*endings.tracebacks.found, *torn]
        for event in (*events, *endings.lines, *endings.fenced):
            is_past = attempt_of(event.sighting.spot, starts) < len(starts)
            weight = weigh(event, endings, self.life, alone=alone)
            self.weights[id(event)] = weight
            follows = isinstance(event, End) and (
                event.rule.consequence and event.rule.severity == "note"
            )
            # A traceback without its last line has no cause, and neither has a line
            # about what follows an end that is not in the log.
            is_doubt = weight == "doubt" and not follows
            if weight == "counts" and alone and not has_ended:
                is_doubt = follows or event in torn
            if is_doubt and not is_past:
                self.doubts.append(event.sighting)

    def _is_hidden(self, occurrence: Occurrence) -> bool:
        """Return whether a cause explains *occurrence*, and nothing else explains that
        cause.
        """
        for hidden_by in filter(
            None, map(self.occurrences.get, occurrence.given.unless)
        ):
            # Files have no common order, and nodes buffer: order counts in one writer, and
            # among launchers, whose messages are not held back.
            first, then = hidden_by.first, occurrence.first
            apart = first.spot.source != then.spot.source or (
                first.text.partition(":")[0] != then.text.partition(":")[0]
                and not (quotes_launcher(first.text) and quotes_launcher(then.text))
            )
            if (apart or first.spot < then.spot) and not self._is_hidden(hidden_by):
                return True
        return False

    def _drop_copies(self) -> None:
        """Forget the processes of writers that turned out to repeat lines of others."""
        copies = {
            key
            for key, process in self.processes.items()
            if self._copiers and process.writer
            if (min(process.sources), process.writer) in self._copiers
        }
        for key in copies:
            self.quotes += self.processes.pop(key).records
        for rule, occurrence in list(self.occurrences.items()) if copies else ():
            for key in copies & set(occurrence.processes):
                del occurrence.processes[key]
            if not occurrence.processes:
                del self.occurrences[rule]

    def _mend(self) -> None:
        """Forget processes with a torn name; their lines prove nothing."""
        alike = grouped(self.processes.values(), lambda process: process.pid)
        for same in alike.values():
            # In containers all processes may have one number, which then proves nothing.
            few = same if 1 < len(same) < _ALIKE else ()
            for part in [process for process in few if not process.communicators]:
                # The host of a part is that of a process, cut or with text in front.
                homes = [
                    process
                    for process in same
                    if process.communicators
                    and process.host
                    and part.host
                    and (
                        process.host.endswith(part.host)
                        or part.host.endswith(process.host)
                    )
                ]
                # Two possible owners, or many lines, mean a real process, not a torn
                # name.
                if len(homes) == 1 and part.records <= _PIECES:
                    torn = self.processes.pop((part.host, part.pid or 0))
                    self.copies.setdefault((homes[0].host, homes[0].pid or 0), torn)
                    self.torn += 1

    def _set_firsts(self, errors: list[Occurrence]) -> None:
        """Forget the first errors of hosts that no longer count as errors."""
        # The first errors were collected while reading; they change only after a downgrade.
        if all(occurrence.rule.severity == "error" for occurrence in errors):
            return
        for ends, firsts in ((False, self.first_errors), (True, self.first_ends)):
            firsts.clear()
            for error in sorted(errors, key=lambda occurrence: occurrence.order):
                rule = error.rule
                if rule.severity != "error" or rule.consequence or rule.ends != ends:
                    continue
                for process in error.processes.values():
                    firsts.setdefault(process.host, error)

    def outlives(self, rule: LogRule, spot: Spot | None, *, steps: bool = True) -> bool:
        """Return whether the job continued after an error at *spot*, or had ended before.

        A program may still die after it reports its end. An error that ends a program
        therefore counts, and so does its possible cause, unless success is reported.
        Errors of the start are retried: a later step shows that the start succeeded.
        Other errors count unless later steps follow, which are not only flushed output,
        and no process stopped.

        Args:
            rule: of the error.
            spot: the line of the error; None if unknown.
            steps: True if later steps count too, and not only the end of the job.
        """
        life = self.life
        at_edge = rule.phase in ("start", "end")
        # Without any sign of life there is nothing to compare the error with.
        if rule.phase == "always" or not (life or at_edge):
            return False
        if rule.phase == "end" or (at_edge and self.certain):
            return True
        if rule.phase == "start":
            # A communicator that is up proves that the start succeeded.
            if any(c.is_up for p in self.everyone for c in p.communicators.values()):
                return True
            if not spot or life.behind(spot) or life.is_in_another(spot.source):
                return True
        if self.died:
            return False
        # A program that reported its end goes down, and services lose each other.
        if life.has_ended_before(spot):
            return True
        rules = (occurrence.given for occurrence in self.occurrences.values())
        stopped = any(r.consequence and r.severity == "error" for r in rules)
        # A consequence shows that a process stopped: steps of other ranks prove nothing.
        if not (steps and spot) or stopped:
            return False
        return any(is_long(spot, run) for run in runs_of(life.steps_after(spot)))

    def goes_on(self, line: bytes, shape: bytes) -> bool:
        """Skip a line with known content; return whether it was skipped."""
        if not (shape and self.speakers.goes_on(line, shape)):
            return False
        self.records += 1
        return True

    def fold_plain(
        self, record: Record, text: str, spot: Spot, *, line: bytes, shape: bytes
    ) -> None:
        """Add a record that fills its whole *line*, and cache its effect."""
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
        """Add one record; return whether it added nothing except facts of its process.

        *text* is its line, *spot* the place of the line, and *shape* the line without its
        numbers, if known.

        The rule comes first, because a line without NCCL's prefix counts only if a rule
        matches it and no program can print the same words. Only then is its process
        determined. A warning is kept with or without a rule: a later error may have no
        other reason. The effects of the rule come last: its occurrence, the versions that
        print it, and its event. The row of a table belongs to the process that it names,
        and not to its writer.
        """
        if self.certain and not record.certain:
            return False
        self.deduplicated += record.repeated
        if self._is_quoted(record, spot):
            self._quote(record, Sighting(spot, clip(text)))
            return False
        return self._accept(record, text, spot, shape)

    def _accept(
        self, record: Record, text: str, spot: Spot, shape: bytes, *, held: bool = False
    ) -> bool:
        """Add a record that is not quoted, or one that was *held* for its fence."""
        self.torn += record.torn or record.glued
        match = self.rulebook.match(record.message, record.where, shape)
        match = match and self.rulebook.with_signal(match)
        # Lines of envcfg, and of bash on envcfg's own processes, have rules of their own:
        # those that they quote or that only look alike do not count.
        is_own = record.message.startswith(_OWN) or _SHELL in record.message[:_FRONT]
        if is_own and not (match and match.rule.pattern.startswith(_OWN_RULE)):
            return False
        bare = not record.level and record.pid is None
        is_known = match is not None
        if bare and match and not _is_said_bare(match):
            match = None
        if match is None and not record.level:
            # An unknown line may show a death behind text that hides its writer.
            inside = None if is_known else self.rulebook.death_inside(record.message)
            if inside:
                self._end(inside, record, Sighting(spot, clip(text)), fenced=True)
            return False
        process = self._speaker(record, spot)
        if match is None and record.level == "INFO":
            return True
        sighting = Sighting(spot, clip(text))
        if record.level == "WARN":
            self._warn(record, match, process, sighting)
        if match is not None and not held:
            self._end(match, record, sighting)
        return match is not None and self._apply(match, record, process, sighting)

    def _warn(
        self,
        record: Record,
        match: Match | None,
        process: Process,
        sighting: Sighting,
    ) -> None:
        """Keep a warning: it may be the reason of an error that follows it."""
        # The first words of a warning without numbers: of many, one is shown.
        begin = record.message[:60]
        words = "".join(
            "#" if character.isdigit() else character for character in begin
        )
        if match is None or not (match.rule.severity == "error" or match.rule.where):
            harmless = match is not None and match.rule.benign
            over = process.has_ended
            raised = RaisedWarning(words, sighting, harmless=harmless, over=over)
            process.warn(record.device, raised)
        if match is None and (words in self.unknown or len(self.unknown) < _SHAPES):
            count, first = self.unknown.get(words, (0, sighting))
            self.unknown[words] = count + 1, first

    def _apply(
        self, match: Match, record: Record, process: Process, sighting: Sighting
    ) -> bool:
        """Add the effects of a rule; return whether they are facts of its process only."""
        rule = match.rule
        if rule.severity:
            self._occurrence(rule, process, sighting, record.time)
        if rule.event in ENDS:
            return False
        if rule.versions:
            for version in rule.versions.items():
                process.add("dialects", version)
        if rule.event == "rank-row":
            process = self._process_of(
                match.fields.get("host"), match.fields.get("pid")
            )
        if rule.event:
            learn(process, rule.event, EventLine(match.fields, record, sighting))
        return not (rule.severity or rule.ends) and rule.event in ALIKE

    def _end(
        self, match: Match, record: Record, sighting: Sighting, *, fenced: bool = False
    ) -> None:
        if match.rule.ends or match.rule.event in ENDS:
            self.endings.fold(match, record, sighting, fenced=fenced)

    def hold(self, record: Record, text: str, spot: Spot) -> None:
        """Keep a quoted record until the end of its fence shows that it is one."""
        held = self._held.setdefault(spot.source, [])
        if len(held) < _MANY:
            held.append((record, text, spot))

    def end_fence(self, source: int) -> None:
        """Drop the held records of a file, because its fence has an end."""
        self._held.pop(source, None)

    def _unfence(self) -> None:
        """Accept the held records: a fence without an end quotes nothing."""
        held, self._held = self._held, {}
        for source, lines in held.items():
            self.endings.unfence(source, lines[0][2])
            self.quotes -= sum(record.level != "" for record, _, _ in lines)
            self.quoted = self.quoted if self.quotes else []
            for record, text, spot in lines:
                self._accept(record._replace(quoted=False), text, spot, b"", held=True)

    def _quote(self, record: Record, sighting: Sighting) -> None:
        match = self.rulebook.match(record.message, record.where)
        if match and not record.level:
            self._end(match, record, sighting, fenced=True)
            return
        self.quotes += record.level != ""
        self.quoted = self.quoted or [sighting]
        if match and match.rule.severity == "error" and _MARKUP.match(sighting.text):
            self.quoted_error = self.quoted_error or (match.rule, sighting, record.time)
        is_fault = match and match.rule.severity in ("error", "warning")
        if (is_fault or record.level == "WARN") and len(self.quoted_faults) < _MANY:
            self.quoted_faults.add((record.host, record.pid))
        # Lines of this job, or of an unknown one, must not contradict the verdict.
        key = record.host, record.pid or 0
        if record.pid is None and (named := _NAMED.search(sighting.text)):
            key = named[1], int(named[2])
        is_bare = record.pid is None and sighting.text.lstrip().startswith("NCCL ")
        is_known = key[1] or is_bare
        if match and match.rule.event and is_known and len(self.copies) < _MANY:
            copy = self.copies.setdefault(key, Process(*key, self.room))
            learn(copy, match.rule.event, EventLine(match.fields, record, sighting))

    def _is_quoted(self, record: Record, spot: Spot) -> bool:
        """Return whether the line only repeats a line of another process.

        It shows this by itself, or by the lines before it.

        A launcher puts the same prefix in front of all lines of a process, and what it
        calls a task, rank or node runs on one node. Other text does not keep these rules.
        """
        if record.quoted or record.pid is None or record.glued:
            return record.quoted
        source, writer = spot.source, record.writer
        key = record.host, record.pid
        process = self.processes.get(key)
        # A process may write to files with different prefixes.
        if process and process.writer != writer and process.sources == {source}:
            if (source, process.writer) not in self._copiers:
                return True
            del self.processes[key]
        # A local rank is on every node, and an actor is one process.
        if writer and record.form != " local":
            home = key if record.form.endswith("actor") else record.host
            if self._homes.setdefault((source, writer), home) != home:
                self._copiers.add((source, writer))
                return True
        return False

    def _speaker(self, record: Record, spot: Spot) -> Process:
        """Return the process of a line, and record its activity."""
        known = None if record.glued else self.processes.get((record.host, record.pid))  # type: ignore[arg-type]
        process = known or self._process(record)
        if not process.sources:
            process.writer, process.form = record.writer, intern(record.form)
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
            # Other text precedes the name, which may end with the name of a known host.
            host = longest_end(host, self._hosts)
        if pid is not None:
            return self._process_of(host, str(pid))
        if record.is_rank and record.label in self._by_label:
            return self._by_label[record.label]
        processes, label = self.strangers, record.label
        if label not in processes and len(processes) > _MANY:
            host, label = "", None
        if label not in processes:
            processes[label] = Process(host, None, self.room)
        return processes[label]

    def _process_of(self, host: str | None, pid: str | None) -> Process:
        host, number = (host or "").split(".")[0], int((pid or "0")[:11])
        key = host, number
        if (process := self.processes.get(key)) is not None:
            return process
        if not self.room.takes("process"):
            return self._beyond
        host = intern(host)  # all processes of a node share one string
        if host:
            self._hosts.add(host)
        process = self.processes[host, number] = Process(host, number, self.room)
        return process

    def _occurrence(
        self, rule: LogRule, process: Process, sighting: Sighting, time: str
    ) -> None:
        occurrence = self.occurrences.get(rule.id)
        if occurrence is None:
            order = len(self.occurrences)
            occurrence = self.occurrences[rule.id] = Occurrence(
                rule, sighting, order, time
            )
        occurrence.count += 1
        occurrence.last[sighting.spot.source] = sighting.spot
        if time and time < occurrence.time:  # files are read one after another
            occurrence.time, occurrence.first = time, sighting
        if len(occurrence.processes) < _MANY:
            key = process.key
            if process.pid is None and process.label is not None:
                key = f"{process.host} {process.label}", None
            occurrence.processes[key] = process
        if rule.severity == "error" and not rule.consequence:
            firsts = self.first_ends if rule.ends else self.first_errors
            firsts.setdefault(process.host, occurrence)


def _is_said_bare(match: Match) -> bool:
    """Return whether a line without NCCL's prefix is NCCL's, and not a program's own.

    A program may print similar words: ``INFO Using network resnet50``. A line of NCCL
    without its prefix begins with NCCL's words, and names a network.
    """
    rule = match.rule
    if rule.severity or rule.anywhere or not rule.event:
        return True
    network = match.fields.get("network")
    return match.offset == 0 and (
        network is None or network_kind(network.strip()) is not None
    )
