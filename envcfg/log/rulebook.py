"""Rules: what a line looks like, what it means, and what to do about it.

The rules are data, in ``rules/*.yaml``. Each file names its *gates*: short texts of which
every line that one of its rules knows holds one, or NCCL's own prefix. A rule with a
``pattern`` recognises lines; one without belongs to a judgement over many ranks and only
has words. Patterns are compiled when a line first holds their needle, so that a short log
pays for a few of them.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.datafile import load_kept, names_in
from envcfg.findings import Severity
from envcfg.log.numbers import grouped

_NO_NUMBERS = dict.fromkeys(map(ord, "0123456789abcdef"))
_MANY = 1 << 12  # messages of which is remembered what they match
FOLDER = os.path.join(os.path.dirname(__file__), "rules")
RAISED = "exception"  # the event of a line that counts at the end of a traceback alone


class Rule(NamedTuple):
    """One format of a line, or one judgement.

    Attributes:
        id: short stable name, never reused.
        needle: text that every line of this format holds; empty for a judgement.
        where: text that the place in NCCL's source holds, which stands in front of a
            warning; such a rule needs no needle and wins over those without.
        pattern: regular expression that is searched for in the message.
        event: what the state of a rank learns from it; None where it learns nothing.
        anywhere: it is evidence without a prefix, and wherever it stands in the line.
        explains: ids of findings that it gives a reason for.
        when: what must be known of a process for that.
        severity: what a line of this kind is worth; None: it is evidence, no finding.
        ends: the program ended by it, whatever the network did.
        benign: it looks bad and is not.
        consequence: it follows from another error, which is the one to mend.
        unless: ids of others; where one may have come first it is a note and ended nothing.
        phase: of the job, in which its line counts: ``start`` (what is tried again),
            ``init``, ``running``, ``end``; ``always`` where no progress excuses it.
        versions: library to the range of versions that print it (``2.22-2.25``).
        says: of one that explains another: what it says of ranks, as of several; of an end:
            what happened to the process, with what the pattern captured.
        meaning: why, in a sentence.
        fix: what to do.
        next: the step after the job ended by it: ``fix first``, ``restart``, ``restart
            without`` its nodes, or ``wait``; else ``restart``.
        source: who says so, with version or date.
        samples: whole lines that match this rule and no other.
        counter: whole lines that this rule does not match.
        gates: of its file; a line without one is not even looked at.
        topic: of its file: what stands behind it, where no topic names it itself.
    """

    id: str
    needle: str = ""
    where: str = ""
    pattern: str = ""
    event: str | None = None
    anywhere: bool = False
    explains: tuple[str, ...] = ()
    when: Mapping[str, Any] = {}
    severity: Severity | None = None
    ends: bool = False
    benign: bool = False
    consequence: bool = False
    unless: tuple[str, ...] = ()
    phase: str = "running"
    versions: Mapping[str, str] = {}
    says: str = ""
    meaning: str = ""
    fix: str | None = None
    next: str = ""
    source: str = ""
    samples: tuple[str, ...] = ()
    counter: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    topic: str = ""


KEYS = Rule._fields[: Rule._fields.index("gates")]


class Match(NamedTuple):
    """A message that a rule recognised, where it begins to, and what was captured."""

    rule: Rule
    fields: Mapping[str, str | None]
    at: int


class Rulebook:
    """All rules, with one search that finds those a message may match.

    Attributes:
        rules: by their id.
        gates: of all their files, each once.
        needles: of all of them, each once.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Take *rules*; the first that matches wins where several could."""
        self.rules = {rule.id: rule for rule in rules}
        gates = dict.fromkeys(gate for rule in rules for gate in rule.gates)
        self.gates = tuple(gate.encode() for gate in gates)
        found = [rule for rule in rules if rule.needle and not rule.where]
        self._by_needle = grouped(found, lambda rule: rule.needle)
        self.needles = tuple(self._by_needle)
        self._bare = [(each, each.translate(_NO_NUMBERS)) for each in self._by_needle]
        self._shapes: dict[object, tuple[str, ...]] = {}
        self._placed = [rule for rule in rules if rule.where]
        self._channels = [
            rule for rule in rules if rule.event in ("channel", "channel-local")
        ]
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._matched: dict[str, Match | None] = {}

    def match(self, message: str, where: str = "", shape: bytes = b"") -> Match | None:
        """Return the first rule that *message* matches, or None.

        Args:
            message: without what stands in front of it.
            where: the place in the source that stands there.
            shape: its line without numbers, where that is known.
        """
        if where:
            return self._said(message, where)
        if message.startswith("Channel "):  # nine in ten lines of a large debug log
            for rule in self._channels:
                if rule.needle in message and (
                    found := self._pattern(rule).search(message)
                ):
                    return Match(rule, found.groupdict(), found.start())
        # Ranks say the same, or the same with other numbers.
        if message not in self._matched:
            if not self._needles_of(message, shape):
                return None
            if len(self._matched) > _MANY:
                self._matched.clear()
            self._matched[message] = self._said(message, shape=shape)
        return self._matched[message]

    def _said(self, message: str, where: str = "", shape: bytes = b"") -> Match | None:
        """Return the first rule that counts outside of a traceback, too."""
        for found in self.matches(message, where, shape):
            if found.rule.event != RAISED:
                return found
        return None

    def is_dull(self, message: str, shape: bytes) -> bool:
        """Return whether no rule knows what *message* says, whatever its numbers are.

        Of lines of channels the scanner knows better which of them are news.
        """
        return not (message.startswith("Channel ") or self._needles_of(message, shape))

    def _needles_of(self, message: str, shape: bytes) -> tuple[str, ...]:
        """Return the needles that *message* may hold, among them each that it does.

        What holds one holds it when numbers are left out of both, too.
        """
        key = shape or message.translate(_NO_NUMBERS)
        if (held := self._shapes.get(key)) is None:
            if len(self._shapes) > _MANY:
                self._shapes.clear()
            if isinstance(key, bytes):
                # What stands in front of the message holds needles, too: "NCCL ".
                said = key.partition(b" NCCL ")[2].partition(b" ")[2] or key
                text = str(said, "utf-8", "replace")
            else:
                text = key
            held = tuple(needle for needle, bare in self._bare if bare in text)
            self._shapes[key] = held
        return held

    def matches(
        self, message: str, where: str = "", shape: bytes = b""
    ) -> Iterator[Match]:
        """Yield every rule that *message* matches, in the order of its needles."""
        for rule in self._placed if where else ():
            found = rule.where in where and self._pattern(rule).search(message)
            if found:
                yield Match(rule, found.groupdict(), found.start())
                return
        # At one place a longer needle says more than its beginning.
        held = [
            (at, -len(needle), needle)
            for needle in self._needles_of(message, shape)
            if (at := message.find(needle)) >= 0
        ]
        for *_, needle in sorted(held):
            for rule in self._by_needle[needle]:
                if found := self._pattern(rule).search(message):
                    yield Match(rule, found.groupdict(), found.start())

    def _pattern(self, rule: Rule) -> re.Pattern[str]:
        if rule.id not in self._compiled:
            self._compiled[rule.id] = re.compile(rule.pattern)
        return self._compiled[rule.id]


def load_rules(folder: str = FOLDER) -> list[Rule]:
    """Return every rule of *folder*, in the order of files and of each file."""
    names = sorted(name for name in names_in(folder) if name.endswith(".yaml"))
    files = load_kept("rules", [os.path.join(folder, name) for name in names])
    rules = []
    for name, file in zip(names, files, strict=True):
        gates = tuple(file.get("gates", ()))
        for each in file["rules"]:
            if unknown := set(each) - set(KEYS):
                msg = f"{name}: {each.get('id')}: unknown {sorted(unknown)}"
                raise ValueError(msg)
            data = {"phase": file.get("phase", "running"), **each}
            for key in ("explains", "unless", "samples", "counter"):
                data[key] = tuple(data.get(key, ()))
            rules.append(Rule(**data, gates=gates, topic=file["topic"]))
    return rules


def stack_rules() -> list[Rule]:
    """Return what is known of stacks as rules, of which people ask what they mean."""
    from envcfg.profile.stacks import load_stacks

    return [
        Rule(
            id=each.id,
            severity=each.severity,
            meaning=f"{each.meaning}; {each.why}",
            fix=each.fix,
            source=f"{each.source}, {each.date}",
        )
        for each in load_stacks()
    ]
