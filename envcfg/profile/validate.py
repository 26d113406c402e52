"""Everything that is wrong with a profile file, also what shows only when resolved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from envcfg.errors import ProfileError
from envcfg.findings import NOWHERE, Finding, Place
from envcfg.launchers import allowed_launchers
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import Condition, Test
from envcfg.profile.entries import Setting
from envcfg.profile.facts import Reason
from envcfg.profile.folders import shown
from envcfg.profile.look.view import TakenBack, look_at
from envcfg.profile.model import Profile
from envcfg.profile.read.loader import load_profile
from envcfg.profile.read.yaml_text import Keys, places
from envcfg.profile.references import clashing_bundles, clashing_references
from envcfg.profile.words import Word, format_word

# A source in a repository, which can be held against a newer state: the date is that of the
# commit, the part a heading, words or lines. Semicolons divide several.
COORDINATES = re.compile(
    r"https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)"
    r" \(commit (?P<commit>[0-9a-f]{7,40})(?: of (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}))?,"
    r" (?P<path>[^\s,;()]+)(?:, (?P<part>[^();]+))?\)"
)
# Threads, releases and wikis: pages, though a repository has them.
_PAGE = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/(?:pull|issues|releases|wiki)\b"
)
_REPOSITORY = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")
_OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def validate(path: str, catalog: Catalog) -> list[Finding]:
    """Return what is wrong with the file *path*, in the order of its lines.

    Args:
        path: a file; in a folder of *catalog* it lies over the layers below.

    Raises:
        OSError: if the file cannot be read.
    """
    data = catalog.read(path)
    problems: list[Finding] = []
    stem = os.path.splitext(os.path.basename(path))[0]
    profile = load_profile(data, path=path, stem=stem, problems=problems)
    if profile is None or problems:
        return _sorted(problems)
    at = places(data, path)
    found = [*_variables(profile, at), *_sources(profile)]
    try:
        below, name = _below(path, catalog)
        resolved, layers = below.load(name), below.layers(name)
    except ProfileError as err:
        found += err.findings
    else:
        found += _conflicts(resolved)
        found += _references(resolved)
        found += _in_vain(look_at(resolved, layers, {}).taken_back, layers[-1].path)
    mine = {shown(path), shown(f"./{path}"), shown(os.path.abspath(path))}
    return _sorted(
        each._replace(place=each.place._replace(path=path))
        if each.place and each.place.path in mine
        else each
        for each in found
    )


def lacks_coordinates(source: str) -> bool:
    """Tell whether a source names a repository and not what was read in it."""
    rest = COORDINATES.sub("", source)
    return len(_REPOSITORY.findall(rest)) > len(_PAGE.findall(rest))


def _sources(node: object) -> Iterator[Finding]:
    """Yield the sources below *node* that cannot be held against a newer state."""
    if isinstance(node, Reason):
        if lacks_coordinates(node.source):
            yield Finding(
                rule="source-not-located",
                severity="warning",
                subject="source",
                message="names a repository, but not what was read in it",
                fix="write it as https://github.com/OWNER/NAME (commit HASH of DATE, PATH)",
                place=node.place,
            )
    elif isinstance(node, (tuple, Mapping)):
        for each in node.values() if isinstance(node, Mapping) else node:
            yield from _sources(each)


def _sorted(found: Iterable[Finding]) -> list[Finding]:
    return sorted(dict.fromkeys(found), key=lambda each: each.place or NOWHERE)


def _below(path: str, catalog: Catalog) -> tuple[Catalog, str]:
    """Return the catalog and the name by which the file would be used."""
    folder, name = os.path.split(os.path.abspath(path))
    if folder not in catalog.folders or not name.endswith(".yaml"):
        return catalog, path if "/" in path else f"./{path}"
    layers = catalog.folders[: catalog.folders.index(folder) + 1]
    return Catalog(layers), name.removesuffix(".yaml")


def _variables(profile: Profile, at: Mapping[Keys, Place]) -> Iterator[Finding]:
    """Check the names and values that this file gives against what is known of them."""
    from envcfg.knowledge.variables import check_variable

    seen: set[Keys] = set()
    for above, keys, word in _given(profile):
        name = above[-1]
        of_name = check_variable(name, None)
        if above not in seen:
            for each in of_name:
                yield _variable(each, at[above], above)
        seen.add(above)
        where = keys
        if keys not in at:  # a single value stands without a list of cases
            where = (*above, "value") if (*above, "value") in at else above
        value = None if word is None else format_word(word)
        for each in check_variable(name, value):
            if each not in of_name:
                yield _variable(each, at[where], where)


def _variable(found: Finding, place: Place, keys: Keys) -> Finding:
    key = re.sub(r"\.([0-9]+)(?=\.|$)", r"[\1]", ".".join(keys))  # as the loader says
    return found._replace(rule="profile-variable", subject=key, place=place)


def _given(profile: Profile) -> Iterator[tuple[Keys, Keys, Word | None]]:
    """Yield the way to each variable, that to each of its values, and the value."""
    for name, setting in profile.env.items():
        above: Keys = ("env", name)
        for index, case in enumerate(setting.cases if setting else ()):
            yield above, (*above, "cases", str(index), "value"), case.value
        if setting and setting.otherwise is not None:
            yield above, (*above, "otherwise"), setting.otherwise
    for key, bundle in profile.bundles.items():
        for name, word in bundle.env.items() if bundle else ():
            above = ("bundles", key, "env", name)
            yield above, above, word


def _conflicts(profile: Profile) -> Iterator[Finding]:
    """Yield variables that are set by env and in a bundle at the same time."""
    env = {name: setting for name, setting in profile.env.items() if setting}
    bundles = [bundle for bundle in profile.bundles.values() if bundle]
    for bundle, clash in clashing_bundles(bundles, env):
        setting = env[clash.subject]
        whens = [case.when for case in setting.cases]
        apart = all(exclude_each_other(when, bundle.when) for when in whens)
        if not apart or setting.otherwise is not None:
            yield _clash(clash, setting)


def _clash(clash: Finding, setting: Setting) -> Finding:
    place = setting.cases[0].reason.place
    return clash._replace(subject=f"env.{clash.subject}", place=place)


def exclude_each_other(one: Condition, other: Condition) -> bool:
    """Return whether it is certain that two conditions never hold together."""
    return any(_excludes(mine, theirs) for mine in one for theirs in other)


def _excludes(mine: Test, theirs: Test) -> bool:
    if mine.fact != theirs.fact or mine.fact == "nodes":  # nodes: decided in the job
        return False
    one, other = mine.operand, theirs.operand
    if mine.operator == theirs.operator == "glob":
        return f"!{one}" == other or one == f"!{other}"
    return one == other and _OPPOSITES.get(mine.operator) == theirs.operator


def _references(profile: Profile) -> Iterator[Finding]:
    env = {name: each for name, each in profile.env.items() if each and each.cases}
    words = {
        name: [
            value
            for value in (*(case.value for case in each.cases), each.otherwise)
            if value is not None
        ]
        for name, each in env.items()
    }
    launchers = allowed_launchers(profile.launchers)
    has_scratch = profile.scratch is not None
    for clash in clashing_references(words, launchers, has_scratch=has_scratch):
        yield _clash(clash, env[clash.subject])


def _in_vain(taken_back: tuple[TakenBack, ...], path: str) -> Iterator[Finding]:
    for each in taken_back:
        if each.was is None and each.place.path == path:
            yield Finding(
                rule="null-in-vain",
                severity="warning",
                subject=".".join(filter(None, (each.section, each.name))),
                message="null removes what no family and no lower layer sets",
                fix="leave it out",
                place=each.place,
            )
