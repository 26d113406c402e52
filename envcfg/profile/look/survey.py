"""All profiles, looked at: each at a glance, and what they set a variable to."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.errors import ProfileError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.facts import Reason
from envcfg.profile.model import Profile
from envcfg.profile.words import format_word


class Summary(NamedTuple):
    """One profile at a glance; what it does not say itself is None.

    Attributes:
        state: of its life: active, ends or retired.
        family: it is not a system, but what systems have in common.
        layers: those that have a file of this name, lowest first.
    """

    name: str
    summary: str | None
    state: str | None
    verified: str | None
    verified_date: str | None
    extends: str | None
    family: bool
    layers: tuple[str, ...]


def survey(catalog: Catalog) -> tuple[list[Summary], list[Finding]]:
    """Return every profile that can be used, and what is wrong with the others."""
    layers = {folder: name for name, folder in catalog.layer_folders().items()}
    layers[catalog.folders[0]] = "built-in"
    found: list[Summary] = []
    problems: list[Finding] = []
    for name in catalog.names():
        try:
            resolved, own = catalog.load(name), catalog.own(name)
            files, checked = catalog.files(name), own.run or own.verified
        except ProfileError as err:
            problems += err.findings
            continue
        found.append(
            Summary(
                name=name,
                summary=own.summary,
                state=own.lifecycle and own.lifecycle.state,
                verified="run" if own.run else own.verified and own.verified.state,
                verified_date=checked and checked.reason.date,
                extends=own.extends and own.extends.name,
                family=resolved.node is None,
                layers=tuple(layers[os.path.dirname(each)] for each in files),
            )
        )
    parents = {each.extends for each in found}
    found = [
        each._replace(family=each.family and each.name in parents) for each in found
    ]
    return found, list(dict.fromkeys(problems))


class Use(NamedTuple):
    """One value that a file gives a variable.

    Attributes:
        value: None takes the variable away.
        otherwise: it applies if no case does.
        bundle: what it is set together with.
        profiles: all that have it, by themselves or from a family.
    """

    value: str | None
    reason: Reason
    when: Condition = ALWAYS
    otherwise: bool = False
    bundle: str | None = None
    profiles: tuple[str, ...] = ()


class Uses(NamedTuple):
    """All uses of a variable; *taken_back*: profiles that drop what their family sets."""

    uses: tuple[Use, ...]
    taken_back: tuple[str, ...]


def uses_of(variable: str, catalog: Catalog, names: Sequence[str]) -> Uses:
    """Return what the profiles *names* set *variable* to.

    Raises:
        UsageError: if there is no such profile.
        ProfileError: if one cannot be used.
    """
    found: dict[Use, list[str]] = {}
    taken_back = []
    for name in names:
        profile = catalog.load(name)
        if profile.env.get(variable, ...) is None:
            taken_back.append(name)
        for use in _in(profile, variable):
            found.setdefault(use, []).append(name)
    uses = (use._replace(profiles=tuple(users)) for use, users in found.items())
    return Uses(tuple(uses), tuple(taken_back))


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
