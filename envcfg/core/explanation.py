"""The meaning of findings and variables, with their sources."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import one_line
from envcfg.common.errors import UsageError, nearest
from envcfg.common.findings import Finding
from envcfg.core.explainable import (
    Explainable,
    Explained,
    PlainEntry,
    in_groups,
    log_rules,
    said_findings,
    words_known,
    words_of,
)
from envcfg.core.selection import files_of_others, open_catalog
from envcfg.job.request.scheduler_options import option_table
from envcfg.knowledge.topics import Topic, load_topics
from envcfg.knowledge.variables import check_variable, load_variables
from envcfg.lint.lint_rule import load_rules as load_lint_rules
from envcfg.log.read.prefix import parse
from envcfg.log.read.rulebook import LogRule, Rulebook, load_rules
from envcfg.profile.catalog import Catalog
from envcfg.profile.look.survey import uses_of

Tell = Callable[[Finding], object]
_MOST_HITS = 20
_REQUESTS = "requests and what they cost"  # the topic of a refused job
_NEAREST = 3  # entries that are shown if none has all words
_WORD = re.compile(r"[a-z0-9]{2,}")


class UnknownNameError(UsageError):
    """A name without an explanation."""


class Explanation(NamedTuple):
    """The explained entries, in order, with their background."""

    entries: list[Explainable]
    topics: list[Topic]
    rules: dict[str, LogRule]  # rules of logs and hangs, by id


def explain(
    names: Sequence[str],
    *,
    profile: str | None = None,
    tell: Tell = lambda _: None,
) -> Explanation:
    """Return the meaning of *names* (ids of findings or variables); without names, all
    findings.

    Args:
        names: ids of findings, or names of variables.
        profile: only this profile's use of a variable; None: all profiles.
        tell: receives notes on profiles that cannot be used or that others may write.

    Raises:
        UnknownNameError: a name is unknown; also ``ProfileError``.
    """
    rules = log_rules()
    topics = load_topics()
    findings = said_findings(topics)
    words = words_known(topics)

    def find(name: str) -> Collection[Explainable]:
        # A lower-case word such as "port" may be part of a sentence, so it counts
        # only alone.
        if name in words and (len(names) == 1 or name.isupper()):
            return [words[name]]
        if name.isupper() and name.lower() in words and name not in load_variables():
            return [words[name.lower()]]  # GCD, NCCL
        if name in rules or name in findings:
            return [rules[name] if name in rules else findings[name]]
        # The pattern avoids loading the lint rules, which is slow, for other names.
        if re.fullmatch(r"[ES]C\d+|[a-z0-9]+(?:-[a-z0-9]+)+|port", name):
            lint = load_lint_rules().values()
            if explainables := [rule for rule in lint if name in (rule.id, rule.name)]:
                return explainables
        return list(variable(name))

    def variable(name: str) -> Iterator[Explainable]:
        """Yield a variable; for a misspelt name, also the variable that is meant."""
        catalog = open_catalog(policy="show")
        profiles = [profile] if profile else _usable(catalog, tell)
        variables = load_variables()
        known = variables.get(name)
        uses, removed_by = uses_of(name, catalog, profiles)
        for note in files_of_others(catalog):
            tell(note)
        if known is None and not uses:
            candidates = [*rules, *findings, *words, *variables]
            raise _unknown(name, candidates, catalog.names())
        slips = [
            variable.name
            for variable in variables.values()
            if name in {variable.instead, variable.renamed}
        ]
        of_rules = _rules_with(name, rules.values())
        yield Explained(name, known, tuple(slips), uses, removed_by, of_rules)
        right = known and (known.instead or known.renamed)
        # The right variable is explained too, unless the user asked for it anyway.
        if right in variables and right not in names:
            yield from variable(str(right))

    # NAME=VALUE as in a script asks for the variable.
    assigned = re.fullmatch(r"(?:export )?([A-Z]\w*)=.*", " ".join(names))
    names = [assigned[1]] if assigned else names
    explanation = [explainable for name in names for explainable in find(name)]
    if not names:
        explanation = [*rules.values(), *findings.values(), *load_lint_rules().values()]
        explanation += words.values()
    return Explanation(explanation, topics, rules)


def _rules_with(name: str, rules: Iterable[LogRule]) -> tuple[str, ...]:
    """Return the ids of the rules that mention a variable."""
    # The word boundary prevents NCCL_IB from matching NCCL_IB_HCA.
    word = re.compile(rf"(?<![A-Z0-9_]){re.escape(name)}(?![A-Z0-9_])")
    texts = {
        rule.id: (rule.meaning, rule.fix or "", rule.needle, *rule.samples)
        for rule in rules
    }
    return tuple(key for key in texts if word.search("\n".join(texts[key])))


def group(words: str) -> Explanation:
    """Return the findings of the group with this title, if there is one."""
    every = explain([])
    return every._replace(
        entries=[*in_groups(every.entries, every.topics).get(words, [])]
    )


def search(words: str) -> tuple[Explanation, Literal["line", "words", "none"]]:
    """Return the entries for *words*, and the kind of the match.

    A line of a log is explained by its rule. Other words select the entries with all of
    them: by name, by meaning, by other texts; without such an entry, the nearest ones.
    """
    every = explain([])
    record = parse(words)
    line = Rulebook(load_rules()).match(record.message, record.where)
    if line and " " in words:
        return every._replace(entries=[every.rules[line.rule.id]]), "line"
    refusals = [
        PlainEntry(
            text, f"an answer of the scheduler; what helps: {step}", "word", _REQUESTS
        )
        for scheduler in SCHEDULERS
        for text, step in option_table(scheduler).answers.items()
        if text in words
    ]
    if refusals:
        return every._replace(entries=[*refusals]), "line"
    variables = [
        PlainEntry(variable.name, " ".join(variable.meaning.split()))
        for variable in load_variables().values()
    ]
    wanted = set(_WORD.findall(words.lower()))
    hits: list[tuple[float, Explainable]] = []
    near: list[tuple[Explainable, set[str]]] = []
    for explainable in (*every.entries, *variables):
        if isinstance(explainable, Explained):
            continue
        texts = (explainable.id, *words_of(explainable))
        # The depth of the first match is its rank: name, meaning, then other texts.
        for depth in range(1, len(texts) + 1):
            text = "\n".join(texts[:depth]).lower()
            if all(word in text for word in wanted):
                hits.append((depth, explainable))
                break
        near.append((explainable, wanted & {*_WORD.findall("\n".join(texts).lower())}))
    hits.sort(key=lambda hit: hit[0])
    if hits or len(wanted) < 2:
        found = [entry for _, entry in hits][:_MOST_HITS]
        return every._replace(entries=found), "words"
    # A rare word says more about a text than a frequent one.
    counts = Counter(word for _, common in near for word in common)
    scores = [sum(1 / counts[word] for word in common) for _, common in near]
    best = sorted(zip(scores, range(len(near)), strict=True), key=lambda s: -s[0])
    entries = [near[place][0] for score, place in best[:_NEAREST] if score]
    return every._replace(entries=entries), "none"


def _usable(catalog: Catalog, tell: Tell) -> list[str]:
    """Return the readable profiles; report the others."""
    from envcfg.profile.look.survey import survey

    summaries, problems = survey(catalog)
    for path in sorted({problem.place.path for problem in problems if problem.place}):
        fix = f"envcfg profiles validate {one_line(path)}"
        tell(Finding("profile-broken", "warning", path, "cannot be used", fix))
    return [summary.name for summary in summaries]


def _unknown(
    name: str, candidates: Sequence[str], profiles: Sequence[str]
) -> UnknownNameError:
    hint: str | None = None
    if name.isupper():  # this suggests a variable, whose hints are different
        hint = next((each.fix for each in check_variable(name, None) if each.fix), None)
    elif name.upper() in candidates:
        hint = f"did you mean {name.upper()!r}? upper and lower case count"
    elif name in profiles:
        hint = f"this is a profile: envcfg profiles show {name}"
    # A part of a name is searched for.
    if not hint and (near := nearest(name, candidates, may_be_part=False)):
        hint = f"did you mean {near!r}?"
    msg = f"unknown rule or variable {name!r}"
    return UnknownNameError(msg, hint=hint or "envcfg explain lists all there is")
