"""The quality of a value's source: measured, site, vendor, users, or the default.

``envcfg/knowledge/evidence.yaml`` classifies the sources. If a value names several, the
first one counts, because it states the value.
"""

import re
from collections.abc import Mapping
from functools import cache

from envcfg.profile.job_facts import Reason

DEFAULT = "the library's default anyway"
_KINDS = ("site", "vendor", "users")
_DETAILS = re.compile(r" \(.*\)")  # the commit, the file and its lines
_ADDRESS = re.compile(r"https?://([^\s/;,)]+)/?([^\s/;,)]*)")


@cache
def evidence(source: str) -> str:
    """Return ``measured``, ``site``, ``vendor`` or ``users``; empty if it is unknown."""
    owners, words, quoted = _sources()
    if quoted.search(source):
        return "users"
    if match := _ADDRESS.search(source):
        host, owner = match.groups()
        return owners.get(owner if host == "github.com" else host, "")
    return next((kind for kind, word in words.items() if word.search(source)), "")


def evidence_of(section: str, name: str, value: str | None, source: str) -> str:
    """Return the evidence of a value; ``DEFAULT`` if it is the default of every reader."""
    is_default = section == "env" and value is not None and value in defaults(name)
    return DEFAULT if is_default else evidence(source)


def cited(reason: Reason) -> str:
    """Return the source of a value, the quality of its evidence, and its date."""
    if not reason.date:  # an option of this job, which has no source
        return reason.source
    quality = evidence(reason.source)
    return f"{reason.source}{f' ({quality})' if quality else ''}, {reason.date}"


def by_users(cited_source: str) -> str:
    """Return a remark with source and date if only users vouch for a value; else empty."""
    is_weak = evidence(cited_source) == "users"
    return f" (by users: {_DETAILS.sub('', cited_source)})" if is_weak else ""


def defaults(name: str) -> frozenset[str]:
    """Return the default of a value in the newest release of every reader, if known."""
    from envcfg.knowledge.variables import find_variable

    variable = find_variable(name)
    if variable is None:
        return frozenset()
    release_defaults = (
        re.findall(r"default ([^,;]+?)(?= since|[,;]|$)", t) for t in variable.history
    )
    newest = {values[-1] for values in release_defaults if values}
    defaults_found = {variable.default} if variable.default else newest
    spelled = {"true": "1", "false": "0", "yes": "1", "no": "0"}
    plain = {spelled.get(value, value) for value in defaults_found}
    return frozenset(plain if len(plain) == 1 else ())


@cache
def _sources() -> tuple[
    Mapping[str, str], Mapping[str, re.Pattern[str]], re.Pattern[str]
]:
    from envcfg.common.datafile import load_kept_file

    data = load_kept_file("knowledge/evidence.yaml")
    owners = {
        name: kind for kind in _KINDS for names in data[kind].values() for name in names
    }
    words = {kind: re.compile(text) for kind, text in data["words"].items()}
    return owners, words, re.compile(data["quoted"])
