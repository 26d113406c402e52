"""What stands behind findings: background, how to look further, what belongs to it.

A finding says what is so and what to do; a topic says more than that of all the findings it
is for. What is known is data: ``topics/*.yaml``.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.datafile import knowledge_path, load_yaml, names_in, record


class Topic(NamedTuple):
    """What several findings have in common.

    Attributes:
        name: as a heading has it.
        background: what one has to know to understand them.
        source: who says so.
        date: of the source, or when it was read.
        rules: ids of findings, or patterns of them, whose words stand elsewhere: known
            stacks, and rules of logs whose file belongs to another topic.
        says: ids of findings that write their own words, each with what it means.
        terms: words that are not findings, each with what it means.
        look: commands and places that show more.
        variables: that have to do with it.
        related: ids of other findings.
    """

    name: str
    background: str
    source: str
    date: str
    rules: tuple[str, ...] = ()
    says: Mapping[str, str] = {}
    terms: Mapping[str, str] = {}
    look: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    related: tuple[str, ...] = ()


def load_topics() -> list[Topic]:
    """Return every topic, in the order of files and of each file."""
    folder = knowledge_path("topics")
    names = sorted(name for name in names_in(folder) if name.endswith(".yaml"))
    return [
        record(Topic, {**data, "name": data["topic"]})
        for name in names
        for data in load_yaml(os.path.join(folder, name))["topics"]
    ]


def find_topic(topics: list[Topic], finding: str, file: str = "") -> Topic | None:
    """Return the topic of a finding by its id: the one that names it most exactly.

    Args:
        file: the topic of the file in which its rule stands, which counts where no topic
            names the finding.
    """
    from fnmatch import fnmatchcase

    found = [
        ((pattern == finding, len(pattern)), at)
        for at, topic in enumerate(topics)
        for pattern in (*topic.rules, *topic.says, *topic.terms)
        if fnmatchcase(finding, pattern)
    ]
    if found:
        return topics[max(found)[1]]
    return next((each for each in topics if each.name == file), None)
