"""What is to be said of ``--set`` and ``--unset``: the user's word, which may be a slip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcfg.commands.options.arguments import Change
from envcfg.findings import Finding
from envcfg.knowledge.variables import check_variable
from envcfg.profile.words import format_word


def check_changes(changes: Sequence[Change]) -> Iterator[Finding]:
    """Yield what is known to be wrong with names and values; None is taken away."""
    last = dict(changes)
    for name, word in last.items():
        if any(each != (name, word) for each in changes if each[0] == name):
            what = "is given twice, with different values: the last one counts"
            yield Finding("option-twice", "note", name, what)
        option = "--unset" if word is None else "--set"
        value = None if word is None else format_word(word)
        for problem in check_variable(name, value):
            # Never an error: the user may know better.
            subject = f"{option} {name}"
            yield problem._replace(
                rule="setting-doubtful", severity="warning", subject=subject
            )
