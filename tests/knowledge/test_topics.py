"""The groups of findings and the pages with their background: complete, and of existing things."""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase

import pytest

from envcfg.knowledge.topics import Topic, find_topic, load_topics
from envcfg.knowledge.variables import load_variables
from envcfg.lint.lint_rule import load_rules as load_lint_rules
from envcfg.log.read.rulebook import load_rules, stack_rules
from envcfg.nodes.hang.hang_rules import hang_rules
from support import ROOT

TOPICS = load_topics()
DOCS = ROOT / "docs/explanation"
PAGES = sorted({topic.page.split("#")[0].rpartition("/")[2] for topic in TOPICS})
RULES = [*load_rules(), *stack_rules(), *hang_rules().values()]
SAID = {name: topic for topic in TOPICS for name in topic.says}
FILES = {rule.topic for rule in RULES} - {""}
LINT = {name for rule in load_lint_rules().values() for name in (rule.id, rule.name)}


@pytest.mark.parametrize("topic", TOPICS, ids=[each.name for each in TOPICS])
def test_a_topic_is_complete_and_names_what_is_there(topic: Topic) -> None:
    assert topic.rules or topic.says or topic.terms or topic.name in FILES
    for text in topic.says.values():
        assert len(text) > 10
        assert not text.endswith((".", " ")), text
    ids = {rule.id for rule in RULES}
    for pattern in topic.rules:
        assert any(fnmatchcase(name, pattern) for name in ids), pattern


def test_the_topic_of_each_file_of_rules_is_there() -> None:
    assert {topic.name for topic in TOPICS} >= FILES


def test_no_finding_has_words_twice() -> None:
    names = Counter([*(rule.id for rule in RULES), *SAID, *LINT])
    assert [name for name, count in names.items() if count > 1] == []
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)


def test_every_rule_of_logs_has_a_topic() -> None:
    assert [
        rule.id for rule in RULES if not find_topic(TOPICS, rule.id, rule.topic)
    ] == []


def test_the_pages_name_findings_and_variables_that_are_there() -> None:
    pages = "".join((DOCS / name).read_text() for name in PAGES)
    known = {
        "Variables": load_variables().keys(),
        "Related findings": {rule.id for rule in RULES} | SAID.keys() | LINT,
    }
    for title, names in known.items():
        lists = re.findall(rf"(?ms)^{title}: (.*?)\. *$", pages)
        assert set(re.findall(r"`([^`]+)`", "".join(lists))) <= names
        assert len(lists) > 20


def test_each_section_of_the_pages_is_a_topic() -> None:
    titles = {
        title.lower()
        for name in PAGES
        for title in re.findall(r"(?m)^## (.*)$", (DOCS / name).read_text())
    }
    assert titles == {topic.name.lower() for topic in TOPICS}


def test_the_topic_that_names_a_finding_most_exactly_counts() -> None:
    def name(finding: str) -> str | None:
        file = next((rule.topic for rule in RULES if rule.id == finding), "")
        found = find_topic(TOPICS, finding, file)
        return found and found.name

    assert name("ib-collective-mismatch") == "collectives that do not match"
    assert name("ib-modify-qp") == "InfiniBand and RoCE"
    assert name("collnet-sharp") == "InfiniBand and RoCE"
    assert name("collnet-off") == "network plugins"
    assert name("chain-two-nccl") == "libraries of an image and of the host"
    assert name("no-such-finding-at-all") is None
