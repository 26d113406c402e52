"""The profiles that there are: shown, compared, checked, detected, begun."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.core.limits import as_of_today
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog

if TYPE_CHECKING:
    from envcfg.profile.look.difference import Difference
    from envcfg.profile.look.view import View


class Compared(NamedTuple):
    """What differs between two profiles, by the names that they were given by."""

    old: str
    new: str
    found: Sequence[Difference]


def show(
    catalog: Catalog,
    name: str,
    *,
    facts: Mapping[str, str],
    image: str | None = None,
    launcher: str | None = None,
) -> View:
    """Return every value of a profile, with its reason and where it stands.

    Args:
        name: of one, or the path of a file.
        facts: what conditions may ask for.
        image: file or URI; ``none``: no container; None: not known.
        launcher: who starts the ranks; None: not known.

    Raises:
        UsageError: there is none; also for a fact that cannot be, or a launcher that the
            profile lacks.
        ProfileError: something is wrong in it.
    """
    from envcfg.launch.container import named_runtimes
    from envcfg.launch.facts import check_facts
    from envcfg.launch.plan import Options
    from envcfg.launch.resolve import resolve
    from envcfg.profile.look.view import look_at

    profile = catalog.load(name)
    check_facts(facts)
    wanted = Options(
        container=None if image == "none" else image,
        image_file=image and os.path.realpath(image),
        launcher=launcher,
        facts=facts,
    )
    found = resolve(profile, "", wanted).facts
    known = {name: fact.value for name, fact in found.items()}  # as wrap would
    if image is None and "container" not in facts:
        del known["container"]  # not given is not known
        if "runtime" not in facts:  # as the launcher: the profile's first
            known["runtime"] = named_runtimes(profile)[0].kind
    return look_at(as_of_today(profile), catalog.layers(name), known)


def compare(
    catalog: Catalog,
    old: str,
    new: str,
    *,
    facts: Mapping[str, str],
    image: str | None = None,
    launcher: str | None = None,
) -> Compared:
    """Return what differs between two profiles, as ``show`` has them."""
    from envcfg.profile.look.difference import differences

    views = [
        show(catalog, name, facts=facts, image=image, launcher=launcher)
        for name in (old, new)
    ]
    return Compared(old, new, differences(*views))


def validate(
    catalog: Catalog, files: Sequence[str]
) -> tuple[dict[str, list[Finding]], list[tuple[str, str]]]:
    """Return what is wrong in each of *files*, and of others why they cannot be read.

    Args:
        files: paths, also of folders of profiles.
    """
    from envcfg.profile.validate import validate as problems_of

    found: dict[str, list[Finding]] = {}
    unread: list[tuple[str, str]] = []
    for given in files:
        paths = [given]
        if os.path.isdir(given):
            names = sorted(each for each in os.listdir(given) if each.endswith(".yaml"))
            paths = [os.path.join(given, name) for name in names]
            if not paths:
                why = "no profile in this folder: its name ends in .yaml"
                unread.append((given, why))
        for path in paths:
            try:
                open(path, "rb").close()
            except OSError as err:  # noqa: PERF203  # one file, not all of them
                unread.append((path, f"cannot be read: {err.strerror}"))
            else:
                found[path] = problems_of(path, catalog)
    return found, unread
