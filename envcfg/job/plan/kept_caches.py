"""The compile caches that outlive a job (``--keep-caches``); pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envcfg.common.errors import UsageError
from envcfg.job.plan.applicable_settings import recorded
from envcfg.profile.entries import Setting
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import parse_word

# Facts of the image or of the system that belong to the key of a cache.
IDENTITY = ("rocm", "cuda", "torch", "triton", "miopen")
_FOLDER = "${ENVCFG_CACHE}/"


def kept_settings(profile: Profile) -> Iterator[Setting]:
    """Yield the settings that the profile lacks for its caches to be kept.

    Raises:
        UsageError: the system has no node-local folder for caches.
    """
    if profile.scratch is None:
        msg = f"--keep-caches: {profile.name} has no node-local folder (scratch)"
        raise UsageError(
            msg, hint="leave it out: caches stay where the libraries put them"
        )
    for name, record in _records().items():
        own = {record["variable"]: f"{_FOLDER}{name}", **record.get("also", {})}
        for variable, text in own.items():
            if variable not in profile.env:
                yield recorded(variable, parse_word(text), record)


def kept_kinds(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield ``KIND:FOLDER:MEBIBYTES:METHOD`` for each cache of the job that is kept.

    A cache in a folder that the user named is not envcfg's, so it is not kept.
    """
    by_name = {setting.name: setting for setting in settings}
    for name, record in _records().items():
        setting = by_name.get(record["variable"])
        for folder in _own_folders(setting) if setting else ():
            yield f"{name}:{folder}:{record['mebibytes']}:{record['merge']}"


def _own_folders(setting: Setting) -> Iterator[str]:
    """Yield the folder below the node-local cache that is the value of *setting*."""
    start = parse_word(_FOLDER)
    for case in setting.cases:
        word = case.value or ()
        if word[:1] == start[:1] and len(word) == 2 and isinstance(word[1], str):
            yield word[1].removeprefix("/")


def _records() -> Mapping[str, Mapping[str, Any]]:
    from envcfg.common.datafile import load_yaml

    records: Mapping[str, Mapping[str, Any]] = load_yaml("knowledge/kept_caches.yaml")
    return records
