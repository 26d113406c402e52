"""References of settings to missing values, and variables that are set twice; pure.

The file of a profile and the plan of a job share these checks and their wording.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from envcfg.backends.launchers import AGENTS
from envcfg.backends.starters import STARTERS
from envcfg.common.findings import Finding
from envcfg.profile.job_facts import Reason
from envcfg.profile.setting_scope import TASK, CircleError, in_order
from envcfg.profile.words import Word, references

Words = Mapping[str, Sequence[Word]]


class _BundleLike(Protocol):
    """A bundle of a profile or plan: values that are set together."""

    @property
    def name(self) -> str: ...
    @property
    def env(self) -> Mapping[str, Word]: ...
    @property
    def reason(self) -> Reason: ...


_Bundle = TypeVar("_Bundle", bound=_BundleLike)


def clashing_references(
    words: Words, launchers: Collection[str], *, has_scratch: bool
) -> Iterator[Finding]:
    """Yield references to missing names, and cycles of references.

    Names that the rank part needs from a starter are checked too.

    Args:
        words: the possible values of each variable.
        launchers: the launchers that may start the ranks.
        has_scratch: whether there is a place for node-local caches.
    """
    starters = [STARTERS[launcher] for launcher in launchers if launcher in STARTERS]
    owners = {
        name: starter.name for starter in starters for name in starter.names.shared
    }
    for name, values in words.items():
        if name in owners:
            message = (
                f"{name} is each rank's own under {owners[name]} and cannot be set"
            )
            yield _clash(name, message, "the rank part needs it")
        for ref in dict.fromkeys(ref for word in values for ref in references(word)):
            if reference := _reference(ref, launchers, has_scratch=has_scratch):
                yield _clash(
                    name, f"{name} refers to {ref}, {reference[0]}", reference[1]
                )
    try:
        in_order(words)
    except CircleError as err:
        yield _clash(err.names[0], err.message, err.remedy)


def _clash(name: str, message: str, fix: str) -> Finding:
    """Return the finding for an impossible setting, with the replacement."""
    return Finding("profile-clash", "error", name, message, fix)


def _reference(
    ref: str, launchers: Collection[str], *, has_scratch: bool
) -> tuple[str, str] | None:
    if ref == "HOSTNAME":
        starters = [
            STARTERS[launcher] for launcher in launchers if launcher in STARTERS
        ]
        names = {starter.names.node for starter in starters if starter.spans_nodes}
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
