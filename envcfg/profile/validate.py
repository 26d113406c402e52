"""All errors of a profile file, including those that only its resolution shows."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

from envcfg.backends.launchers import allowed_launchers
from envcfg.common.errors import ProfileError
from envcfg.common.findings import NOWHERE, Finding, Place
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import Condition, Test
from envcfg.profile.entries import Setting
from envcfg.profile.folders import shown
from envcfg.profile.job_facts import Reason
from envcfg.profile.look.value_list import RemovedEntry, look_at
from envcfg.profile.node_kinds import all_kinds, selected
from envcfg.profile.profile_model import Profile
from envcfg.profile.read.profile_loader import load_profile
from envcfg.profile.read.yaml_text import Keys, places
from envcfg.profile.references import clashing_bundles, clashing_references
from envcfg.profile.scheduler_settings import LIMITS_LAST
from envcfg.profile.words import Word, format_word

# A source in a repository, which can be compared with a newer state. The date is
# that of the commit; the part is a heading, words or lines. Semicolons separate
# several.
COORDINATES = re.compile(
    r"https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)"
    r" \(commit (?P<commit>[0-9a-f]{7,40})(?: of (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}))?,"
    r" (?P<path>[^\s,;()]+)(?:, (?P<part>[^();]+))?\)"
)
# Threads, releases and wikis are pages, although a repository has them.
_PAGE = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/(?:pull|issues|releases|wiki)\b"
)
_REPOSITORY = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")
_SOON = 60  # days
_LIMITS = ("nodes", "gpus", "time", "min_nodes", "min_gpus", "sizes")
_OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def validate(
    path: str, catalog: Catalog, *, today: date | None = None
) -> list[Finding]:
    """Return the problems of the file *path*, in the order of its lines.

    Args:
        path: a file; a file in a folder of *catalog* overrides the layers below.
        today: if given, also limits and prices that are outdated, or soon will be.

    Raises:
        OSError: if the file cannot be read.
    """
    data = catalog.read(path)
    problems: list[Finding] = []
    stem = os.path.splitext(os.path.basename(path))[0]
    profile = load_profile(data, path=path, stem=stem, problems=problems)
    if profile is None or problems:
        return _sorted(problems)
    places_of_keys = places(data, path)
    findings = [*_variables(profile, places_of_keys), *_sources(profile)]
    if today:
        findings += _outdated(profile, today)
    try:
        below, name = _below(path, catalog)
        resolved, layers = below.load(name), below.layers(name)
    except ProfileError as err:
        findings += err.findings
    else:
        findings += _unreached(profile, resolved, places_of_keys)
        for each in all_kinds(resolved):
            findings += _conflicts(each)
            findings += _references(each)
            findings += _in_vain(look_at(each, layers, {}).taken_back, layers[-1].path)
    mine = {shown(path), shown(f"./{path}"), shown(os.path.abspath(path))}
    return _sorted(
        finding._replace(place=finding.place._replace(path=path))
        if finding.place and finding.place.path in mine
        else finding
        for finding in findings
    )


def lacks_coordinates(source: str) -> bool:
    """Return whether a source names a repository without a file or part in it."""
    rest = COORDINATES.sub("", source)
    return len(_REPOSITORY.findall(rest)) > len(_PAGE.findall(rest))


def _sources(node: object) -> Iterator[Finding]:
    """Yield the sources below *node* that cannot be compared with a newer state."""
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
        for element in node.values() if isinstance(node, Mapping) else node:
            yield from _sources(element)


def _outdated(profile: Profile, today: date) -> Iterator[Finding]:
    """Yield a note for each limit or price that refuses nothing in 60 days or earlier."""
    dated = []
    for begin, each in _parts(profile):
        queues = {"partitions": each.partitions, "qos": each.qos}
        dated += [
            (".".join((*begin, "request", kind, name)), queue.reason)
            for kind, by_name in queues.items()
            for name, queue in by_name.items()
            if queue and any(getattr(queue, limit, None) for limit in _LIMITS)
        ]
        if each.billing:
            dated.append((".".join((*begin, "billing")), each.billing.reason))
    for key, reason in dated:
        end = date.fromisoformat(reason.date) + timedelta(LIMITS_LAST)
        if end - today <= timedelta(_SOON):
            yield Finding(
                rule="limit-aging",
                severity="note",
                subject=key,
                message=f"was read on {reason.date}: too old to refuse a job after {end}",
                fix="read its source again, and correct the value or the date",
                place=reason.place,
            )


def _parts(profile: Profile) -> Iterator[tuple[Keys, Profile]]:
    """Yield the profile of one file, and those of its kinds, with their paths in it."""
    yield (), profile
    for name, kind in profile.nodes.items():
        if kind:
            yield ("nodes", name), kind.profile


def _unreached(
    profile: Profile, resolved: Profile, at: Mapping[Keys, Place]
) -> Iterator[Finding]:
    """Yield the kinds of *profile* that no job gets, or whose jobs get another kind."""
    for number, (name, kind) in enumerate(resolved.nodes.items()):
        if kind is None or name not in profile.nodes:
            continue
        rule = kind.profile.rules.get("--partition")
        values = (
            [value for value in (rule.default, rule.value) if value] if rule else []
        )
        others = [
            other
            for value in values[:1]
            for other in selected(resolved, "partitions", value)
        ]
        message, fix = "", "add the option that gets these nodes to its select"
        if number and not any(kind[1:]):
            message = "no option of a job selects this kind of node"
        elif others and name not in others:
            message = (
                f"its rule gives jobs --partition {values[0]}, of kind {others[0]}"
            )
            fix = f"add request.rules.--partition to nodes.{name}"
        if message:
            place = at[("nodes", name)]
            subject = f"nodes.{name}"
            yield Finding(
                "kind-unselected", "warning", subject, message, fix, place=place
            )


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(dict.fromkeys(findings), key=lambda finding: finding.place or NOWHERE)


def _below(path: str, catalog: Catalog) -> tuple[Catalog, str]:
    """Return the catalog and the name under which the file would be used."""
    folder, name = os.path.split(os.path.abspath(path))
    if folder not in catalog.folders or not name.endswith(".yaml"):
        return catalog, path if "/" in path else f"./{path}"
    layers = catalog.folders[: catalog.folders.index(folder) + 1]
    return Catalog(layers), name.removesuffix(".yaml")


def _variables(profile: Profile, at: Mapping[Keys, Place]) -> Iterator[Finding]:
    """Check the names and values in this file against the known variables."""
    from envcfg.knowledge.variables import check_variable

    paths_seen: set[Keys] = set()
    for above, keys, word in _values(profile):
        name = above[-1]
        of_name = check_variable(name, None)
        if above not in paths_seen:
            for finding in of_name:
                yield _variable(finding, at[above], above)
        paths_seen.add(above)
        where = keys
        if keys not in at:  # a single value, without a list of cases
            where = (*above, "value") if (*above, "value") in at else above
        value = None if word is None else format_word(word)
        for finding in check_variable(name, value):
            if finding not in of_name:
                yield _variable(finding, at[where], where)


def _variable(finding: Finding, place: Place, keys: Keys) -> Finding:
    key = re.sub(r"\.([0-9]+)(?=\.|$)", r"[\1]", ".".join(keys))  # the loader's form
    return finding._replace(rule="profile-variable", subject=key, place=place)


def _values(profile: Profile) -> Iterator[tuple[Keys, Keys, Word | None]]:
    """Yield the path to each variable, the path to each of its values, and the value."""
    for begin, each in _parts(profile):
        for name, setting in each.env.items():
            above: Keys = (*begin, "env", name)
            for index, case in enumerate(setting.cases if setting else ()):
                yield above, (*above, "cases", str(index), "value"), case.value
            if setting and setting.otherwise is not None:
                yield above, (*above, "otherwise"), setting.otherwise
        for key, bundle in each.bundles.items():
            for name, word in bundle.env.items() if bundle else ():
                above = (*begin, "bundles", key, "env", name)
                yield above, above, word


def _conflicts(profile: Profile) -> Iterator[Finding]:
    """Yield variables that env and a bundle set at the same time."""
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


def exclude_each_other(condition: Condition, second: Condition) -> bool:
    """Return whether two conditions can never both be true."""
    return any(_excludes(mine, theirs) for mine in condition for theirs in second)


def _excludes(mine: Test, theirs: Test) -> bool:
    if mine.fact != theirs.fact or mine.fact == "nodes":  # nodes: decided in the job
        return False
    first, second = mine.operand, theirs.operand
    if mine.operator == theirs.operator == "glob":
        return f"!{first}" == second or first == f"!{second}"
    return first == second and _OPPOSITES.get(mine.operator) == theirs.operator


def _references(profile: Profile) -> Iterator[Finding]:
    env = {
        name: setting
        for name, setting in profile.env.items()
        if setting and setting.cases
    }
    words = {
        name: [
            value
            for value in (*(case.value for case in setting.cases), setting.otherwise)
            if value is not None
        ]
        for name, setting in env.items()
    }
    launchers = allowed_launchers(profile.launchers)
    has_scratch = profile.scratch is not None
    for clash in clashing_references(words, launchers, has_scratch=has_scratch):
        yield _clash(clash, env[clash.subject])


def _in_vain(taken_back: tuple[RemovedEntry, ...], path: str) -> Iterator[Finding]:
    for entry in taken_back:
        if entry.was is None and entry.place.path == path:
            yield Finding(
                rule="null-in-vain",
                severity="warning",
                subject=".".join(filter(None, (entry.section, entry.name))),
                message="null removes what no family and no lower layer sets",
                fix="leave it out",
                place=entry.place,
            )
