"""Values for completion: computed at each key press, so they must be fast."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from envcfg.common.errors import UsageError
from envcfg.core.selection import open_catalog
from envcfg.profile.folders import listed
from envcfg.site.machine import this_machine

# Characters without a meaning in any shell, because names may come from files of
# others.
_PLAIN = r"[A-Za-z0-9_][A-Za-z0-9_.:+@%/-]*"


def values(kind: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the values of *kind* that can complete the last of *words*, in order.

    Args:
        kind: one of ``KINDS``.
        words: the words of the line, up to the cursor.

    Raises:
        UsageError: the kind does not exist; also for a wrong profile.
    """
    if kind not in KINDS:
        msg = f"there are no values {kind!r}"
        raise UsageError(msg, hint=f"known: {', '.join(KINDS)}")
    line = list(words) or [""]
    word = line[-1]
    if word.startswith("--") and "=" in word:
        word = word.partition("=")[2]
    before, comma, begun = word.rpartition(",")
    candidates = sorted(
        {
            candidate
            for candidate in KINDS[kind](line)
            if re.fullmatch(_PLAIN, candidate)
        }
    )
    yield from (
        f"{before}{comma}{candidate}"
        for candidate in candidates
        if candidate.startswith(begun)
    )


def _profiles(words: Sequence[str]) -> Iterator[str]:
    """Yield names, and names with a layer if the word begins with one."""
    catalog = open_catalog(policy="show")
    names, begun = catalog.names(), words[-1].rpartition("=")[2]
    yield from names
    name, slash, _ = begun.partition("/")
    if slash and name in names:
        yield from (f"{name}/{kind}" for kind in catalog.load(name).nodes)
    for layer, folder in catalog.layer_folders().items():
        if begun and f"{layer}:".startswith(begun[: len(layer) + 1]):
            files = listed(folder)
            yield from (f"{layer}:{name}" for name in names if f"{name}.yaml" in files)


def _partitions(words: Sequence[str]) -> Iterator[str]:
    """Yield the partitions of the profile in the line, or of the detected one."""
    catalog = open_catalog(policy="show")
    name = _option_value(words, "--profile") or os.environ.get("ENVCFG_PROFILE")
    if name is None:
        from envcfg.profile.detect import detect

        detected = detect(catalog, this_machine()).single_match()
        name = detected.name if detected else None
    if name is not None:
        partitions = catalog.load(name).partitions
        yield from (name for name, partition in partitions.items() if partition)


def _option_value(words: Sequence[str], flag: str) -> str | None:
    """Return the value of an option in the line, of several the last one."""
    value = None
    for index, word in enumerate(words[:-1]):
        if word == flag and index + 2 < len(words):
            value = words[index + 1]
        elif word.startswith(f"{flag}="):
            value = word.partition("=")[2]
    return value


def _lint_rules(_: Sequence[str]) -> Iterator[str]:
    from envcfg.lint.lint_rule import load_rules

    for rule in load_rules().values():
        yield from (rule.id, rule.name)


def _subjects(words: Sequence[str]) -> Iterator[str]:
    from envcfg.knowledge.variables import load_variables
    from envcfg.log.read.rulebook import load_rules, stack_rules

    if words[-1][:1].isupper():
        yield from load_variables()
    else:
        yield from (rule.id for rule in (*load_rules(), *stack_rules()))
    yield from _lint_rules(words)


KINDS: Mapping[str, Callable[[Sequence[str]], Iterator[str] | list[str]]] = {
    "profiles": _profiles,
    "partitions": _partitions,
    "rules": _lint_rules,
    "subjects": _subjects,
}
