"""What may stand at a place of a command line: asked at each completion, so in a hurry."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from envcfg.core.selection import open_catalog
from envcfg.core.site import this_machine
from envcfg.errors import UsageError
from envcfg.profile.folders import listed

# What no shell takes for anything but itself: names come from files of others, too.
_PLAIN = r"[A-Za-z0-9_][A-Za-z0-9_.:+@%-]*"


def values(kind: str, words: Sequence[str] | None) -> Iterator[str]:
    """Yield the values of *kind* that the last of *words* may become, in order.

    Args:
        kind: one of ``KINDS``.
        words: of the line, up to the one at the cursor; None: as tcsh says.

    Raises:
        UsageError: there is no such kind; also what a profile's file lacks.
    """
    if kind not in KINDS:
        msg = f"there are no values {kind!r}"
        raise UsageError(msg, hint=f"known: {', '.join(KINDS)}")
    line = list(_tcsh_words() if words is None else words) or [""]
    word = line[-1]
    if word.startswith("--") and "=" in word:
        word = word.partition("=")[2]
    before, comma, begun = word.rpartition(",")
    found = sorted({each for each in KINDS[kind](line) if re.fullmatch(_PLAIN, each)})
    yield from (f"{before}{comma}{each}" for each in found if each.startswith(begun))


def _tcsh_words() -> list[str]:
    import shlex

    text = os.environ.get("COMMAND_LINE", "")
    try:
        words = shlex.split(text)
    except ValueError:  # a quote is still open
        words = text.split()
    return words if text[-1:].strip() else [*words, ""]


def _profiles(words: Sequence[str]) -> Iterator[str]:
    """Yield names, and those with a layer where the word begins one."""
    catalog = open_catalog(enforce=False)
    names, begun = catalog.names(), words[-1].rpartition("=")[2]
    yield from names
    for layer, folder in catalog.layer_folders().items():
        if begun and f"{layer}:".startswith(begun[: len(layer) + 1]):
            there = listed(folder)
            yield from (f"{layer}:{each}" for each in names if f"{each}.yaml" in there)


def _partitions(words: Sequence[str]) -> Iterator[str]:
    """Yield the partitions of the profile that the line names, or that fits here."""
    catalog = open_catalog(enforce=False)
    name = _profile_of(words) or os.environ.get("ENVCFG_PROFILE")
    if name is None:
        from envcfg.profile.detect import detect

        detected = detect(catalog, this_machine()).one()
        name = detected.name if detected else None
    if name is not None:
        partitions = catalog.load(name).partitions
        yield from (each for each, known in partitions.items() if known)


def _profile_of(words: Sequence[str]) -> str | None:
    found = None
    for at, word in enumerate(words[:-1]):
        if word == "--profile" and at + 2 < len(words):
            found = words[at + 1]
        elif word.startswith("--profile="):
            found = word.partition("=")[2]
    return found


def _lint_rules(_: Sequence[str]) -> Iterator[str]:
    from envcfg.lint.rule import load_rules

    for rule in load_rules().values():
        yield from (rule.id, rule.name)


def _subjects(words: Sequence[str]) -> Iterator[str]:
    from envcfg.knowledge.variables import load_variables
    from envcfg.log.rulebook import load_rules, stack_rules

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
