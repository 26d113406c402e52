"""What stands behind findings: complete, for every finding, and of things that are there."""

from __future__ import annotations

from collections import Counter
from datetime import date
from fnmatch import fnmatchcase

import pytest

from envcfg.knowledge.topics import Topic, find_topic, load_topics
from envcfg.knowledge.variables import load_variables
from envcfg.lint.lint_rule import load_rules as load_lint_rules
from envcfg.log.rulebook import Rule, load_rules, stack_rules
from envcfg.nodes.hang.hang_rules import hang_rules

TOPICS = load_topics()
RULES = [*load_rules(), *stack_rules(), *hang_rules().values()]
SAID = {name: topic for topic in TOPICS for name in topic.says}
FILES = {rule.topic for rule in RULES} - {""}
LINT = {name for rule in load_lint_rules().values() for name in (rule.id, rule.name)}


@pytest.mark.parametrize("topic", TOPICS, ids=[each.name for each in TOPICS])
def test_a_topic_is_complete_and_names_what_is_there(topic: Topic) -> None:
    assert topic.rules or topic.says or topic.terms or topic.name in FILES
    assert topic.look
    assert topic.source
    assert date.fromisoformat(topic.date)
    for text in (topic.background, *topic.look, *topic.says.values()):
        assert len(text) > 10
        assert not text.endswith((".", " ")), text
    ids = {rule.id for rule in RULES}
    for pattern in topic.rules:
        assert any(fnmatchcase(name, pattern) for name in ids), pattern
    assert set(topic.related) <= ids | SAID.keys() | LINT
    assert set(topic.variables) <= load_variables().keys()


def test_the_topic_of_each_file_of_rules_is_there() -> None:
    assert {topic.name for topic in TOPICS} >= FILES


def test_no_finding_has_words_twice() -> None:
    names = Counter([*(rule.id for rule in RULES), *SAID, *LINT])
    assert [name for name, count in names.items() if count > 1] == []
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_every_rule_of_logs_has_a_topic_that_says_more_than_the_rule(
    rule: Rule,
) -> None:
    topic = find_topic(TOPICS, rule.id, rule.topic)
    assert topic
    assert topic.background not in rule.meaning
    assert rule.meaning not in topic.background


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
