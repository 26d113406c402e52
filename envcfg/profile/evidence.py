"""How good the word for a value is: measured, a site's, a vendor's, users', or the default.

Whose word a source is, ``envcfg/knowledge/evidence.yaml`` says. Where it names several, the
first counts, which is the one that says the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from envcfg.profile.facts import Reason

DEFAULT = "the library's default anyway"
_KINDS = ("site", "vendor", "users")
_ADDRESS = re.compile(r"https?://([^\s/;,)]+)/?([^\s/;,)]*)")


@cache
def evidence(source: str) -> str:
    """Return ``measured``, ``site``, ``vendor`` or ``users``; empty where nobody knows."""
    owners, words, quoted = _known()
    if quoted.search(source):
        return "users"
    if found := _ADDRESS.search(source):
        host, owner = found.groups()
        return owners.get(owner if host == "github.com" else host, "")
    return next((kind for kind, said in words.items() if said.search(source)), "")


def evidence_of(section: str, name: str, value: str | None, source: str) -> str:
    """Return the evidence of a value; ``DEFAULT`` where its library takes it anyway."""
    is_default = section == "env" and value is not None and value in defaults(name)
    return DEFAULT if is_default else evidence(source)


def cited(reason: Reason) -> str:
    """Return who says something, how good that word is, and since when."""
    if not reason.date:  # of this job, and no source
        return reason.source
    whose = evidence(reason.source)
    return f"{reason.source}{f' ({whose})' if whose else ''}, {reason.date}"


def defaults(name: str) -> frozenset[str]:
    """Return the value that the newest release of every reader takes by itself, if any."""
    from envcfg.knowledge.variables import find_variable

    known = find_variable(name)
    if known is None:
        return frozenset()
    told = (re.findall(r"default ([^,;]+?)(?= since|[,;]|$)", t) for t in known.history)
    newest = {each[-1] for each in told if each}
    found = {known.default} if known.default else newest
    spelled = {"true": "1", "false": "0", "yes": "1", "no": "0"}
    plain = {spelled.get(each, each) for each in found}
    return frozenset(plain if len(plain) == 1 else ())


@cache
def _known() -> tuple[
    Mapping[str, str], Mapping[str, re.Pattern[str]], re.Pattern[str]
]:
    from envcfg.datafile import load_knowledge_file

    data = load_knowledge_file("evidence.yaml")
    owners = {
        name: kind for kind in _KINDS for names in data[kind].values() for name in names
    }
    words = {kind: re.compile(text) for kind, text in data["words"].items()}
    return owners, words, re.compile(data["quoted"])
