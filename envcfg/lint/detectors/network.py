"""Network: settings that a fabric needs, that disable it, or that hang it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envcfg.backends.schedulers import MARK
from envcfg.job.request.scheduler_options import option_table
from envcfg.lint.lint_rule import (
    Edit,
    Fault,
    ScriptJob,
    detects,
    known_values,
    known_words,
)
from envcfg.lint.resource_facts import most_nodes, steps
from envcfg.lint.script_model import Assignment
from envcfg.lint.value_flow import (
    image_names,
    inner_name,
    inner_names,
    is_agent,
    values_of,
)

if TYPE_CHECKING:
    from envcfg.profile.profile_model import Profile

_COLLECTIVE = re.compile(r"NCCL_|RCCL_|MASTER_ADDR$|TORCH_NCCL_")
_REMARK = re.compile(rf"(?:^|\s)(?!#!|{MARK})#.*\w")
_LONGEST = 1000  # characters of a line; longer ones are data, not remarks
_SIZES = ("FI_CXI_RDZV_GET_MIN", "FI_CXI_RDZV_THRESHOLD", "FI_CXI_RDZV_EAGER_SIZE")
_ON_SLINGSHOT = re.compile(r"FI_CXI_|CXI_")
_LEVEL = "NCCL_NET_GDR_LEVEL"


def _has_slingshot(profile: Profile) -> bool:
    nics = profile.node.nics if profile.node else ()
    return any(name.startswith("hsn") for name in nics) or any(
        name.startswith("FI_CXI_") for name in profile.env
    )


def _uses_collectives(job: ScriptJob) -> bool:
    names = inner_names(job.model)
    return any(map(_COLLECTIVE.match, names)) or any(map(is_agent, job.model.commands))


@detects("EC521")
def interface_missing(job: ScriptJob) -> Iterator[Fault]:
    """A missing interface name on a Slingshot system, which needs one.

    The check first excludes jobs that need no name: another fabric, one node, no
    collectives, a name that is already set. Steps of envcfg get the name from the profile.
    Last come unseen sources: an image, or a file that was not read. The finding is then a
    note.
    """
    profile = job.profile
    if profile is None or profile.env.get("NCCL_SOCKET_IFNAME") is None:
        return
    if not _has_slingshot(profile):
        return  # NCCL finds InfiniBand's interfaces by itself
    if (job.shape.nodes or 1) < 2:
        return
    without = tuple(known_words("EC521", "without"))
    if any(name.startswith(without) for name in image_names(job)):
        return
    if "NCCL_SOCKET_IFNAME" in inner_names(job.model) or not _uses_collectives(job):
        return
    launched = [
        step
        for step in steps(job.model)
        if step.scope == "batch" and not step.by_envcfg
    ]
    words = [word.shown for step in launched for word in step.words]
    if not launched or any("NCCL_SOCKET_IFNAME" in name for name in words):
        return
    # An image may set it, or the program that starts it, as CSCS' environments do.
    inside = any(c.scope == "container" for c in job.model.commands)
    inside = inside or any(d.name == "environment" for d in job.model.directives)
    yield Fault(
        launched[-1].offset,
        {"profile": profile.name},
        severity="note" if job.model.opaque or inside else "warning",
    )


@detects("EC523")
def transport_off(job: ScriptJob) -> Iterator[Fault]:
    """A transport that is switched off without an explanation."""
    if most_nodes(job.model, job.shape) < 2:
        return
    for name, off in known_values("EC523", "disabling").items():
        has_network = _has_network(name, job)
        if has_network is False:
            continue
        for assignment, value in values_of(job, name):
            lines = job.around(assignment.offset).split("\n")
            # A remark beside the setting shows a deliberate choice.
            is_explained = any(_REMARK.search(line, 0, _LONGEST) for line in lines)
            if value in off and not assignment.context.is_chosen and not is_explained:
                words = {"name": name, "value": value}
                yield Fault(
                    assignment.offset, words, severity=None if has_network else "note"
                )


def _has_network(name: str, job: ScriptJob) -> bool | None:
    """Return whether the system has the network of a variable; None: unknown."""
    networks = known_values("EC523", "networks").get(name)
    if networks is None:
        return True
    known = _networks(job.profile)
    return not known.isdisjoint(networks) if known else None


def _networks(profile: Profile | None) -> set[str]:
    """Return the networks and providers of libfabric that a profile expects."""
    expect = profile.expect if profile else None
    return {*expect.networks, expect.provider or ""} - {""} if expect else set()


@detects("EC524")
def cxi_coupling(job: ScriptJob) -> Iterator[Fault]:
    """Settings of Slingshot that only work together."""
    yield from _rendezvous_get(job)
    for assignment, value in values_of(job, "FI_MR_CACHE_MONITOR"):
        if value == "memhooks" and _uses_collectives(job):
            yield Fault(assignment.offset, {}, "memhooks")
    yield from _sizes(job)
    yield from _plugin(job)
    # A step on one node gets a network identifier only if the script requests it.
    if job.shape.nodes != 1 or not _is_slingshot(job):
        return
    if "single_node_vni" in _network(job):
        return
    for assignment, value in values_of(job, "NCCL_NET"):
        if value in ("AWS Libfabric", "OFI") and not assignment.context.is_chosen:
            yield Fault(assignment.offset, {"value": value}, "one-node")


def _sizes(job: ScriptJob) -> Iterator[Fault]:
    """Yield rendezvous sizes of 0 that are set for only some kinds of messages."""
    sizes = {name: values_of(job, name) for name in _SIZES}
    zero = [values[-1] for values in sizes.values() if values and values[-1][1] == "0"]
    lacking = [name for name, values in sizes.items() if not values]
    if zero and lacking and _uses_collectives(job):
        words = {"name": zero[0][0].name, "lacking": ", ".join(lacking)}
        yield Fault(
            zero[0][0].offset, words, "sizes", "note" if job.model.opaque else "warning"
        )


def _plugin(job: ScriptJob) -> Iterator[Fault]:
    """Yield a loaded plugin that is not the forced network."""
    nets = {value for _, value in values_of(job, "NCCL_NET") if value}
    for assignment, value in values_of(job, "NCCL_NET_PLUGIN"):
        if assignment.context.is_chosen or value is None or len(nets) != 1:
            continue
        net = next(iter(nets))
        none, own = value == "none", net in ("Socket", "IB", "socket", "ib")
        # Other plugins have unknown names, which may fit any network.
        if none != own and (none or re.search(r"ofi|libfabric|librccl-net", value)):
            yield Fault(
                assignment.offset, {"value": value or "''", "net": net}, "plugin"
            )


def _rendezvous_get(job: ScriptJob) -> Iterator[Fault]:
    protocols = values_of(job, "FI_CXI_RDZV_PROTO")
    assignments = [assignment for assignment, value in protocols if value == "alt_read"]
    if not assignments or job.model.scope == "unknown" or job.model.is_dump:
        return
    if "disable_rdzv_get" in _network(job):
        return
    started = steps(job.model)
    is_unsure = any(s.is_open for s in started) or assignments[0].context.is_chosen
    # A scheduler without this option may have another one.
    known = option_table(job.model.scheduler).reader.options
    is_unsure |= not started or "--network" not in known
    yield Fault(assignments[0].offset, severity="note" if is_unsure else None)


def _network(job: ScriptJob) -> str:
    """Return all network options of sbatch and srun."""
    networks = [d.value or "" for d in job.model.directives if d.name == "network"]
    words = [c.options.get("network") for c in job.model.commands if c.is_step]
    networks += [word.shown for word in words if word]
    for name in ("SLURM_NETWORK", "SBATCH_NETWORK"):
        # An unknown value becomes "?", which matches no option.
        networks += [value or "?" for _, value in values_of(job, name)]
    return " ".join(networks)


def _is_slingshot(job: ScriptJob) -> bool:
    if job.profile is not None and _has_slingshot(job.profile):
        return True
    values = [value or "" for _, value in values_of(job, "NCCL_SOCKET_IFNAME")]
    names = inner_names(job.model)
    return any(map(_ON_SLINGSHOT.match, names)) or any("hsn" in v for v in values)


@detects("EC522")
def other_fabric(job: ScriptJob) -> Iterator[Fault]:
    """Settings of a fabric that the system does not have."""
    tables, profile = known_values("EC522", "foreign"), job.profile
    settings = dict(tables["anywhere"]) if most_nodes(job.model, job.shape) > 1 else {}
    names: tuple[str, ...] = ()
    provider, title = "", "a job of several nodes"
    if profile is not None:
        title = profile.name
        is_slingshot = _has_slingshot(profile)
        settings |= tables["on-slingshot" if is_slingshot else "elsewhere"]
        for network in _networks(profile):
            settings |= tables.get(network, {})
        if expect := profile.expect:
            provider = expect.provider or ""
            # InfiniBand carries the data, whichever interface the ranks meet on.
            names = expect.interfaces if is_slingshot else ()
    for assignment in job.model.assignments:
        name, value = inner_name(assignment.name), assignment.literal or ""
        if assignment.value is None or assignment.context.is_chosen:
            continue
        words = {"name": name, "value": value, "profile": title}
        asks = name == "FI_PROVIDER" and re.fullmatch(r"[a-z;_,]+", value)
        if asks and provider not in value:
            yield Fault(assignment.offset, words)
        if name.endswith("SOCKET_IFNAME") and _leaves_out(names, value):
            yield Fault(assignment.offset, words, "interface")
        for pattern, severity in settings.items():
            if re.match(pattern, f"{name}={value}"):
                yield Fault(assignment.offset, words, "", severity)
                # One finding is enough, and the first pattern is the most specific.
                break


def _leaves_out(names: Sequence[str], value: str) -> bool:
    """Return whether a list of interfaces, or of beginnings, leaves out all of *names*."""
    parts = [part for part in value.lstrip("^=").split(",") if part]
    fits = [
        any(name.startswith(part) or part.startswith(name[:-1]) for part in parts)
        for name in names
    ]
    return bool(fits and parts) and (all(fits) if value[0] == "^" else not any(fits))


@detects("EC525")
def known_hang(job: ScriptJob) -> Iterator[Fault]:
    """A level of GPU RDMA that hangs jobs with this image on this system."""
    from envcfg.profile.version_conflicts import KnownJob as Facts
    from envcfg.profile.version_conflicts import known_faults, load_stacks

    if job.profile is None:
        return
    stacks = [stack for stack in load_stacks() if _LEVEL in {t.fact for t in stack.env}]
    provider = job.profile.expect.provider if job.profile.expect else None
    for facts in _images(job, job.profile):
        for assignment, value in values_of(job, _LEVEL):
            if value is None or assignment.context.is_chosen:
                continue
            known = Facts(facts, provider, job.profile.name, {_LEVEL: value})
            for fault in known_faults(known, stacks):
                words = {"value": value, "image": facts["container"]}
                words["instead"] = fault.fix or ""
                yield Fault(
                    assignment.offset,
                    words,
                    "known",
                    edit=_without_line(assignment, job),
                )


def _images(job: ScriptJob, profile: Profile) -> Iterator[dict[str, str]]:
    """Yield the facts in the names of the images, according to the profile."""
    nodes = {} if job.shape.nodes is None else {"nodes": str(job.shape.nodes)}
    for name in image_names(job):
        facts = {"container": name, **nodes}
        for name_fact in profile.image_facts or ():
            if match := re.search(name_fact.pattern, name):
                facts |= {
                    fact: text.format(**match.groupdict())
                    for fact, text in name_fact.facts.items()
                }
        yield facts


def _without_line(assignment: Assignment, job: ScriptJob) -> Edit | None:
    """Return an edit that deletes the line of an assignment if nothing else is on it."""
    before, line = (
        job.before(assignment.offset),
        job.around(assignment.offset).split("\n")[-1],
    )
    alone = re.fullmatch(rf"\s*(?:export\s+)?{assignment.name}=[\w\"']*\s*", line)
    # Other characters would make offsets in bytes and characters differ.
    if not alone or not line.isascii():
        return None
    begin = assignment.offset - len(before)
    return Edit(begin, begin + len(line) + 1, "")
