"""The pages about rules of check-log, one for each topic, and the table of all rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcfg.knowledge.topics import Topic, find_topic, load_topics
from envcfg.log.read.rulebook import LogRule
from envcfg.report.explanation_report import effect
from scripts.pages.markdown import brief, code, linked, slug, table, text

Topics = Mapping[str, tuple[Topic, list[LogRule]]]


def log_rule_pages(rules: Mapping[str, LogRule], topics: Topics) -> dict[str, str]:
    """Return the page of each topic by its path in the site, as Markdown."""
    links = rule_links(topics)
    pages = {
        f"reference/rules/{slug(topic.name)}.md": "\n".join(_page(topic, own)) + "\n"
        for topic, own in topics.values()
    }
    rows = (
        [f"[{code(rule.id)}]({links[rule.id]})", effect(rule), brief(rule.meaning)]
        for rule in sorted(rules.values())
    )
    titles = ["rule", "effect on the verdict", "meaning"]
    head = "What a line of a log means. `envcfg explain RULE` prints the same."
    lines = ["# Rules of check-log", "", head, "", *table(titles, rows), ""]
    return {**pages, "reference/rules/index.md": "\n".join(lines)}


def rule_links(topics: Topics) -> dict[str, str]:
    """Return the place of each rule, as a link from another page of rules."""
    return {
        rule.id: f"{slug(topic.name)}.md#{slug(rule.id)}"
        for topic, own in topics.values()
        for rule in own
    }


def rules_by_topic(rules: Mapping[str, LogRule]) -> Topics:
    """Return the rules of each topic, by its name.

    Raises:
        ValueError: a rule belongs to no topic.
    """
    topics, by_name = load_topics(), dict[str, tuple[Topic, list[LogRule]]]()
    for rule in sorted(rules.values()):
        topic = find_topic(topics, rule.id, rule.topic)
        if topic is None:
            msg = f"{rule.id} has no topic"
            raise ValueError(msg)
        by_name.setdefault(topic.name, (topic, []))[1].append(rule)
    return by_name


def _page(topic: Topic, rules: list[LogRule]) -> Iterator[str]:
    yield f"# Log lines: {topic.name}"
    yield ""
    page = topic.page.removeprefix("docs/")
    yield f"[Background](../../{page}). {len(rules)} of [all rules of check-log](index.md)."
    for rule in rules:
        yield ""
        yield from _lines(rule)


def _lines(rule: LogRule) -> Iterator[str]:
    yield f"## {rule.id}"
    versions = ", ".join(f"{name} {range_}" for name, range_ in rule.versions.items())
    for title, words in (
        ("Meaning", text(rule.meaning)),
        ("What to do", text(rule.fix or "")),
        ("Effect on the verdict", effect(rule)),
        ("Versions", text(versions)),
        ("Source", linked(rule.source)),
    ):
        if words:
            yield from ("", f"**{title}:** {words}")
    if rule.samples:
        yield from ("", "```text", *(each.strip("\n") for each in rule.samples), "```")
