"""Secrets: recognise them by name and value, and hide them in texts.

``envcfg/knowledge/secrets.yaml`` has the patterns. The bash module ``secrets`` contains
the same patterns, for the notes of a job.
"""

import re
from functools import cache
from typing import Any

from envcfg.common.characters import one_line, printable
from envcfg.common.datafile import load_kept_file

HIDDEN = "***"
# A reference such as $(<~/.key) is no secret.
_WORD = (
    r"(?!\\*\"?\$[\w{(])(?:(?:\\*[bruf]?\$?'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")+"
    r"|\w*[\[(][^\])]{0,400}[\])]|\S+)"
)
# A terminal colour, as a program writes it and as reports show it.
_COLOUR = r"(?:(?:\x1b|\\x1b)\[[\d;]{0,9}m){0,3}"
# The text before a value: NAME=, "name": and --name. A name begins at a boundary, so that
# the time of a search grows linearly.
_HEADS = (
    rf"(?:(?<![\w.-])|(?<=\dm))-{{0,2}}(?P<name>[A-Za-z_][\w.-]*?)(?:\\*[\"'])?{_COLOUR}(?:(?:\s|\\t)?(?:\+=|:=|:-|=>|->|=)(?:\s|\\t)?|(?<=[\"'m])\s?:\s?){_COLOUR}",
    # A colon also occurs in prose, so the name must have several parts.
    r"(?<![\w-])(?P<name>[A-Za-z]+[_-][\w-]+|[a-z]+[A-Z]\w+):(?:\s|\\t)?",
    r"(?<![\w-])--?(?P<name>[A-Za-z][\w-]*)[\"']?,?(?:\s|\\t)+",
    r"(?<![\w-])(?:setenv|-g?env|set(?:\s-\w+)*)\s(?P<name>[A-Za-z_]\w*)\s+",
    r"<(?P<name>[A-Za-z][\w.-]*)>",
    r"\bname[\"']?\s?[:=]\s?[\"']?(?P<name>[A-Za-z][\w.-]*)[\"']?,?\s+[\"']?value[\"']?\s?[:=]\s?",
    # Prose, if the next word looks like a secret.
    (
        r"(?i)(?<![\w-])(?P<name>api[ _-]?key|token|secret|password)(?: provided| is)?:?\s"
        r"(?=[\"']?[\w./+=-]{7,99}\d)"
    ),
)


@cache
def secret_patterns() -> tuple[str, str]:
    """Return the extended regular expressions of names, in capitals, and of values."""
    content = _content()
    return "|".join(content["names"]), "|".join(map("".join, content["values"]))


def is_secret(name: str, value: str = "") -> bool:
    """Return whether a variable or option has a secret name or value."""
    names, values = _searches()
    return bool(
        names.search(re.sub("[-. ]", "_", name).upper()) or values.search(value)
    )


def shown(name: str, value: str) -> str:
    """Return *value* of a variable; asterisks if it must not be shown."""
    return HIDDEN if value and is_secret(name) else hide(value)


def hide(text: str) -> str:
    """Return *text* with asterisks for each secret.

    >>> hide("HF_TOKEN=abc at http://me:pw1@proxy")
    'HF_TOKEN=*** at http://me:***@proxy'
    """
    _, values = _searches()
    if values.search(text):
        for pattern in _replacements():
            text = pattern.sub(rf"\g<before>{HIDDEN}\g<after>", text)
    heads, word = _assignments()
    for pattern in heads:
        hidden, end = "", 0
        for head in pattern.finditer(text):
            if head.end() > end and is_secret(head["name"]):
                hidden += text[end : head.end()]
                value = word.match(text, head.end())
                end = value.end() if value else head.end()
                hidden += HIDDEN if value else ""
        text = hidden + text[end:]
    return text


def safe_line(text: str) -> str:
    """Return *text* as one line for a terminal, without secrets."""
    return hide(one_line(text))


def safe_text(text: str) -> str:
    """Return *text* for a page or XML, without secrets."""
    return hide(printable(text))


def option_name(word: object) -> str:
    """Return the name of the option *word* if its value is the next word, else ``""``."""
    is_option = isinstance(word, str) and re.fullmatch(r"--[A-Za-z][\w-]*", word)
    return str(word)[2:] if is_option else ""


@cache
def _content() -> Any:  # noqa: ANN401  # an own data file
    return load_kept_file("knowledge/secrets.yaml")


@cache
def _searches() -> tuple[re.Pattern[str], re.Pattern[str]]:
    names, values = secret_patterns()
    return re.compile(names), re.compile(values, re.DOTALL)


@cache
def _replacements() -> list[re.Pattern[str]]:
    return [
        re.compile(
            f"(?P<before>{before})(?!{re.escape(HIDDEN)}){text}(?P<after>{after})",
            re.DOTALL,
        )
        for before, text, after in _content()["values"]
    ]


@cache  # check-log has more patterns than re remembers
def _assignments() -> tuple[list[re.Pattern[str]], re.Pattern[str]]:
    return list(map(re.compile, _HEADS)), re.compile(_WORD)
