"""Why something is so, where the log tells: rules that give a reason for what others find.

Such a rule says what it ``explains``, and ``when``: what must be known of a process. One
with a severity is a finding, from which the other follows; one without has better words
for it, as the right advice is not the same on every network.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from envcfg.log.names import network_kind
from envcfg.log.process import Process
from envcfg.log.rank import Symptom
from envcfg.log.rulebook import Rule
from envcfg.log.traffic import Entity

Member = tuple[Entity | None, Symptom]


class Reasons:
    """The reasons that a log tells for what is found in it."""

    def __init__(self, everyone: Sequence[Process], rules: Mapping[str, Rule]) -> None:
        """Look among *everyone*, all processes of a job, with the *rules* by their id."""
        self._rules = rules
        self._by_name: dict[str, list[Rule]] = {}
        for rule in rules.values():
            for name in rule.explains if rule.when else ():
                self._by_name.setdefault(name, []).append(rule)
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
                sighting = _sighting(rule, entity.process)
                reason = Symptom(rule.id, symptom.verdict, rule.says, sighting)
                found[entity, reason] = None
            found[entity, symptom] = None
        return list(found)

    def words(self, name: str, processes: Iterable[Process]) -> Rule:
        """Return the rule *name*, or that with better words for most *processes*."""
        if name not in self._by_name:
            return self._rules[name]
        better = (self._reason(name, each, own=False) for each in processes)
        usual = Counter(rule.id for rule in better if rule).most_common(1)
        return self._rules[usual[0][0]] if usual else self._rules[name]

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
                else self._elsewhere(process, value)
                for key, value in rule.when.items()
            ):
                return rule
        return None

    def _elsewhere(self, process: Process, events: Sequence[str]) -> bool:
        """Return whether a process of another node has said one of *events*."""
        found = (self._hosts.get(event, set()) for event in events)
        return any(hosts - {process.host} for hosts in found)


def _sighting(rule: Rule, process: Process) -> Any:  # noqa: ANN401  # or None
    shown = [f"setting {name}" for name in rule.when.get("settings", ())]
    shown += rule.when.get("seen", ())
    return next((process.seen[key] for key in shown if key in process.seen), None)


def _settings(process: Process, wanted: Mapping[str, str]) -> bool:
    values = process.settings
    return all(
        re.fullmatch(text, values.get(name, "")) for name, text in wanted.items()
    )


def _seen(process: Process, events: Sequence[str]) -> bool:
    return all(event in process.seen for event in events)


def _unseen(process: Process, events: Sequence[str]) -> bool:
    return not any(event in process.seen for event in events)


def _network(process: Process, kind: str) -> bool:
    return any(network_kind(name) == kind for name in process.networks)


def _provider(process: Process, text: str) -> bool:
    return any(re.fullmatch(text, name) for name in process.providers)


def _interface(process: Process, text: str) -> bool:
    names = (name for used in process.interfaces.values() for name in used)
    return any(re.match(text, name) for name in names)


def _reason(process: Process, text: str) -> bool:
    return re.search(text, process.reason or "") is not None


def _trace(process: Process, text: str) -> bool:
    return any(re.match(text, file) for file, _ in process.traces)


_TESTS: Mapping[str, Callable[[Process, Any], bool]] = {
    "settings": _settings,  # variable: all of its value
    "seen": _seen,  # events
    "unseen": _unseen,
    "network": _network,  # kind of one that it uses
    "provider": _provider,  # of libfabric
    "interface": _interface,  # the beginning of a name
    "reason": _reason,  # why the plugin was not loaded
    "trace": _trace,  # the beginning of a file through which an error went up
}
WHEN = frozenset(_TESTS) | {"elsewhere"}  # that: events of a process of another node
