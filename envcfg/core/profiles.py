"""The available profiles: shown, compared, checked, detected and created."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.common.errors import OutputError
from envcfg.common.findings import Finding, Result
from envcfg.profile.catalog import Catalog
from envcfg.profile.words import split_kind, with_kind
from envcfg.site.current_limits import as_of_today

if TYPE_CHECKING:
    from envcfg.profile.look.difference import Difference
    from envcfg.profile.look.value_list import View

_NAMES = "a profile is a file; envcfg profiles list has names"


class Compared(NamedTuple):
    """The differences of two profiles, with the names as given."""

    old: str
    new: str
    differences: Sequence[Difference]


def show(
    catalog: Catalog,
    name: str,
    *,
    facts: Mapping[str, str],
    image: str | None = None,
    launcher: str | None = None,
) -> View:
    """Return every value of a profile, with its reason and place.

    Args:
        name: the name of a profile, or the path of a file.
        facts: facts for conditions.
        image: file or URI; ``none``: no container; None: unknown.
        launcher: the launcher of the ranks; None: unknown.

    Raises:
        UsageError: the profile does not exist, a fact is impossible, or the profile
            lacks the launcher.
        ProfileError: the profile has errors.
    """
    from envcfg.job.plan.container import named_runtimes
    from envcfg.job.plan.plan import Options
    from envcfg.job.plan.plan_facts import check_facts
    from envcfg.job.plan.resolve import resolve
    from envcfg.profile.look.value_list import look_at

    profile = catalog.load(name)
    check_facts(facts)
    options = Options(
        container=None if image == "none" else image,
        image_file=image and os.path.realpath(image),
        launcher=launcher,
        facts=facts,
    )
    found = resolve(profile, "", options).facts
    values = {name: fact.value for name, fact in found.items()}  # the same as in wrap
    if image is None and "container" not in facts:
        del values["container"]  # without an image, the fact is unknown
        if "runtime" not in facts:  # like the launcher: the profile's first
            values["runtime"] = named_runtimes(profile)[0].kind
    return look_at(as_of_today(profile), catalog.layers(name), values)


def compare(
    catalog: Catalog,
    old: str,
    new: str,
    *,
    facts: Mapping[str, str],
    image: str | None = None,
    launcher: str | None = None,
) -> Compared:
    """Return the differences of two profiles, or of one kind of node; see ``show``.

    Without a kind, those of all kinds that both have; a kind that is not the default
    follows the name of its section.
    """
    from envcfg.profile.look.difference import differences

    def of_kind(kind: str | None) -> list[Difference]:
        names = (with_kind(name, kind) for name in (old, new))
        return differences(
            *(
                show(catalog, name, facts=facts, image=image, launcher=launcher)
                for name in names
            )
        )

    result = of_kind(None)
    if not (split_kind(old)[1] or split_kind(new)[1]):
        first, second = catalog.load(old), catalog.load(new)
        common = set(result)
        for kind in [*first.nodes][1:]:
            if kind in second.nodes:
                result += (
                    difference._replace(section=f"{difference.section} of {kind}")
                    for difference in of_kind(kind)
                    if difference not in common
                )
    return Compared(old, new, result)


def validate(catalog: Catalog, files: Sequence[str], *, aging: bool = False) -> Result:
    """Return the problems of each of *files*.

    Args:
        files: paths of profiles, or folders of profiles.
        aging: whether to report limits and prices that are soon outdated.

    Raises:
        OutputError: a file cannot be read.
    """
    from envcfg.profile.validate import validate as problems_of
    from envcfg.site.current_limits import day_of, now

    today = day_of(now()) if aging else None
    findings: dict[str, list[Finding]] = {}
    for file in files:
        paths = [file]
        if os.path.isdir(file):
            names = sorted(name for name in os.listdir(file) if name.endswith(".yaml"))
            paths = [os.path.join(file, name) for name in names]
            if not paths:
                msg = f"{file}: no profile in this folder: its name ends in .yaml"
                raise OutputError(msg, hint=_NAMES)
        for path in paths:
            try:
                # Opening the file here separates missing files from wrong ones.
                open(path, "rb").close()
            except OSError as err:
                msg = f"{path}: cannot be read: {err.strerror}"
                raise OutputError(msg, hint=_NAMES) from err
            findings[path] = problems_of(path, catalog, today=today)
    return Result(findings)
