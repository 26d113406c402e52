"""What settings refer to in vain, and what is set twice; pure.

One list of checks and one wording, for the file of a profile and for the plan of a job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from envcfg.findings import Finding
from envcfg.launchers import AGENTS
from envcfg.profile.facts import Reason
from envcfg.profile.scope import TASK, CircleError, in_order
from envcfg.profile.words import Word, references
from envcfg.starters import STARTERS

Words = Mapping[str, Sequence[Word]]


class _Coupled(Protocol):
    """A bundle, of a profile or of a plan: what is set together."""

    @property
    def name(self) -> str: ...
    @property
    def env(self) -> Mapping[str, Word]: ...
    @property
    def reason(self) -> Reason: ...


_Bundle = TypeVar("_Bundle", bound=_Coupled)


def clashing_references(
    words: Words, launchers: Collection[str], *, has_scratch: bool
) -> Iterator[Finding]:
    """Yield what refers to something that is not there, or to itself by way of others.

    And what the rank part needs as one of the starters says it.

    Args:
        words: each variable with the values it can take.
        launchers: those that may start the ranks.
        has_scratch: whether there is a place for node-local caches.
    """
    starters = [STARTERS[each] for each in launchers if each in STARTERS]
    told = {name: each.name for each in starters for name in each.names.shared}
    for name, values in words.items():
        if name in told:
            what = f"{name} is each rank's own under {told[name]} and cannot be set"
            yield _clash(name, what, "the rank part needs it")
        for ref in dict.fromkeys(ref for word in values for ref in references(word)):
            if found := _reference(ref, launchers, has_scratch=has_scratch):
                yield _clash(name, f"{name} refers to {ref}, {found[0]}", found[1])
    try:
        in_order(words)
    except CircleError as err:
        yield _clash(err.names[0], err.message, err.remedy)


def _clash(name: str, message: str, fix: str) -> Finding:
    """Return why a variable cannot be set as it is meant, and what to write instead."""
    return Finding("profile-clash", "error", name, message, fix)


def _reference(
    ref: str, launchers: Collection[str], *, has_scratch: bool
) -> tuple[str, str] | None:
    if ref == "HOSTNAME":
        starters = [STARTERS[each] for each in launchers if each in STARTERS]
        names = {each.names.node for each in starters if each.spans_nodes}
        name = names.pop() if len(names) == 1 else "NODE_RANK"
        return "the batch host's in every rank", f"use ${{{name}}}"
    if ref in TASK and (agent := next((a for a in AGENTS if a in launchers), None)):
        hint = f"{agent} starts several ranks in a task: use ${{LOCAL_RANK}}, ${{RANK}}"
        return f"which is not a rank's own under {agent}", hint
    if ref == "ENVCFG_CACHE" and not has_scratch:
        hint = "add a block 'scratch' with a root to the profile"
        return "but the profile has no scratch", hint
    return None


def clashing_bundles(
    bundles: Iterable[_Bundle], names: Collection[str]
) -> Iterator[tuple[_Bundle, Finding]]:
    """Yield each bundle that sets one of the *names*, which env sets, with the clash."""
    for bundle in bundles:
        for name in bundle.env:
            if name in names:
                place = bundle.reason.place
                message = f"bundle {bundle.name} sets {name}, and so does env ({place})"
                hint = f"remove one of them: 'env: {{{name}: null}}' or the bundle"
                yield bundle, _clash(name, message, hint)
