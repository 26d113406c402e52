"""What a request costs, in words: what is billed, what decides, what is wasted; pure."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from envcfg.datafile import finding_in
from envcfg.findings import Finding
from envcfg.profile.model import Profile
from envcfg.profile.scheduler import Billing
from envcfg.request.amounts import array_tasks, time_text
from envcfg.request.billing import Cost, Part, Used, cost, decimal_text
from envcfg.request.request import Request


def charge(profile: Profile, request: Request) -> tuple[Cost | None, list[Finding]]:
    """Return what *request* costs, None where the profile does not say, and the words."""
    used = _used(profile, request)
    if profile.billing is None:
        words = {"profile": profile.name}
        nothing = finding_in("request", "billing-unknown", "cost", **words)
        return None, [nothing, *_idle(profile, request)]
    found = cost(profile.billing, used)
    said = [_said(profile.billing, found, used)]
    wasted = list(_wasted(profile.billing, found, used))
    return found, [*said, *(wasted or _idle(profile, request))]


def _used(profile: Profile, request: Request) -> Used:
    shape, node = request.shape, profile.node
    gpus, cores, memory = shape.gpus, shape.cores, shape.memory
    if request.whole and node:  # the rest of the node is the job's too
        cores = node.cores_per_gpu and max(cores or 0, node.cores_per_gpu * node.gpus)
        memory = memory and memory // gpus * max(gpus, node.gpus)
        gpus = max(gpus, node.gpus)
    array = next(
        (each.value for each in request.lines if each.option == "--array"), None
    )
    return Used(
        nodes=shape.nodes,
        gpus=gpus * shape.nodes,
        cores=cores and cores * shape.nodes,
        memory=Fraction(memory * shape.nodes, 1024) if memory else None,
        nvme=shape.nvme * shape.nodes,
        partition=request.partition,
        seconds=request.seconds,
        jobs=array_tasks(array) if array else 1,
    )


def _said(billing: Billing, found: Cost, used: Used) -> Finding:
    message = f"{decimal_text(found.per_hour)} {found.unit} per hour"
    if found.total is not None and used.seconds is not None:
        times = f" x {used.jobs} jobs" if used.jobs > 1 else ""
        message += f", {decimal_text(found.total)} for {time_text(used.seconds)}{times}"
    if len(found.parts) == 1:
        message += f"; billed by {_amount(found.parts[0])}"
    elif found.decides:
        message += f"; {_amount(found.decides)} decide"
    else:
        listed = ", ".join(
            f"{_amount(part)} {decimal_text(part.per_hour)}" for part in found.parts
        )
        message += f"; per hour {listed}"
    if billing.is_old:
        message += f"; prices of {billing.reason.date}, which may have changed"
    words = {"message": message, "why": billing.reason.why}
    found_cost = finding_in("request", "cost", "cost", **words)
    return found_cost._replace(source=billing.reason.source)


def _amount(part: Part) -> str:
    if part.what == "whole nodes":
        return f"{part.amount} whole node{'s' * (part.amount > 1)}"
    unit = " GiB of" if part.what in {"memory", "local disk"} else ""
    return f"{decimal_text(part.amount)}{unit} {part.what}"


def _wasted(billing: Billing, found: Cost, used: Used) -> Iterator[Finding]:
    """Warn where something else than its GPUs makes a job dearer."""
    decides = found.decides
    gpus = next((part for part in found.parts if part.what == "GPUs"), None)
    if not decides or not gpus or decides is gpus:
        return
    if not (decides.shares and gpus.shares):
        return
    by_cores = decides.what == "cores"
    share = billing.cores_per_share if by_cores else billing.memory_per_share
    words = {
        "amount": _amount(decides),
        "shares": decimal_text(decides.shares),
        "gpus": used.gpus,
        "free": f"{(share or 0) * used.gpus} {'cores' if by_cores else 'GiB'}",
    }
    wasted = finding_in("request", "share-wasted", "cost", **words)
    yield wasted._replace(source=billing.reason.source)


def _idle(profile: Profile, request: Request) -> Iterator[Finding]:
    """Warn of GPUs that the job gets and does not use."""
    node, shape = profile.node, request.shape
    if request.whole and node and shape.gpus < node.gpus:
        where = f"partition {request.partition}" if request.partition else "the job"
        others = [
            name
            for name, each in profile.partitions.items()
            if each and not each.exclusive
        ]
        instead = ""
        if others and "--exclusive" not in {line.option for line in request.lines}:
            instead = f", or a partition that divides nodes: {', '.join(others)}"
        words = {"where": where, "all": node.gpus, "instead": instead}
        words["idle"] = node.gpus - shape.gpus
        idle = finding_in("request", "gpus-idle", "GPUs", **words)
        yield idle._replace(source=node.reason.source)
