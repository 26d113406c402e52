"""Errors for a name or path that is not a profile."""

import os
from collections.abc import Collection, Sequence

from envcfg.common.errors import ProfileError, UsageError, suggest
from envcfg.profile.words import LAYERS, split_layer

LISTED_BY = "envcfg profiles list"


def unknown_profile(
    name: str, candidates: Collection[str], layers: Sequence[str] = ()
) -> UsageError:
    """Return the error for a name that is not in *candidates*.

    Args:
        candidates: the available names, without layers.
        layers: the layers with this name, if another layer was requested.
    """
    layer, rest = split_layer(name)
    if layers:
        alternative = f"{layers[-1]}:{rest}"
        msg = f"profile {rest!r} is not in the layer {layer!r}"
        return UsageError(msg, hint=f"use {alternative}, or {rest} without a layer")
    if layer:
        hint = suggest(rest, candidates, listed_by=LISTED_BY)
        return UsageError(f"unknown profile {name!r}", hint=hint)
    if ":" in name:
        hint = f"write before the colon one of {', '.join(LAYERS)}"
        return UsageError(f"unknown profile {name!r}", hint=hint)
    hint = suggest(name, candidates, listed_by=LISTED_BY)
    if os.path.exists(name):
        kind = "folder" if os.path.isdir(name) else "file"
        hint = f"a name is looked up; if the {kind} of this name is meant: ./{name}"
    return UsageError(f"unknown profile {name!r}", hint=hint)


def name_built_in(err: ProfileError, name: str) -> None:
    """Add the name of the built-in profile to the hints of *err*."""
    alternative = f"; or use the built-in one: --profile builtin:{name}"
    err.replace_findings(
        [
            finding._replace(fix=f"{finding.fix}{alternative}")
            if finding.rule == "writable-by-others"
            else finding
            for finding in err.findings
        ]
    )


def no_profile_file(path: str, candidates: Collection[str]) -> UsageError:
    """Return the error for a path that is not a file."""
    if os.path.isdir(path):
        msg = f"profile {path}: this is a folder"
        return UsageError(msg, hint="name a file in it, or a profile by its name")
    name = profile_name(path)
    hint = f"what has no / and no .yaml is a name; {LISTED_BY} shows all"
    if name in candidates:
        hint = f"did you mean {name!r}? {hint}"
    return UsageError(f"profile {path}: no such file", hint=hint)


def no_parent(
    name: str, files: Sequence[str], candidates: Collection[str]
) -> tuple[str, str]:
    """Return message and hint for a profile that extends an unknown one.

    Args:
        name: the extended name: not in *candidates*, or its own.
        files: its files, one for each layer.
    """
    if name != profile_name(files[0]):
        hint = suggest(name, candidates, listed_by=LISTED_BY)
        return f"unknown profile {name[:80]!r}", hint
    if len(files) > 1:
        message = "a profile cannot extend itself; it changes the one below it anyway"
        return message, "leave extends out"
    message = "a profile cannot extend itself, and there is no lower one of its name"
    return message, f"name another one, or leave extends out; {LISTED_BY} shows all"


def profile_name(path: str) -> str:
    """Return the required name of the profile in a file."""
    return os.path.splitext(os.path.basename(path))[0]
