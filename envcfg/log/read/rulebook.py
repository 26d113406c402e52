"""Rules: the pattern of a line, its meaning, and the remedy.

The rules are data, in ``rules/*.yaml``. Each file lists *gates*: short texts, one of which
is in every line that its rules match, unless NCCL's own prefix is. A rule with a
``pattern`` matches lines; one without belongs to a judgement over many ranks and only has
words. A pattern is compiled when a line first holds its needle, so that a short log pays
for a few patterns only.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from signal import Signals
from typing import Any, Literal, NamedTuple

from envcfg.common.characters import Texts
from envcfg.common.datafile import data_path, load_kept, names_in
from envcfg.common.findings import Finding, Severity
from envcfg.log.numbers import grouped
from envcfg.log.verdict import Action, CauseClass

_NO_NUMBERS = dict.fromkeys(map(ord, "0123456789abcdef"))  # addresses are hexadecimal
_MANY = 1 << 12  # messages with remembered matches
_GAP = "\0"
# Ends of unknown text in front of a message, and the part of a line in which it ends.
_FRONTS = re.compile(
    r"[\])}|>]\s*|: +|\s{2,}|\.{3} |(?<=[\d%./-])(?=[A-Za-z#*=\[])|(?<=[a-z])(?=[A-Z])"
    r"|(?<=\d[a-z])(?=[a-z*])|(?<=/s)"
)
_FRONT, _PARTS = 2048, 12
# A missing capture, with the punctuation that it leaves without a purpose.
_GAPS = re.compile(rf" ?\({_GAP}\)|[:,]? ?{_GAP}(?=$|[:,;])|{_GAP} ?")
FOLDER = data_path("log/read/rules")
CLASSES = "read/cause_classes"
RAISED = "exception"  # the event of a line that counts only at the end of a traceback
# Events of lines that can be the cause of an end. The class of a file counts for them.
_ENDS = frozenset(("ended", "stopped", "lacking", "absent", RAISED))


class LogRule(NamedTuple):
    """One format of a line, or one judgement."""

    id: str  # short stable name, never reused
    needle: str = ""  # text that every line of this format holds; empty for a judgement
    # Text in the place in NCCL's source, which precedes a warning; such a rule needs no
    # needle and wins over those without.
    where: str = ""
    pattern: str = ""  # regular expression that is searched for in the message
    # The event for the state of a rank; None if the line has no effect there.
    event: str | None = None
    # True if it is evidence without a prefix, and anywhere in the line.
    anywhere: bool = False
    explains: Texts = ()  # ids of findings that it gives a reason for
    when: Mapping[str, Any] = {}  # facts of a process that this reason requires
    # Severity of a line of this kind; None: it is evidence, no finding.
    severity: Severity | None = None
    ends: bool = False  # True if it ended the program, independent of the network
    benign: bool = False  # True if it looks bad and is not
    # True if it follows from another error, which must be repaired.
    consequence: bool = False
    # True if a stopped job ends like this, maybe before the stop is logged.
    reaction: bool = False
    # Ids of other rules; if one of them may have come first, this is a note.
    unless: Texts = ()
    # Phase of the job in which its line counts: `start` (with retries), `init`,
    # `running`, `end`; `teardown` if a good end before it excuses it; `always` if no
    # progress does.
    phase: str = "running"
    # Library to the range of versions that print it (`2.22-2.25`).
    versions: Mapping[str, str] = {}
    # Verb phrase about ranks, in the plural, or about the process that ended, with
    # captures of the pattern.
    says: str = ""
    meaning: str = ""
    fix: str | None = None
    # Class of the cause, by the rule or its file (the key is `class`); empty if it ends
    # no job.
    class_: CauseClass | Literal[""] = ""
    # The step after a job that it ended: `fix first`, `restart`, `restart without` its
    # nodes, `wait`, or `unknown`; by default that of the class. Of a consequence
    # unknown.
    next: Action | None = None
    source: str = ""  # the source, with version or date
    samples: Texts = ()  # whole lines that match this rule and no other
    counter: Texts = ()  # whole lines that this rule does not match
    # Exit codes, 128 and a signal; a rule with codes replaces that of a line.
    codes: tuple[int, ...] = ()
    gates: Texts = ()  # gates of its file; a line without one is not examined
    topic: str = ""  # the topic of its file, unless a topic names the rule itself

    def finding(
        self,
        subject: str,
        message: str,
        severity: Severity | None = None,
        **details: Any,  # noqa: ANN401  # other fields of the finding
    ) -> Finding:
        """Return a finding with the words, and by default the severity, of this rule."""
        return Finding(
            rule=self.id,
            severity=severity or self.severity or "note",
            subject=subject,
            message=message,
            fix=self.fix,
            source=self.source,
            why=self.meaning,
            **details,
        )


class Match(NamedTuple):
    """A message that a rule recognised, with its offset and captures."""

    rule: LogRule
    fields: Mapping[str, str | None]
    offset: int


class _Captures(dict[str, str]):
    """Captures by name; a missing one is a gap."""

    def __missing__(self, name: str) -> str:
        return _GAP


def fill(words: str, fields: Mapping[str, str | None]) -> str:
    """Return *words* with *fields* in their places, without the places that lack a value.

    >>> fill("crashed with signal {code} ({signal})", {"code": "11", "signal": None})
    'crashed with signal 11'
    """
    if "{" not in words:
        return words
    values = {name: value for name, value in fields.items() if value}
    text = words.format_map(_Captures(values))
    return _GAPS.sub("", text).strip() if _GAP in text else text


class Rulebook:
    """All rules, with one search that finds the rules for a message."""

    def __init__(self, rules: Sequence[LogRule]) -> None:
        """Take *rules*; the first match wins."""
        self.rules = {rule.id: rule for rule in rules}  # by their id
        gates = dict.fromkeys(gate for rule in rules for gate in rule.gates)
        # Gates of all files, without duplicates.
        self.gates = tuple(gate.encode() for gate in gates)
        plain_rules = [rule for rule in rules if rule.needle and not rule.where]
        self._by_needle = grouped(plain_rules, lambda rule: rule.needle)
        # Needles of all rules, without duplicates.
        self.needles = tuple(self._by_needle)
        self._bare = [
            (needle, needle.translate(_NO_NUMBERS)) for needle in self._by_needle
        ]
        self._shapes: dict[object, Texts] = {}
        self._placed = [rule for rule in rules if rule.where]
        self._channels = [
            rule for rule in rules if rule.event in ("channel", "channel-local")
        ]
        self._codes = {str(code): rule for rule in rules for code in rule.codes}
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._matched: dict[str, Match | None] = {}

    def match(self, message: str, where: str = "", shape: bytes = b"") -> Match | None:
        """Return the first rule that *message* matches, or None.

        Args:
            message: the message without its prefix.
            where: the place in the source before the message.
            shape: its line without numbers, if known.
        """
        if where:
            return self._line_match(message, where)
        if message.startswith("Channel "):  # 90 % of the lines of a large debug log
            for rule in self._channels:
                if rule.needle in message and (match := self._search(rule, message)):
                    return match
        # Ranks repeat messages, often with other numbers only.
        if message not in self._matched:
            if not self._needles_of(message, shape):
                return None
            if len(self._matched) > _MANY:
                self._matched.clear()
            self._matched[message] = self._line_match(message, shape=shape)
        return self._matched[message]

    def _line_match(
        self, message: str, where: str = "", shape: bytes = b""
    ) -> Match | None:
        """Return the first match that also counts outside a traceback."""
        for match in self.matches(message, where, shape):
            if match.rule.event != RAISED:
                return match
        return None

    def death_inside(self, message: str) -> Match | None:
        """Return a match about an end behind unknown text; None if there is none."""
        needles = map(message.find, self._needles_of(message, b""))
        end = min(max(needles, default=-1) + 1, _FRONT)
        for front in [*_FRONTS.finditer(message, 0, end)][-_PARTS:]:
            match = self.match(message[front.end() :].strip())
            if match and (match.rule.ends or match.rule.event == "ended"):
                return match
        return None

    def with_signal(self, match: Match) -> Match:
        """Return *match* with the rule of the signal that its exit code reports, if any."""
        code, line_rule = match.fields.get("code") or "", match.rule
        rule = self._codes.get(code)
        if rule is None or line_rule.event not in ("ended", "failure"):
            return match
        words = f"exit code {code} ({Signals(int(code) - 128).name})"
        return match._replace(
            rule=rule._replace(event=line_rule.event),
            fields={**match.fields, "code": None, "said": words},
        )

    def is_dull(self, message: str, shape: bytes) -> bool:
        """Return whether no rule matches *message*, for any numbers in it.

        For channel lines the scanner decides which of them are new.
        """
        return not (message.startswith("Channel ") or self._needles_of(message, shape))

    def _needles_of(self, message: str, shape: bytes) -> Texts:
        """Return the needles that *message* may hold: all of its own, and maybe more.

        A needle without numbers is in the message without numbers if the needle is in it.
        """
        key = shape or message.translate(_NO_NUMBERS)
        if (needles := self._shapes.get(key)) is None:
            if len(self._shapes) > _MANY:
                self._shapes.clear()
            if isinstance(key, bytes):
                # The prefix contains needles too, such as "NCCL ".
                message_bytes = key.partition(b" NCCL ")[2].partition(b" ")[2] or key
                text = str(message_bytes, "utf-8", "replace")
            else:
                text = key
            needles = tuple(needle for needle, bare in self._bare if bare in text)
            self._shapes[key] = needles
        return needles

    def matches(
        self, message: str, where: str = "", shape: bytes = b""
    ) -> Iterator[Match]:
        """Yield every rule that *message* matches, in the order of its needles."""
        for rule in self._placed if where else ():
            if rule.where in where and (match := self._search(rule, message)):
                yield match
                return
        # At one place the longer needle is the more specific one.
        hits = [
            (position, -len(needle), needle)
            for needle in self._needles_of(message, shape)
            if (position := message.find(needle)) >= 0
        ]
        for *_, needle in sorted(hits):
            for rule in self._by_needle[needle]:
                if match := self._search(rule, message):
                    yield match

    def _search(self, rule: LogRule, message: str) -> Match | None:
        """Return the match of one rule, whose pattern is compiled when it is needed."""
        # Compiling all patterns takes longer than reading a short log.
        if rule.id not in self._compiled:
            self._compiled[rule.id] = re.compile(rule.pattern)
        match = self._compiled[rule.id].search(message)
        return match and Match(rule, match.groupdict(), match.start())


def load_rules() -> list[LogRule]:
    """Return every rule, in the order of files and of each file."""
    paths = [os.path.join(FOLDER, name) for name in names_in(FOLDER, ".yaml")]
    *files, classes = load_kept("rules", *paths, f"log/{CLASSES}.yaml")
    rules = []
    for file in files:
        gates = tuple(file.get("gates", ()))
        for rule in file["rules"]:
            data = {"phase": file.get("phase", "running"), **rule}
            is_end = data.get("severity") == "error" or data.get("event") in _ENDS
            class_ = data.pop("class", file.get("class", "") if is_end else "")
            if class_ and not data.get("consequence"):
                data.setdefault("next", classes["classes"][class_]["next"])
            for key in ("explains", "unless", "samples", "counter", "codes"):
                data[key] = tuple(data.get(key, ()))
            rules.append(
                LogRule(**data, class_=class_, gates=gates, topic=file["topic"])
            )
    return rules


def stack_rules() -> list[LogRule]:
    """Return the known stacks as rules, for ``explain``."""
    from envcfg.profile.version_conflicts import load_stacks

    return [
        LogRule(
            id=stack.id,
            severity=stack.severity,
            meaning=f"{stack.meaning}; {stack.why}",
            fix=stack.fix,
            source=f"{stack.source}, {stack.date}",
        )
        for stack in load_stacks()
    ]
