"""Groups of findings: the meaning of ids without a rule, and the page with the background.

The content is data: ``topics/*.yaml``.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.common.datafile import data_path, load_yaml, names_in, record


class Topic(NamedTuple):
    """A group of findings with a common background."""

    name: str  # the name used as heading
    page: str  # the section of docs/explanation with the background
    # Ids of findings, or patterns of them, with texts in other files: known stacks, and
    # log rules in a file of another topic.
    rules: tuple[str, ...] = ()
    # Ids of findings that write their own texts, each with its meaning.
    says: Mapping[str, str] = {}
    terms: Mapping[str, str] = {}  # words that are not findings, each with its meaning


def load_topics() -> list[Topic]:
    """Return every topic, in the order of files and of each file."""
    # The order is fixed by the file names, so that lists do not change between
    # systems.
    folder = data_path("knowledge/topics")
    names = names_in(folder, ".yaml")
    return [
        record(
            Topic,
            {**data, "name": data["topic"], "page": _page_of(name, data["topic"])},
        )
        for name in names
        for data in load_yaml(os.path.join(folder, name))["topics"]
    ]


def _page_of(file: str, topic: str) -> str:
    """Return the section about *topic*; its anchor is that of the site and of GitHub."""
    anchor = topic.lower().replace("'", "").replace(" ", "-")
    return f"docs/explanation/{file.removesuffix('.yaml')}.md#{anchor}"


def find_topic(topics: list[Topic], finding: str, file: str = "") -> Topic | None:
    """Return the topic of a finding by its id: the most exact match.

    Args:
        file: the topic of the rule's file, used if no topic names the finding.
    """
    from fnmatch import fnmatchcase

    hits = [
        # An exact name beats any pattern, and a longer pattern beats a shorter one.
        ((pattern == finding, len(pattern)), index)
        for index, topic in enumerate(topics)
        for pattern in (*topic.rules, *topic.says, *topic.terms)
        if fnmatchcase(finding, pattern)
    ]
    if hits:
        return topics[max(hits)[1]]
    return next((topic for topic in topics if topic.name == file), None)
