"""Stacks of software: settings that are known to fail with an image or a system."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.lint.flow import image_names, values_of
from envcfg.lint.model import Assignment
from envcfg.lint.rule import Edit, Fault, Job, detects

_LEVEL = "NCCL_NET_GDR_LEVEL"


@detects("EC525")
def known_hang(job: Job) -> Iterator[Fault]:
    """A level of GPU RDMA with which jobs hang, by what is known of image and system."""
    from envcfg.profile.stacks import Job as Facts
    from envcfg.profile.stacks import known_faults, load_stacks

    if job.profile is None:
        return
    stacks = [
        each for each in load_stacks() if any(test.fact == _LEVEL for test in each.env)
    ]
    provider = job.profile.expect.provider if job.profile.expect else None
    for facts in _images(job):
        for each, value in values_of(job, _LEVEL):
            if value is None or each.context.conditions:
                continue
            known = Facts(facts, provider, job.profile.name, {_LEVEL: value})
            for found in known_faults(known, stacks):
                words = {"value": value, "image": facts["container"]}
                words["instead"] = found.fix or ""
                edit = _without_line(each, job)
                yield Fault(each.at, words, "known", edit=edit)


def _images(job: Job) -> Iterator[dict[str, str]]:
    """Yield what the names of the images tell, as the profile reads them."""
    profile = job.profile
    if profile is None:
        return
    nodes = {} if job.shape.nodes is None else {"nodes": str(job.shape.nodes)}
    for name in image_names(job):
        facts = {"container": name, **nodes}
        for each in profile.image_facts or ():
            if match := re.search(each.pattern, name):
                facts |= {
                    fact: text.format(**match.groupdict())
                    for fact, text in each.facts.items()
                }
        yield facts


def _without_line(each: Assignment, job: Job) -> Edit | None:
    """Return what takes the line of an assignment away, where it holds nothing else."""
    before, line = job.before(each.at), job.around(each.at).split("\n")[-1]
    alone = re.fullmatch(rf"\s*(?:export\s+)?{each.name}=[\w\"']*\s*", line)
    if not alone or not line.isascii():
        return None
    begin = each.at - len(before)
    return Edit(begin, begin + len(line) + 1, "")
