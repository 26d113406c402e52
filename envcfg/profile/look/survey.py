"""What there is to know of all profiles at a glance."""

from __future__ import annotations

import os.path
from typing import NamedTuple

from envcfg.errors import ProfileError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog


class Summary(NamedTuple):
    """One profile at a glance; what it does not say itself is None.

    Attributes:
        state: of its life: active, ends or retired.
        family: it is no system, but what systems have in common.
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
            files = catalog.files(name)
        except ProfileError as err:
            problems += err.findings
            continue
        found.append(
            Summary(
                name=name,
                summary=own.summary,
                state=own.lifecycle and own.lifecycle.state,
                verified=own.verified and own.verified.state,
                verified_date=own.verified and own.verified.reason.date,
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
