"""The profiles that there are: shown, compared, checked, detected, begun."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.core.limits import as_of_today
from envcfg.core.selection import detect_system
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import Detection, Machine
from envcfg.profile.model import Profile

if TYPE_CHECKING:
    from envcfg.profile.look.difference import Difference
    from envcfg.profile.look.view import View


class Compared(NamedTuple):
    """What differs between two profiles, by the names that they were given by."""

    old: str
    new: str
    found: Sequence[Difference]


class Detected(NamedTuple):
    """Which profiles fit a machine, and what it shows of itself."""

    detection: Detection
    machine: Machine


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
        catalog: the profiles that there are.
        name: of one, or the path of a file.
        facts: what conditions may ask for.
        image: file or URI; ``none``: no container; None: not known.
        launcher: who starts the ranks; None: not known.

    Raises:
        UsageError: there is none; also for a fact that cannot be, or a launcher that the
            profile lacks.
        ProfileError: something is wrong in it.
    """
    from envcfg.profile.look.view import look_at

    profile = catalog.load(name)
    known = _known_facts(profile, facts, image=image, launcher=launcher)
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


def detect_here(catalog: Catalog) -> Detected:
    """Return which profiles fit this machine; its scheduler may be asked its name."""
    return Detected(*detect_system(catalog))


def validate(
    catalog: Catalog, files: Sequence[str]
) -> tuple[dict[str, list[Finding]], list[tuple[str, str]]]:
    """Return what is wrong in each of *files*, and of others why they cannot be read.

    Args:
        catalog: where their families are.
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


def _known_facts(
    profile: Profile,
    stated: Mapping[str, str],
    *,
    image: str | None,
    launcher: str | None,
) -> Mapping[str, str]:
    """Return what is known with these facts, as ``wrap`` would know it."""
    from envcfg.launch.container import named_runtimes
    from envcfg.launch.facts import check_facts
    from envcfg.launch.plan import Options
    from envcfg.launch.resolve import resolve

    check_facts(stated)
    wanted = Options(
        container=None if image == "none" else image,
        image_file=image and os.path.realpath(image),
        launcher=launcher,
        facts=stated,
    )
    known = resolve(profile, "", wanted).facts
    facts = {name: fact.value for name, fact in known.items()}
    if image is None and "container" not in stated:
        del facts["container"]  # not given is not known
        if "runtime" not in stated:  # as the launcher: the profile's first
            facts["runtime"] = named_runtimes(profile)[0].kind
    return facts
