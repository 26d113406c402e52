"""The text of a new profile: valid as it is, and saying what to fill in."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.profile.catalog import built_in_folder
from envcfg.profile.model import Profile
from envcfg.profile.words import format_word, quote_comment

SCHEMA = f"{built_in_folder()}/schema.json"
_TEXT = """\
# yaml-language-server: $schema={schema}
#
# What {name} needs beyond {family}. Each entry says why, who says so (a page, or a
# repository and its commit) and of when that is. What no source says is left out.
# Check it by: envcfg profiles validate {name}.yaml
name: {name}
extends: {family}
summary: {name}, to be described in one line
lifecycle:
  state: active
  why: in production
  source: to be named
  date: {today}
verified:
  state: inferred
  why: begun from {family}; nothing of it has been checked on {name} yet
  source: to be named
  date: {today}

# By what the system is known, so that --profile {name} can be left out.
# detect:
#   clusters: [{name}]            # $SLURM_CLUSTER_NAME; globs
#   hosts: ["{name}-login*"]      # where that is not set

# The shape of a node.
# node:
#   gpus: 4
#   cores_per_gpu: 16
#   memory_per_gpu: 120G
#   nics: [nic0, nic1]
#   why: what the hardware page says
#   source: https://docs.example.org/hardware
#   date: {today}

# Where node-local caches go.
# scratch:
#   root: /tmp
#   in_memory: false
#   why: node-local, and emptied after each job
#   source: https://docs.example.org/storage
#   date: {today}

# container:
#   runtimes: [apptainer]
#   binds:
#     /scratch:
#       if_exists: true
#       why: the projects' file system
#       source: https://docs.example.org/storage
#       date: {today}

# Variables. A name with null takes back what the family sets.
# env:
#   NAME:
#     value: text, in which ${{OTHER}} refers to a variable
#     when: {{nodes: ">1"}}        # left out where it always holds
#     why: what goes wrong without it
#     source: https://docs.example.org/network
#     date: {today}
{inherited}"""


def starter(name: str, family: str, resolved: Profile, today: str) -> str:
    """Return the text of a profile *name*; *resolved* is its *family*."""
    lines = "".join(f"#   {quote_comment(line)}\n" for line in _inherited(resolved))
    inherited = (
        f"#\n# {family} sets, and envcfg profiles show {family} says why:\n{lines}"
    )
    return _TEXT.format(
        schema=SCHEMA,
        name=name,
        family=family,
        today=today,
        inherited=inherited if lines else "",
    )


def _inherited(profile: Profile) -> Iterator[str]:
    for name, setting in profile.env.items():
        for case in setting.cases if setting else ():
            value = "unset" if case.value is None else format_word(case.value)
            yield f"{name}: {value}{'  # in some cases' if case.when else ''}"
    for bundle in profile.bundles.values():
        for name, word in bundle.env.items() if bundle else ():
            yield f"{name}: {format_word(word)}  # in the bundle {bundle and bundle.name}"
