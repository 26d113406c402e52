"""The attempts of a job in the store: as text, and joined with those of its log; pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from envcfg.common.foreign_data import read_json, sequence
from envcfg.common.secrets import hide
from envcfg.log.read.attempt_steps import order_of
from envcfg.log.verdict import JobAttempt

_MOST = 50  # of a job


def attempt_texts(attempts: Iterable[JobAttempt]) -> tuple[str, ...]:
    """Return *attempts* for the store, without those whose end is unknown."""
    import json

    texts = [
        json.dumps([hide(value) if isinstance(value, str) else value for value in own])
        for own in attempts
        if own.fingerprint
    ]
    return tuple(texts[-_MOST:])


def read_attempts(texts: Iterable[str], rules: Collection[str]) -> Iterator[JobAttempt]:
    """Yield the attempts in *texts* that this version understands.

    Args:
        texts: as ``attempt_texts`` wrote them, perhaps in another version.
        rules: ids of rules that an attempt may name.
    """
    for text in texts:
        with suppress(ValueError, TypeError):
            own = JobAttempt._make(sequence(read_json(text)))
            order_of(own.last or "")
            if own.rule in rules:
                yield own._replace(nodes=tuple(map(str, sequence(own.nodes))))


def lost_attempts(
    old: Sequence[str], new: Sequence[str], *, is_new_file: bool
) -> Sequence[str]:
    """Return those of the *old* attempts that come before the *new* ones.

    Args:
        old: all attempts that the store has.
        new: the attempts in the log now.
        is_new_file: the log was written anew. Else it still has the last of *old*.
    """
    before, now = (
        [sequence(read_json(text))[-1:] for text in own] for own in (old, new)
    )
    most = 0 if is_new_file else min(len(old), len(new))
    # Equal ends count once if they may be the same: two of them stop a job.
    same = next(n for n in range(most, -1, -1) if before[len(old) - n :] == now[:n])
    return old[: len(old) - same]
