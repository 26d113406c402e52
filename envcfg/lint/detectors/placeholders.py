"""Placeholders of a template that nobody replaced, in directives and in paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.program_starts import helpers
from envcfg.lint.script_model import texts
from envcfg.lint.traced_text import Flat, Text

_NAME = r"[A-Za-z][\w .-]*"
_IN_DIRECTIVE = re.compile(
    r"(?i)<+[a-z][^<>]*>*|\byour[-_]\w+|\bchange_?me\b"
    r"|^(?:project|account|partition)_(?:number|name|id)$|^(?:PARTITION|ACCOUNT)(?:_NAME)?$"
)
# A part of a path or of a bind; a tag such as <pad> alone may be meant.
_IN_PATH = re.compile(
    rf"(?<=/)<{_NAME}>(?=[/:,.]|$)|(?:^|(?<=[=:,]))(?:<{_NAME}>(?=:?/)|/path/to(?=/))"
)
# bash takes both signs for redirections, and reports nothing.
_BARE = re.compile(r"(?<![<\w&$])<([A-Za-z][\w-]*)>(?![>&(|])")
_TEMPLATE = re.compile(r"\.(?:in|j2|jinja2?|template|tmpl|tpl|mustache)$")


@detects("EC760")
def placeholder(job: ScriptJob) -> Iterator[Fault]:
    """A word in angle brackets that stands for a value of the user."""
    model = job.model
    if _TEMPLATE.search(model.path):
        return
    for option in model.directives:
        if not option.late and (match := _IN_DIRECTIVE.search(option.value or "")):
            words = {"name": match[0], "option": f"--{option.name}"}
            is_free = option.name in known_words("EC760", "free")
            yield Fault(
                option.offset, words, "directive", "warning" if is_free else None
            )
    for command in model.commands:
        if command.name not in helpers():
            for word in command.arguments:
                yield from _in_path(word.text)
    for assignment in model.assignments:
        for text in texts(assignment.value):
            yield from _in_path(text)
    for shell_text in model.texts:
        yield from _redirected(shell_text.flat)


def _in_path(text: Text) -> Iterator[Fault]:
    flat = Flat(text)
    if match := _IN_PATH.search(flat.chars):
        yield Fault(flat.origin(match.start()), {"name": match[0]})


def _redirected(flat: Flat) -> Iterator[Fault]:
    """Yield placeholders that bash reads as the names of two files."""
    if not (matches := list(_BARE.finditer(flat.chars))):
        return
    bodies = [document.body for _, document in flat.layout.documents()]
    for match in matches:
        begin = match.start()
        is_in_document = any(a <= begin < b for a, b in filter(None, bodies))
        # Redirections are not part of the bare text, and quotes are.
        is_redirection = flat.layout.bare[begin] != "<" and not is_in_document
        if is_redirection and _names().search(match[1]):
            yield Fault(flat.origin(begin), {"name": match[0]}, "redirected")


@cache
def _names() -> re.Pattern[str]:
    """Return the pattern of words that templates use as names of placeholders."""
    words = "|".join(known_words("EC760", "names"))
    return re.compile(rf"(?i)(?<![a-z])(?:{words})")
