"""The cost of a request in words: the billed amount, the deciding part, unused parts;
pure."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from envcfg.common.findings import Finding, finding_in
from envcfg.job.request.amounts import array_tasks, mebibytes, time_text
from envcfg.job.request.billing import Cost, CostPart, JobUse, cost, decimal_text
from envcfg.job.request.request import Request
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import Billing


class Shares(NamedTuple):
    """The amount of a resource that comes with some GPUs."""

    usable: int  # the amount for jobs, as the system recommends
    billed: int  # the amount at the price of the GPUs; the system keeps the difference


def charge(profile: Profile, request: Request) -> tuple[Cost | None, list[Finding]]:
    """Return the cost of *request* (None if the profile has no rule), and findings."""
    used = _used(profile, request)
    if profile.billing is None:
        words = {"profile": profile.name}
        nothing = finding_in("job/request", "billing-unknown", "cost", **words)
        return None, [nothing, *_idle(profile, request)]
    total_cost = cost(profile.billing, used)
    findings = [_cost_finding(profile.billing, total_cost, used)]
    wasted = list(_wasted(profile, profile.billing, total_cost, used))
    return total_cost, [*findings, *(wasted or _idle(profile, request))]


def _used(profile: Profile, request: Request) -> JobUse:
    shape, node = request.shape, profile.node
    gpus, cores, memory = shape.gpus, shape.cores, shape.memory
    if (
        request.whole_nodes and node
    ):  # the job also pays for the unused part of the node
        cores = node.cores_per_gpu and max(cores or 0, node.cores_per_gpu * node.gpus)
        memory = memory and memory // gpus * max(gpus, node.gpus)
        gpus = max(gpus, node.gpus)
    array = next(
        (line.value for line in request.lines if line.option == "--array"), None
    )
    return JobUse(
        nodes=shape.nodes,
        gpus=gpus * shape.nodes,
        cores=cores and cores * shape.nodes,
        memory=Fraction(memory * shape.nodes, 1024) if memory else None,
        nvme=shape.nvme * shape.nodes,
        partition=request.partition,
        seconds=request.seconds,
        jobs=array_tasks(array) if array else 1,
    )


def _cost_finding(billing: Billing, cost_found: Cost, used: JobUse) -> Finding:
    message = f"{decimal_text(cost_found.per_hour)} {cost_found.unit} per hour"
    if cost_found.total is not None and used.seconds is not None:
        times = f" x {used.jobs} jobs" if used.jobs > 1 else ""
        message += (
            f", {decimal_text(cost_found.total)} for {time_text(used.seconds)}{times}"
        )
    if len(cost_found.parts) == 1:
        message += f"; billed as {_amount(cost_found.parts[0])}"
    elif cost_found.decides:
        message += f"; {_amount(cost_found.decides)} decide"
    else:
        listed = ", ".join(
            f"{_amount(part)} {decimal_text(part.per_hour)}"
            for part in cost_found.parts
        )
        message += f"; per hour {listed}"
    if billing.is_old:
        message += f"; prices of {billing.reason.date}, which may have changed"
    words = {"message": message, "why": billing.reason.why}
    found_cost = finding_in("job/request", "cost", "cost", **words)
    return found_cost._replace(source=billing.reason.source)


def _amount(part: CostPart) -> str:
    if part.resource == "whole nodes":
        return f"{part.amount} whole node{'s' * (part.amount > 1)}"
    unit = " GiB of" if part.resource in {"memory", "local disk"} else ""
    return f"{decimal_text(part.amount)}{unit} {part.resource}"


def free_shares(profile: Profile, billing: Billing, gpus: int) -> dict[str, Shares]:
    """Return the cores and GiB of memory that *gpus* GPUs include at no extra cost."""
    node = profile.node
    cores, memory = node and node.cores_per_gpu, node and node.memory_per_gpu
    gib = mebibytes(memory) // 1024 if memory else None
    return {
        message: Shares(min(usable or billed, billed) * gpus, billed * gpus)
        for message, usable, billed in (
            ("cores", cores, billing.cores_per_share),
            ("memory", gib, billing.memory_per_share),
        )
        if billed
    }


def _wasted(
    profile: Profile, billing: Billing, cost_found: Cost, used: JobUse
) -> Iterator[Finding]:
    """Yield a warning if cores or memory make a job more expensive than its GPUs."""
    decides = cost_found.decides
    gpus = next((part for part in cost_found.parts if part.resource == "GPUs"), None)
    if not decides or not gpus or decides is gpus:
        return
    if not (decides.shares and gpus.shares):
        return
    free = free_shares(profile, billing, used.gpus)[decides.resource]
    words = {
        "amount": _amount(decides),
        "shares": decimal_text(decides.shares),
        "gpus": used.gpus,
        "unit": "cores" if decides.resource == "cores" else "GiB",
        **free._asdict(),
    }
    which = "" if free.usable == free.billed else "usable"
    wasted = finding_in("job/request", "share-wasted", "cost", which, **words)
    yield wasted._replace(source=billing.reason.source)


def _idle(profile: Profile, request: Request) -> Iterator[Finding]:
    """Warn of GPUs that the job gets but does not use."""
    node, shape = profile.node, request.shape
    if request.whole_nodes and node and shape.gpus < node.gpus:
        where = f"partition {request.partition}" if request.partition else "the job"
        rest = [
            name
            for name, partition in profile.partitions.items()
            if partition and not partition.exclusive
        ]
        instead = ""
        if rest and "--exclusive" not in {line.option for line in request.lines}:
            instead = f", or a partition that divides nodes: {', '.join(rest)}"
        words = {"where": where, "all": node.gpus, "instead": instead}
        words["idle"] = node.gpus - shape.gpus
        idle = finding_in("job/request", "gpus-idle", "GPUs", **words)
        yield idle._replace(source=node.reason.source)
