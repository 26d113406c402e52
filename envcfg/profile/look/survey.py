"""An overview of all profiles, and their values of a variable."""

import os.path
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.common.characters import Texts
from envcfg.common.errors import ProfileError
from envcfg.common.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.job_facts import Reason
from envcfg.profile.node_kinds import all_kinds
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import format_word, with_kind


class Summary(NamedTuple):
    """A summary of one profile; fields that it does not set are None."""

    name: str
    summary: str | None
    state: str | None  # its lifecycle: active, ends or retired
    verified: str | None
    verified_date: str | None
    extends: str | None
    family: bool  # whether it describes the common part of several systems
    layers: Texts  # the layers with a file of this name, lowest first
    kinds: Texts  # of its nodes, if there are several; the default first


def survey(catalog: Catalog) -> tuple[list[Summary], list[Finding]]:
    """Return every usable profile, and the problems of the others."""
    layers = {folder: name for name, folder in catalog.layer_folders().items()}
    layers[catalog.folders[0]] = "built-in"
    summaries: list[Summary] = []
    problems: list[Finding] = []
    for name in catalog.names():
        try:
            resolved, own = catalog.load(name), catalog.own(name)
            files = catalog.files(name)
        except ProfileError as err:
            problems += err.findings
            continue
        summaries.append(
            Summary(
                name=name,
                summary=own.summary,
                state=own.lifecycle and own.lifecycle.state,
                verified=own.verified and own.verified.state,
                verified_date=own.verified and own.verified.reason.date,
                extends=own.extends and own.extends.name,
                family=resolved.node is None,
                layers=tuple(layers[os.path.dirname(file)] for file in files),
                kinds=tuple(resolved.nodes),
            )
        )
    parents = {summary.extends for summary in summaries}
    summaries = [
        summary._replace(family=summary.family and summary.name in parents)
        for summary in summaries
    ]
    return summaries, list(dict.fromkeys(problems))


class Use(NamedTuple):
    """One value that a file sets for a variable."""

    value: str | None  # None unsets the variable
    reason: Reason
    when: Condition = ALWAYS
    otherwise: bool = False  # it applies if no case does
    bundle: str | None = None  # the bundle that sets it, if any
    # All profiles with the value, by themselves or from a family.
    profiles: Texts = ()


def uses_of(
    variable: str, catalog: Catalog, names: Sequence[str]
) -> tuple[tuple[Use, ...], list[str]]:
    """Return the values of *variable* in the profiles *names*, and the profiles among
    them that unset their family's value.

    Raises:
        UsageError: a profile does not exist.
        ProfileError: a profile cannot be used.
    """
    names_by_use: dict[Use, list[str]] = {}
    taken_back = []
    for name in names:
        kinds = all_kinds(catalog.load(name))
        by_kind: dict[Use, list[str]] = {}
        for profile in kinds:
            kinded = with_kind(name, profile.kind_name)
            if profile.env.get(variable, ...) is None:
                taken_back.append(kinded)
            for use in _in(profile, variable):
                by_kind.setdefault(use, []).append(kinded)
        for use, users in by_kind.items():
            is_common = len(users) == len(kinds)
            names_by_use.setdefault(use, []).extend([name] if is_common else users)
    uses = (use._replace(profiles=tuple(users)) for use, users in names_by_use.items())
    return tuple(uses), taken_back


def _in(profile: Profile, variable: str) -> Iterator[Use]:
    setting = profile.env.get(variable)
    for case in setting.cases if setting else ():
        value = None if case.value is None else format_word(case.value)
        yield Use(value, case.reason, case.when)
    if setting and setting.otherwise is not None and setting.cases:
        reason = setting.cases[-1].reason
        yield Use(format_word(setting.otherwise), reason, otherwise=True)
    for bundle in profile.bundles.values():
        if bundle and variable in bundle.env:
            value = format_word(bundle.env[variable])
            yield Use(value, bundle.reason, bundle.when, bundle=bundle.name)
