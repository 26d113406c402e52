"""The compile caches that outlive a job (``--keep-caches``); pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envcfg.common.errors import UsageError
from envcfg.common.findings import Place
from envcfg.job.plan.plan import PlannedVariable
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import Word, parse_word

# Facts of the image or of the system that belong to the key of a cache.
IDENTITY = ("rocm", "cuda", "torch", "triton", "miopen")
_FOLDER = "${ENVCFG_CACHE}/"


def kept_settings(profile: Profile) -> dict[str, tuple[Word, Reason]]:
    """Return the settings that the profile lacks for its caches to be kept.

    Raises:
        UsageError: the system has no node-local folder for caches.
    """
    if profile.scratch is None:
        msg = f"--keep-caches: {profile.name} has no node-local folder (scratch)"
        raise UsageError(
            msg, hint="leave it out: caches stay where the libraries put them"
        )
    place = Place("command line", 1)
    return {
        variable: (
            parse_word(text),
            Reason(record["why"], record["source"], str(record["date"]), place),
        )
        for name, record in _records().items()
        for variable, text in {
            record["variable"]: f"{_FOLDER}{name}",
            **record.get("also", {}),
        }.items()
        if variable not in profile.env
    }


def kept_kinds(settings: Sequence[PlannedVariable]) -> Iterator[str]:
    """Yield ``KIND:FOLDER:MEBIBYTES:METHOD`` for each cache of the job that is kept.

    A cache in a folder that the user named is not envcfg's, so it is not kept.
    """
    by_name = {setting.name: setting for setting in settings}
    for name, record in _records().items():
        setting = by_name.get(record["variable"])
        for folder in _own_folders(setting) if setting else ():
            yield f"{name}:{folder}:{record['mebibytes']}:{record['merge']}"


def _own_folders(setting: PlannedVariable) -> Iterator[str]:
    """Yield the folder below the node-local cache that is the value of *setting*."""
    start = parse_word(_FOLDER)
    for case in setting.cases:
        word = case.value or ()
        if word[:1] == start[:1] and len(word) == 2 and isinstance(word[1], str):
            yield word[1].removeprefix("/")


def _records() -> Mapping[str, Mapping[str, Any]]:
    from envcfg.common.datafile import load_knowledge_file

    records: Mapping[str, Mapping[str, Any]] = load_knowledge_file("kept_caches.yaml")
    return records
