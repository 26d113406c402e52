"""What becomes of profiles when those of one folder come, change or go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal, NamedTuple

from envcfg.errors import ProfileError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import known_profiles
from envcfg.profile.look.difference import Difference, differences
from envcfg.profile.look.survey import layer_names
from envcfg.profile.look.view import State, View, look_at


class Change(NamedTuple):
    """What becomes of one profile.

    Attributes:
        over: the layers below that have one of its name.
        view: all that its file says, where nothing was shown of it before.
        differences: between what jobs got by this name and what they would get.
    """

    name: str
    kind: Literal["added", "changed", "removed", "same"]
    over: tuple[str, ...]
    view: View | None
    differences: tuple[Difference, ...]


def changes(
    before: Catalog, after: Catalog, *, old: str | None, new: str | None
) -> list[Change]:
    """Return what becomes of each profile of a folder.

    Args:
        before: the layers up to that folder, as they are.
        after: the same, as they would be.
        old: the folder in *before*, if it is there.
        new: that in *after*.

    Raises:
        ProfileError: profiles in *new* cannot be used; with all that is wrong.
    """
    gone, come = _files(old), _files(new)
    problems: list[Finding] = []
    found = []
    for name in sorted({*gone, *come}):
        try:
            found.append(_change(name, before, after, gone.get(name), come.get(name)))
        except ProfileError as err:  # noqa: PERF203  # all that is wrong, in one run
            problems += err.findings
    if problems:
        raise ProfileError(list(dict.fromkeys(problems)))
    return found


def claims(after: Catalog, new: str) -> Iterator[Finding]:
    """Yield a warning for each profile in *new* that is taken where another should be."""
    known, _ = known_profiles(after)
    for each in known:
        if each.name not in _files(new):
            continue
        for kind in ("clusters", "hosts"):
            globs = set(getattr(each.detect, kind))
            if all_of := sorted(glob for glob in globs if not glob.strip("*?")):
                yield _claim(each.name, f"takes {kind} {all_of[0]}: every one")
            for other in known:
                if other.name != each.name and (
                    both := sorted(globs & set(getattr(other.detect, kind)))
                ):
                    what = f"takes {kind} {', '.join(both)}, as {other.name} does"
                    yield _claim(each.name, what)


def unjudged(view: View) -> View:
    """Return *view* with nothing called out of force: with another launcher it is not."""
    values = (
        each._replace(state=State.IN_JOB if each.when else State.HOLDS)
        if each.state is State.NOT
        else each
        for each in view.values
    )
    return view._replace(values=tuple(values))


def _change(
    name: str, before: Catalog, after: Catalog, gone: str | None, come: str | None
) -> Change:
    view, told = None, _resolved(before, name)
    if come:
        layer = next(each for each in after.layers(name) if each.path == come)
        if gone is None or told is None:
            view = unjudged(look_at(layer.profile, [layer], {}))
    would = _resolved(after, name, must=bool(come))
    found = differences(told, would) if told and would else []
    kind: Literal["added", "changed", "removed", "same"]
    if not (gone and come):
        kind = "added" if come else "removed"
    else:
        is_same = not found and before.read(gone) == after.read(come)
        kind = "same" if is_same else "changed"
    names = layer_names(after if come else before)
    files = (after if come else before).files(name)
    own = os.path.dirname(come or gone or "")
    below = [os.path.dirname(each) for each in files]
    over = tuple(names[each] for each in below if each != own)
    return Change(name, kind, over, view, tuple(found))


def _resolved(catalog: Catalog, name: str, *, must: bool = False) -> View | None:
    """Return all that jobs get by a name; None where there is none that can be used."""
    if name not in catalog.names():
        return None
    try:
        profile, layers = catalog.load(name), catalog.layers(name)
    except ProfileError:
        if must:
            raise
        return None
    return unjudged(look_at(profile, layers, {}))


def _files(folder: str | None) -> dict[str, str]:
    if folder is None:
        return {}
    names = [each for each in os.listdir(folder) if each.endswith(".yaml")]
    return {each[:-5]: os.path.join(folder, each) for each in names}


def _claim(name: str, what: str) -> Finding:
    then = "where nobody names a profile"
    fix = f"{then}, detection may take it, or fail; --profile NAME says which"
    return Finding("profile-claims", "warning", f"profile {name}", what, fix)
