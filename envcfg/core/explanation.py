"""What findings and variables mean, and who says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from envcfg.characters import one_line
from envcfg.core.profiles import show
from envcfg.core.selection import open_catalog, untrusted
from envcfg.errors import UsageError, suggest
from envcfg.findings import Finding
from envcfg.knowledge.topics import Topic, load_topics
from envcfg.knowledge.variables import check_variable, load_variables
from envcfg.lint.rule import load_rules as load_lint_rules
from envcfg.log.rulebook import Rule
from envcfg.profile.catalog import Catalog
from envcfg.profile.look.survey import uses_of
from envcfg.report.background import (
    Explainable,
    Said,
    in_groups,
    log_rules,
    said_findings,
    words_known,
    words_of,
)
from envcfg.report.explanation import Explained

Tell = Callable[[Finding], object]
_MOST_HITS = 20
NOTHING_LIKE_IT = "envcfg explain lists all there is"  # the hint, if no name is near


class Explanation(NamedTuple):
    """What was asked for, in order, and what stands behind it.

    Attributes:
        rules: of logs and of hangs, by their ids.
    """

    found: list[Explainable]
    topics: list[Topic]
    rules: dict[str, Rule]


def explain(
    names: Sequence[str],
    *,
    profile: str | None = None,
    tell: Tell = lambda _: None,
) -> Explanation:
    """Return what *names* mean, ids of findings or variables; all findings without any.

    Args:
        names: as findings have them, or as programs spell the variable.
        profile: which sets a variable; None: all that there are.
        tell: takes notes on profiles that cannot be used, or would not count.

    Raises:
        UsageError: nothing is known of a name; also ``ProfileError``.
    """
    rules = log_rules()
    topics = load_topics()
    said = said_findings(topics)
    words = words_known(topics)

    def find(name: str) -> Collection[Explainable]:
        if name in words and (len(names) == 1 or name.isupper()):
            return [words[name]]
        if name in rules or name in said:
            return [rules[name] if name in rules else said[name]]
        if re.fullmatch(r"EC\d+|[a-z0-9]+(?:-[a-z0-9]+)+|port", name):
            lint = load_lint_rules().values()
            if found := [rule for rule in lint if name in (rule.id, rule.name)]:
                return found
        return list(variable(name))

    def variable(name: str) -> Iterator[Explainable]:
        """Yield a variable; behind a name that nobody reads, the one that is meant."""
        catalog = open_catalog(enforce=False)
        profiles = [profile] if profile else _usable(catalog, tell)
        variables = load_variables()
        known, uses = variables.get(name), uses_of(name, catalog, profiles)
        for note in untrusted(catalog):
            tell(note)
        if known is None and not uses.uses:
            if parts := list(_partitions(name, catalog, profiles)):
                yield from parts
                return
            raise _unknown(name, [*rules, *said, *words, *variables], catalog.names())
        word = re.compile(rf"(?<![A-Z0-9_]){re.escape(name)}(?![A-Z0-9_])")
        others = [
            each.name
            for each in variables.values()
            if name in {each.instead, each.renamed}
        ]
        texts = {
            each.id: (each.meaning, each.fix or "", each.needle, *each.samples)
            for each in rules.values()
        }
        of_rules = [key for key in texts if word.search("\n".join(texts[key]))]
        yield Explained(name, known, tuple(others), uses, tuple(of_rules))
        right = known and (known.instead or known.renamed)
        if right in variables and right not in names:
            yield from variable(str(right))

    found = [each for name in names for each in find(name)]
    if not names:
        found = [*rules.values(), *said.values(), *load_lint_rules().values()]
        found += words.values()
    return Explanation(found, topics, rules)


def group(words: str) -> Explanation:
    """Return the findings of a group, by its title; nothing where there is no such."""
    every = explain([])
    return every._replace(found=[*in_groups(every.found, every.topics).get(words, [])])


def search(words: str) -> Explanation:
    """Return what holds all *words*: in the name, then in the meaning, then elsewhere."""
    every = explain([])
    named = [
        Said(each.name, " ".join(each.meaning.split()))
        for each in load_variables().values()
    ]
    wanted = words.lower().split()
    hits: list[tuple[int, Explainable]] = []
    for each in (*every.found, *named):
        if isinstance(each, Explained):
            continue
        texts = (each.id, *words_of(each))
        for depth in range(1, len(texts) + 1):
            text = "\n".join(texts[:depth]).lower()
            if all(word in text for word in wanted):
                hits.append((depth, each))
                break
    hits.sort(key=lambda hit: hit[0])
    return every._replace(found=[each for _, each in hits][:_MOST_HITS])


def _partitions(name: str, catalog: Catalog, profiles: Sequence[str]) -> Iterator[Said]:
    """Yield what each profile says of a partition of this name."""
    for profile in profiles:
        if catalog.load(profile).partitions.get(name):
            for each in show(catalog, profile, facts={}).values:
                if (each.section, each.name) == ("partitions", name) and each.reason:
                    said = f"{each.text}; {each.reason.why} ({each.reason.cited})"
                    named = f"{name} of {profile}"
                    yield Said(named, said, "partition", "requests and what they cost")


def _usable(catalog: Catalog, tell: Tell) -> list[str]:
    """Return the profiles that can be read; the others are told of."""
    from envcfg.profile.look.survey import survey

    found, problems = survey(catalog)
    for path in sorted({each.place.path for each in problems if each.place}):
        fix = f"envcfg profiles validate {one_line(path)}"
        tell(Finding("profile-broken", "warning", path, "cannot be used", fix))
    return [each.name for each in found]


def _unknown(name: str, known: Sequence[str], profiles: Sequence[str]) -> UsageError:
    if name.isupper():
        hints = [each.fix for each in check_variable(name, None) if each.fix]
        msg = f"nothing is known of a variable {name}"
    else:
        hints, msg = [], f"unknown rule or variable {name!r}"
        if name in profiles:
            hints = [f"this is a profile: envcfg profiles show {name}"]
        if name.upper() in known:
            hints = [f"did you mean {name.upper()!r}? upper and lower case count"]
    if not hints and "did you" in (hint := suggest(name, known)):
        hints = [hint.partition("?")[0] + "?"]
    return UsageError(msg, hint=(hints or [NOTHING_LIKE_IT])[0])
