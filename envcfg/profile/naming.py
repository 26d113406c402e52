"""What is said of a name, or a path, that is not a profile."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from envcfg.errors import ProfileError, UsageError, suggest
from envcfg.profile.words import LAYERS, split_layer

LISTED_BY = "envcfg profiles list"


def unknown_profile(
    name: str, known: Collection[str], layers: Sequence[str] = ()
) -> UsageError:
    """Return the error for a name that is none of *known*.

    Args:
        known: the names that there are, without layers.
        layers: those that have the name, where it was asked for in another.
    """
    layer, rest = split_layer(name)
    if layers:
        other = f"{layers[-1]}:{rest}"
        msg = f"profile {rest!r} is not in the layer {layer!r}"
        return UsageError(msg, hint=f"use {other}, or {rest} without a layer")
    if layer:
        hint = suggest(rest, known, listed_by=LISTED_BY)
        return UsageError(f"unknown profile {name!r}", hint=hint)
    if ":" in name:
        hint = f"write before the colon one of {', '.join(LAYERS)}"
        return UsageError(f"unknown profile {name!r}", hint=hint)
    hint = suggest(name, known, listed_by=LISTED_BY)
    if os.path.exists(name):
        what = "folder" if os.path.isdir(name) else "file"
        hint = f"a name is looked up; if the {what} of this name is meant: ./{name}"
    return UsageError(f"unknown profile {name!r}", hint=hint)


def with_built_in(err: ProfileError, name: str) -> ProfileError:
    """Return the error, which says how the built-in profile is named."""
    other = f"; or use the built-in one: --profile builtin:{name}"
    return ProfileError(
        [
            each._replace(fix=f"{each.fix}{other}")
            if each.rule == "profile-not-trusted"
            else each
            for each in err.findings
        ]
    )


def no_profile_file(path: str, known: Collection[str]) -> UsageError:
    """Return the error for a path that is not a file."""
    if os.path.isdir(path):
        msg = f"profile {path}: this is a folder"
        return UsageError(msg, hint="name a file in it, or a profile by its name")
    name = profile_name(path)
    hint = f"what has no / and no .yaml is a name; {LISTED_BY} shows all"
    if name in known:
        hint = f"did you mean {name!r}? {hint}"
    return UsageError(f"profile {path}: no such file", hint=hint)


def no_parent(
    name: str, files: Sequence[str], known: Collection[str]
) -> tuple[str, str]:
    """Return message and hint for a profile that extends none.

    Args:
        name: what it extends: none of *known*, or itself.
        files: its own, one for each layer.
    """
    if name != profile_name(files[0]):
        hint = suggest(name, known, listed_by=LISTED_BY)
        return f"unknown profile {name[:80]!r}", hint
    if len(files) > 1:
        message = "a profile cannot extend itself; it changes the one below it anyway"
        return message, "leave extends out"
    message = "a profile cannot extend itself, and there is no lower one of its name"
    return message, f"name another one, or leave extends out; {LISTED_BY} shows all"


def profile_name(path: str) -> str:
    """Return the name that the profile of a file has."""
    return os.path.splitext(os.path.basename(path))[0]
