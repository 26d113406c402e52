"""Why something is so, where the log tells: rules that give a reason for what others find.

Such a rule says what it ``explains``, and ``when``: what must be known of a process. One
with a severity is a finding, from which the other follows; one without has better words
for it, as the right advice is not the same on every network.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.log.job import Job
from envcfg.log.names import fitted, network_kind
from envcfg.log.process import GAVE_UP, Process, Raised
from envcfg.log.rank import Symptom
from envcfg.log.rulebook import Rule
from envcfg.log.traffic import Entity
from envcfg.log.world import World

Member = tuple[Entity | None, Symptom]
RULE = "warning-then-failed"
_WORDS = 100  # characters of a warning that a finding repeats


class Reasons:
    """The reasons that a log tells for what is found in it."""

    def __init__(self, everyone: Sequence[Process], rules: Mapping[str, Rule]) -> None:
        """Look among *everyone*, all processes of a job, with the *rules* by their id."""
        self._rules = rules
        self._by_name: dict[str, list[Rule]] = {}
        for rule in rules.values():
            for name in rule.explains if rule.when else ():
                self._by_name.setdefault(name, []).append(rule)
        # Libraries that the log names, and whether NCCL writes INFO: advice depends on it.
        self._known = {
            name for p in everyone for name, seen in p.versions.items() if seen
        }
        self._known |= {name for p in everyone for name, _ in p.dialects}
        self._known |= {"info" for p in everyone if p.informed}
        self._hosts: dict[str, set[str]] = {}
        for process in everyone:
            for event in process.seen:
                self._hosts.setdefault(event, set()).add(process.host)

    def with_reasons(self, symptoms: Sequence[Member]) -> list[Member]:
        """Return *symptoms*, and before each the finding that is the reason for it."""
        found: dict[Member, None] = {}
        for entity, symptom in symptoms:
            rule = entity and self._reason(symptom.rule, entity.process, own=True)
            if rule and entity:
                shown = [f"setting {name}" for name in rule.when.get("settings", ())]
                shown += rule.when.get("seen", ())
                seen = entity.process.seen
                sighting = next((seen[key] for key in shown if key in seen), None)
                reason = Symptom(rule.id, symptom.verdict, rule.says, sighting)
                found[entity, reason] = None
            found[entity, symptom] = None
        return list(found)

    def words(self, name: str, processes: Iterable[Process]) -> Rule:
        """Return the rule *name*, or that with better words for most *processes*."""
        if name in self._by_name:
            better = (self._reason(name, each, own=False) for each in processes)
            usual = Counter(rule.id for rule in better if rule).most_common(1)
            name = usual[0][0] if usual else name
        rule = self._rules[name]
        return rule._replace(fix=fitted(rule.fix, self._known))

    def explain(self, name: str, processes: Sequence[Process]) -> bool:
        """Return whether other findings are the reason for *name* in all *processes*."""
        return bool(processes) and all(
            self._reason(name, process, own=True) for process in processes
        )

    def _reason(self, name: str, process: Process, *, own: bool) -> Rule | None:
        """Return the first rule that gives a reason: a finding of its *own*, or words."""
        for rule in self._by_name.get(name, ()):
            if bool(rule.severity) == own and all(
                _TESTS[key](process, value)
                if key in _TESTS
                else self._hosts_of(value) - {process.host}
                for key, value in rule.when.items()
            ):
                return rule
        return None

    def _hosts_of(self, events: Sequence[str]) -> set[str]:
        return set().union(*(self._hosts.get(event, ()) for event in events))


# What ``when`` may ask of a process, and what its value is then.
_TESTS: Mapping[str, Callable[[Process, Any], bool]] = {
    # Variables: all of the value of each.
    "settings": lambda process, wanted: all(
        re.fullmatch(text, process.settings.get(name, ""))
        for name, text in wanted.items()
    ),
    # Events.
    "seen": lambda process, events: all(each in process.seen for each in events),
    "unseen": lambda process, events: not any(each in process.seen for each in events),
    # The kind of a network that it uses.
    "network": lambda process, kind: kind in map(network_kind, process.networks),
    # A provider of libfabric.
    "provider": lambda process, text: any(
        re.fullmatch(text, name) for name in process.providers
    ),
    # The beginning of an interface's name.
    "interface": lambda process, text: any(
        re.match(text, name) for used in process.interfaces.values() for name in used
    ),
    # Why the plugin was not loaded.
    "reason": lambda process, text: bool(re.search(text, process.reason or "")),
    # The beginning of a file through which an error went up.
    "trace": lambda process, text: any(
        re.match(text, file) for file, _ in process.traces
    ),
}
WHEN = frozenset(_TESTS) | {"elsewhere"}  # that: events of a process of another node


class Reason(NamedTuple):
    """A warning that an error followed, and the processes in which it did."""

    words: str
    raised: Raised
    processes: tuple[Process, ...]


def reasons_of(job: Job) -> dict[str, Reason]:
    """Return the warnings that errors followed, by their shape.

    A warning that an error went up behind is its reason, whatever its words. NCCL says of
    each function through which an error goes up where that is (``proxy.cc:700 -> 2``). It
    does so for what it only tries, too; then the process goes on, and tells what it does
    next, and the warning is none.

    Where an error says by itself what it is, warnings before it are none of its reasons.
    """
    found: dict[str, Reason] = {}
    for process in job.everyone:
        if process.host in job.first_errors or process.is_anyone:
            continue
        for raised in process.raised.values():
            if raised.over or (raised.harmless and not raised.files & GAVE_UP):
                continue
            known = found.get(raised.shape, Reason(_words(raised), raised, ()))
            holders = (*known.processes, process)
            found[raised.shape] = known._replace(processes=holders)
    rule = job.rulebook.rules.get(RULE)
    # An error may only say that a warning tells its reason.
    is_asked_for = rule and not job.occurrences.keys().isdisjoint(rule.explains)
    if not found and not job.first_errors and is_asked_for:
        # Those that no rule knows come first.
        warnings = [
            Raised(shape, sighting, harmless=False, over=False)
            for shape, (_, sighting) in job.unknown.items()
        ]
        warnings += [w for process in job.everyone for w in process.warned.values()]
        for first in warnings:
            if not (first.harmless or first.over):
                return {first.shape: Reason(_words(first), first, ())}
    return found


def warned_symptoms(job: Job, world: World) -> Iterator[tuple[Entity | None, Symptom]]:
    """Yield a symptom for each process that gave up behind a warning."""
    entities = {id(entity.process): entity for entity in world.entities}
    for reason in reasons_of(job).values():
        detail = f"warned, and an error followed: {reason.words}"
        symptom = Symptom(RULE, "broken", detail, reason.raised.sighting)
        if not reason.processes:
            yield None, symptom._replace(detail=f"NCCL {detail}")
        for process in reason.processes:
            yield entities.get(id(process), Entity(None, process)), symptom


def _words(raised: Raised) -> str:
    words = raised.sighting.text.partition("NCCL WARN ")[2] or raised.sighting.text
    return words.strip()[:_WORDS]
