"""Network: what a fabric needs, and what keeps it from being used, or hangs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcfg.findings import Severity
from envcfg.lint.facts import most_nodes
from envcfg.lint.flow import image_names, inner_name, inner_names, is_agent, values_of
from envcfg.lint.model import Assignment, text_of
from envcfg.lint.rule import Edit, Fault, Job, detects, known_values
from envcfg.lint.text import literal

if TYPE_CHECKING:
    from envcfg.profile.model import Profile

_COLLECTIVE = re.compile(r"NCCL_|RCCL_|MASTER_ADDR$|TORCH_NCCL_")
_REMARK = re.compile(r"(?:^|\s)#(?!SBATCH|!|PBS).*\w")
_LONGEST = 1000  # characters of a line with a remark
_SIZES = ("FI_CXI_RDZV_GET_MIN", "FI_CXI_RDZV_THRESHOLD", "FI_CXI_RDZV_EAGER_SIZE")
_ON_SLINGSHOT = re.compile(r"FI_CXI_|CXI_")
_LEVEL = "NCCL_NET_GDR_LEVEL"


def _has_slingshot(profile: Profile) -> bool:
    nics = profile.node.nics if profile.node else ()
    return any(name.startswith("hsn") for name in nics) or any(
        name.startswith("FI_CXI_") for name in profile.env
    )


def _uses_collectives(job: Job) -> bool:
    names = inner_names(job.model)
    return any(map(_COLLECTIVE.match, names)) or any(map(is_agent, job.model.commands))


@detects("EC521")
def interface_missing(job: Job) -> Iterator[Fault]:
    """The interface that a Slingshot system needs named, and nobody names.

    First what makes the name needless: another fabric, one node, no collectives, a name
    that is set somewhere. Then who starts the ranks: steps of envcfg get the name from the
    profile. Last, who may set it unseen: an image, or a file that was not read. Then it is
    a note.
    """
    profile = job.profile
    if profile is None or profile.env.get("NCCL_SOCKET_IFNAME") is None:
        return
    if not _has_slingshot(profile):
        return  # InfiniBand's interfaces are the ones that NCCL takes by itself
    if (job.shape.nodes or 1) < 2 or job.model.scope != "batch":
        return
    if "NCCL_SOCKET_IFNAME" in inner_names(job.model) or not _uses_collectives(job):
        return
    launched = (c for c in job.model.commands if c.is_step and c.parent is None)
    steps = [each for each in launched if not each.by_envcfg]
    said = [word.shown for step in steps for word in step.words]
    if not steps or any("NCCL_SOCKET_IFNAME" in each for each in said):
        return
    # An image may set it, or what starts one, as CSCS' environments do.
    inside = any(c.scope == "container" for c in job.model.commands)
    inside = inside or any(d.name == "environment" for d in job.model.directives)
    severity: Severity = "note" if job.model.opaque or inside else "warning"
    yield Fault(steps[-1].at, {"profile": profile.name}, severity=severity)


@detects("EC523")
def transport_off(job: Job) -> Iterator[Fault]:
    """A transport that somebody has switched off, and nobody said why."""
    if most_nodes(job.model, job.shape) < 2:
        return
    for name, off in known_values("EC523", "disabling").items():
        for each, value in values_of(job, name):
            lines = job.around(each.at).splitlines()
            is_explained = any(_REMARK.search(line, 0, _LONGEST) for line in lines)
            if value in off and not each.context.conditions and not is_explained:
                yield Fault(each.at, {"name": name, "value": value})


@detects("EC524")
def cxi_coupling(job: Job) -> Iterator[Fault]:
    """Settings of Slingshot that only work together."""
    yield from _rendezvous_get(job)
    for each, value in values_of(job, "FI_MR_CACHE_MONITOR"):
        if value == "memhooks" and _uses_collectives(job):
            yield Fault(each.at, {}, "memhooks")
    yield from _sizes(job)
    yield from _plugin(job)
    if job.shape.nodes != 1 or not _is_slingshot(job):
        return
    if "single_node_vni" in _network(job):
        return
    for each, value in values_of(job, "NCCL_NET"):
        if value in ("AWS Libfabric", "OFI") and not each.context.conditions:
            yield Fault(each.at, {"value": value}, "one-node")


def _sizes(job: Job) -> Iterator[Fault]:
    """Yield where some messages go by rendezvous from the first byte, and others do not."""
    found = {name: values_of(job, name) for name in _SIZES}
    zero = [each[-1] for each in found.values() if each and each[-1][1] == "0"]
    lacking = [name for name, each in found.items() if not each]
    if zero and lacking and _uses_collectives(job):
        severity: Severity = "note" if job.model.opaque else "warning"
        words = {"name": zero[0][0].name, "lacking": ", ".join(lacking)}
        yield Fault(zero[0][0].at, words, "sizes", severity)


def _plugin(job: Job) -> Iterator[Fault]:
    """Yield where the plugin that is loaded is not the network that is forced."""
    nets = {value for _, value in values_of(job, "NCCL_NET") if value}
    for each, value in values_of(job, "NCCL_NET_PLUGIN"):
        if each.context.conditions or value is None or len(nets) != 1:
            continue
        net = next(iter(nets))
        none, own = value == "none", net in ("Socket", "IB", "socket", "ib")
        if none != own and (none or re.search(r"ofi|libfabric|librccl-net", value)):
            yield Fault(each.at, {"value": value or "''", "net": net}, "plugin")


def _rendezvous_get(job: Job) -> Iterator[Fault]:
    protocols = values_of(job, "FI_CXI_RDZV_PROTO")
    found = [each for each, value in protocols if value == "alt_read"]
    if not found or job.model.scope == "unknown" or job.model.is_dump:
        return
    if "disable_rdzv_get" in _network(job):
        return
    steps = [c for c in job.model.commands if c.is_step]
    severity: Severity | None = None
    if any(each.is_open for each in steps) or found[0].context.conditions or not steps:
        severity = "note"
    yield Fault(found[0].at, severity=severity)


def _network(job: Job) -> str:
    """Return all that sbatch and srun are told of the network."""
    said = [d.value or "" for d in job.model.directives if d.name == "network"]
    told = [c.options.get("network") for c in job.model.commands if c.is_step]
    said += [each.shown for each in told if each]
    for name in ("SLURM_NETWORK", "SBATCH_NETWORK"):
        said += [value or "?" for _, value in values_of(job, name)]
    return " ".join(said)


def _is_slingshot(job: Job) -> bool:
    if job.profile is not None and job.profile.env.get("FI_CXI_DEFAULT_CQ_SIZE"):
        return True
    values = [value or "" for _, value in values_of(job, "NCCL_SOCKET_IFNAME")]
    names = inner_names(job.model)
    return any(map(_ON_SLINGSHOT.match, names)) or any("hsn" in v for v in values)


@detects("EC522")
def other_fabric(job: Job) -> Iterator[Fault]:
    """Settings of a fabric that the system does not have."""
    if job.profile is None:
        return
    foreign = "on-slingshot" if _has_slingshot(job.profile) else "elsewhere"
    settings = known_values("EC522", "foreign")[foreign]
    provider = job.profile.expect.provider if job.profile.expect else None
    for each in job.model.assignments:
        name = inner_name(each.name)
        value = literal(text_of(each.value)) or ""
        if each.value is None or each.context.conditions:
            continue
        words = {"name": name, "value": value, "profile": job.profile.name}
        asks = name == "FI_PROVIDER" and re.fullmatch(r"[a-z;_,]+", value)
        if asks and provider and provider not in value:
            yield Fault(each.at, words)
        for pattern, severity in settings.items():
            if re.match(pattern, f"{name}={value}"):
                yield Fault(each.at, words, "", severity)
                break


@detects("EC525")
def known_hang(job: Job) -> Iterator[Fault]:
    """A level of GPU RDMA with which jobs hang, by what is known of image and system."""
    from envcfg.profile.stacks import Job as Facts
    from envcfg.profile.stacks import known_faults, load_stacks

    if job.profile is None:
        return
    stacks = [each for each in load_stacks() if _LEVEL in {t.fact for t in each.env}]
    provider = job.profile.expect.provider if job.profile.expect else None
    for facts in _images(job, job.profile):
        for each, value in values_of(job, _LEVEL):
            if value is None or each.context.conditions:
                continue
            known = Facts(facts, provider, job.profile.name, {_LEVEL: value})
            for found in known_faults(known, stacks):
                words = {"value": value, "image": facts["container"]}
                words["instead"] = found.fix or ""
                yield Fault(each.at, words, "known", edit=_without_line(each, job))


def _images(job: Job, profile: Profile) -> Iterator[dict[str, str]]:
    """Yield what the names of the images tell, as the profile reads them."""
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
