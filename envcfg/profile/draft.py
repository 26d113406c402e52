"""The text of a new profile: valid as it is, and saying what to fill in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from envcfg.profile.folders import built_in_folder
from envcfg.profile.model import Profile
from envcfg.profile.words import format_word, quote_comment

SCHEMA = f"{built_in_folder()}/schema.json"
_TEXT = """\
# yaml-language-server: $schema={schema}
#
# What {name} needs beyond {family}. Each entry says why, who says so (a page, or a
# repository and its commit) and of when that is. What no source says is left out.
# Check it by: envcfg profiles validate {name}.yaml
{read}name: {name}
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
"""
_READ = """\
#
# What has no # before it was read on this machine: see its source, and check it.
# Built on {family}: {why}.
"""
# What a profile may say, where the machine says nothing of it.
_EXAMPLES = {
    "detect": """\
# By what the system is known, so that --profile {name} can be left out.
# detect:
#   clusters: [{name}]            # $SLURM_CLUSTER_NAME; globs
#   hosts: ["{name}-login*"]      # where that is not set
""",
    "node": """\
# The shape of a node.
# node:
#   gpus: 4
#   cores_per_gpu: 16
#   memory_per_gpu: 120G
#   nics: [nic0, nic1]
#   why: what the hardware page says
#   source: https://docs.example.org/hardware
#   date: {today}
""",
    "scratch": """\
# Where node-local caches go.
# scratch:
#   root: /tmp
#   in_memory: false
#   why: node-local, and emptied after each job
#   source: https://docs.example.org/storage
#   date: {today}
""",
    "container": """\
# container:
#   runtimes: [apptainer]
#   binds:
#     /scratch:
#       if_exists: true
#       why: the projects' file system
#       source: https://docs.example.org/storage
#       date: {today}
""",
    "env": """\
# Variables. A name with null takes back what the family sets.
# env:
#   NAME:
#     value: text, in which ${{OTHER}} refers to a variable
#     when: {{nodes: ">1"}}        # left out where it always holds
#     why: what goes wrong without it
#     source: https://docs.example.org/network
#     date: {today}
""",
}
_ORDER = (
    *("detect", "node", "request", "billing", "modules"),
    *("scratch", "container", "expect", "env"),
)


def starter(
    name: str,
    family: str,
    resolved: Profile,
    today: str,
    *,
    why: str | None = None,
    sections: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the text of a new profile.

    Args:
        name: of the profile.
        family: the name of what it builds on.
        resolved: that one.
        today: as ISO 8601 has it.
        why: by what the family was chosen, where the machine was asked.
        sections: what the machine says, by section, as YAML.
    """
    read = _READ.format(family=family, why=quote_comment(why)) if why else ""
    head = _TEXT.format(schema=SCHEMA, name=name, family=family, today=today, read=read)
    texts = [
        sections.get(each) or _EXAMPLES[each].format(name=name, today=today)
        for each in _ORDER
        if each in sections or each in _EXAMPLES
    ]
    lines = "".join(f"#   {quote_comment(line)}\n" for line in _inherited(resolved))
    inherited = (
        f"#\n# {family} sets, and envcfg profiles show {family} says why:\n{lines}"
    )
    return "\n".join([head, *texts]) + (inherited if lines else "")


def _inherited(profile: Profile) -> Iterator[str]:
    for name, setting in profile.env.items():
        for case in setting.cases if setting else ():
            value = "unset" if case.value is None else format_word(case.value)
            yield f"{name}: {value}{'  # in some cases' if case.when else ''}"
    for bundle in profile.bundles.values():
        for name, word in bundle.env.items() if bundle else ():
            yield f"{name}: {format_word(word)}  # in the bundle {bundle and bundle.name}"
