"""Reasons in the log: rules that explain the findings of other rules.

Such a rule names the findings that it ``explains``, and the required facts of a process
(``when``). A rule with a severity is a finding that causes the other. A rule without one
has better words for it, because the right advice depends on the network.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from envcfg.log.judge.rank import Symptom
from envcfg.log.names import fitted, network_kind
from envcfg.log.numbers import collect
from envcfg.log.read.rulebook import LogRule
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.process import GAVE_UP, Process, RaisedWarning
from envcfg.log.state.traffic import Entity
from envcfg.log.state.world import World

Member = tuple[Entity | None, Symptom]
RULE = "warning-then-failed"
_WORDS = 100  # characters of a warning to repeat in a finding


def followers(name: str, rules: Mapping[str, LogRule]) -> set[str]:
    """Return the findings that *name* explains, directly or by another finding."""
    names = {name}
    while more := {n for own in names for n in rules[own].explains} - names:
        names |= more
    return names - {name}


class Reasons:
    """The reasons for findings that a log contains."""

    def __init__(
        self, everyone: Sequence[Process], rules: Mapping[str, LogRule]
    ) -> None:
        """Search *everyone*, all processes of a job, with the *rules* by their id."""
        self._rules = rules
        self._by_name = collect(
            (name, rule)
            for rule in rules.values()
            if rule.when
            for name in rule.explains
        )
        # Advice depends on the libraries in the log, and on whether NCCL writes INFO.
        self._known = {
            name for p in everyone for name, version in p.versions.items() if version
        }
        self._known |= {name for p in everyone for name, _ in p.dialects}
        self._known |= {"info" for p in everyone if p.informed}
        self._hosts: dict[str, set[str]] = {}
        for process in everyone:
            for event in process.seen:
                self._hosts.setdefault(event, set()).add(process.host)

    def with_reasons(self, symptoms: Sequence[Member]) -> list[Member]:
        """Return *symptoms*, and before each the finding that is the reason for it."""
        members: dict[Member, None] = {}
        for entity, symptom in symptoms:
            rule = entity and self._reason(symptom.rule, entity.process, own=True)
            if rule and entity:
                names = [f"setting {name}" for name in rule.when.get("settings", ())]
                names += rule.when.get("seen", ())
                sightings = entity.process.seen
                sighting = next(
                    (sightings[key] for key in names if key in sightings), None
                )
                reason = Symptom(rule.id, symptom.verdict, rule.says, sighting)
                members[entity, reason] = None
            members[entity, symptom] = None
        return list(members)

    def words(self, name: str, processes: Iterable[Process]) -> LogRule:
        """Return the rule *name*, or the rule with better words for most *processes*."""
        if name in self._by_name:
            better = (self._reason(name, process, own=False) for process in processes)
            # One finding covers many processes, so the most frequent advice is given.
            usual = Counter(rule.id for rule in better if rule).most_common(1)
            name = usual[0][0] if usual else name
        rule = self._rules[name]
        return rule._replace(fix=fitted(rule.fix, self._known))

    def explain(self, name: str, processes: Sequence[Process]) -> bool:
        """Return whether other findings are the reason for *name* in all *processes*."""
        return bool(processes) and all(
            self._reason(name, process, own=True) for process in processes
        )

    def _reason(self, name: str, process: Process, *, own: bool) -> LogRule | None:
        """Return the first rule with a reason: a finding if *own*, else better words."""
        for rule in self._by_name.get(name, ()):
            if bool(rule.severity) == own and all(
                _TESTS[key](process, value)
                if key in _TESTS
                else any(self._hosts.get(e, set()) - {process.host} for e in value)
                for key, value in rule.when.items()
            ):
                return rule
        return None


# The conditions that ``when`` may contain, with the meaning of their values.
_TESTS: Mapping[str, Callable[[Process, Any], bool]] = {
    # Variables: a pattern for the whole value of each.
    "settings": lambda process, names: all(
        re.fullmatch(text, process.settings.get(name, ""))
        for name, text in names.items()
    ),
    # Events.
    "seen": lambda process, events: all(event in process.seen for event in events),
    "unseen": lambda process, events: (
        not any(event in process.seen for event in events)
    ),
    # The kind of a network that the process uses.
    "network": lambda process, kind: kind in map(network_kind, process.networks),
    # A provider of libfabric.
    "provider": lambda process, text: any(
        re.fullmatch(text, name) for name in process.providers
    ),
    # A prefix of an interface's name.
    "interface": lambda process, text: any(
        re.match(text, name) for used in process.interfaces.values() for name in used
    ),
    # The reason why the plugin was not loaded.
    "reason": lambda process, text: bool(re.search(text, process.reason or "")),
    # A prefix of a file through which an error was passed up.
    "trace": lambda process, text: any(
        re.match(text, file) for file, _ in process.traces
    ),
}
WHEN = frozenset(_TESTS) | {"elsewhere"}  # elsewhere: events on another node


# A warning before an error, and the processes with both.
EarlierWarning = tuple[RaisedWarning, tuple[Process, ...]]


def reasons_of(job: JobLog) -> dict[str, EarlierWarning]:
    """Return the warnings that errors followed, by their shape.

    If an error was passed up after a warning, the warning is its reason, whatever its
    words. NCCL prints each function through which an error is passed (``proxy.cc:700 ->
    2``). It does so for mere attempts too; then the process continues with new lines, and
    the warning is no reason.

    If an error states its own reason, no warning before it is used.
    """
    reasons: dict[str, EarlierWarning] = {}
    for process in job.everyone:
        if process.host in job.first_errors or process.is_anyone:
            continue
        for raised in process.raised.values():
            if raised.over or (raised.harmless and not raised.files & GAVE_UP):
                continue
            first, holders = reasons.get(raised.shape, (raised, ()))
            reasons[raised.shape] = first, (*holders, process)
    rule = job.rulebook.rules.get(RULE)
    # Some errors only refer to a warning for their reason.
    is_asked_for = rule and not job.occurrences.keys().isdisjoint(rule.explains)
    if not reasons and not job.first_errors and is_asked_for:
        # Warnings without a rule come first, because rules judge the others already.
        warnings = [
            RaisedWarning(shape, sighting, harmless=False, over=False)
            for shape, (_, sighting) in job.unknown.items()
        ]
        warnings += [w for process in job.everyone for w in process.warned.values()]
        for first in warnings:
            if not (first.harmless or first.over):
                return {first.shape: (first, ())}
    return reasons


def warned_symptoms(job: JobLog, world: World) -> Iterator[Member]:
    """Yield a symptom for each process that gave up after a warning."""
    entities = {id(entity.process): entity for entity in world.entities}
    for raised, processes in reasons_of(job).values():
        text = raised.sighting.text
        words = (text.partition("NCCL WARN ")[2] or text).strip()[:_WORDS]
        detail = f"warned, and an error followed: {words}"
        symptom = Symptom(RULE, "broken", detail, raised.sighting)
        if not processes:
            yield None, symptom._replace(detail=f"NCCL {detail}")
        for process in processes:
            yield entities.get(id(process), Entity(None, process)), symptom
