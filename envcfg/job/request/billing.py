"""The cost of a job by its profile's rule, in exact fractions; pure."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from envcfg.profile.scheduler_settings import Billing

_PLACES = 4


class JobUse(NamedTuple):
    """The resources of a job on all its nodes together, requested or granted."""

    nodes: int
    gpus: int
    cores: int | None = None
    memory: Fraction | None = None  # GiB; None if unknown, as for *cores*
    nvme: int = 0  # GiB of local disk
    partition: str | None = None  # its partition; None if unknown
    seconds: int | None = None
    jobs: int = 1  # the number of jobs of the array


class CostPart(NamedTuple):
    """The cost of one kind of resource."""

    resource: str  # `GPUs`, `cores`, `memory`, `local disk` or `whole nodes`
    amount: Fraction  # their amount, with memory and disk in GiB
    per_hour: Fraction  # units per hour
    # The equivalent number of GPUs, if the largest share is billed.
    shares: Fraction | None = None


class Cost(NamedTuple):
    """The cost of a job."""

    unit: str
    per_hour: Fraction  # units per hour of one job
    # Units for the requested time and all jobs of the array; None without a time.
    total: Fraction | None
    parts: tuple[CostPart, ...]
    decides: CostPart | None  # the part that determines the cost; None if parts add up


def cost(billing: Billing, used: JobUse) -> Cost:
    """Return the cost of *used* by *billing*."""
    parts = _parts(billing, used)
    decides: CostPart | None
    if billing.charge == "sum" and parts[0].resource != "whole nodes":
        decides, per_hour = None, sum((part.per_hour for part in parts), Fraction(0))
    else:
        decides = max(parts, key=lambda part: part.per_hour)  # the first of equal ones
        per_hour = decides.per_hour
    total = None
    if used.seconds is not None:
        total = per_hour * used.seconds * used.jobs / 3600
    return Cost(billing.unit, per_hour, total, tuple(parts), decides)


def _parts(billing: Billing, used: JobUse) -> list[CostPart]:
    is_whole = used.partition in billing.whole_nodes or billing.per_gpu is None
    if is_whole and billing.per_node is not None:
        nodes = Fraction(used.nodes)
        return [CostPart("whole nodes", nodes, nodes * Fraction(billing.per_node))]
    per_gpu, gpus = Fraction(billing.per_gpu or 0), Fraction(used.gpus)
    parts = [CostPart("GPUs", gpus, gpus * per_gpu, gpus)]
    cores = None if used.cores is None else Fraction(used.cores)
    if billing.charge == "largest share":
        for label, amount, share in (
            ("cores", cores, billing.cores_per_share),
            ("memory", used.memory, billing.memory_per_share),
        ):
            if amount is not None and share:
                shares = amount / share
                if billing.whole_shares:
                    shares = Fraction(ceil(shares))
                parts.append(CostPart(label, amount, shares * per_gpu, shares))
    if billing.charge == "sum":
        for label, amount, price in (
            ("cores", cores, billing.per_core),
            ("memory", used.memory, billing.per_gib),
            ("local disk", Fraction(used.nvme), billing.per_nvme_gib),
        ):
            if amount and price is not None:
                parts.append(CostPart(label, amount, amount * Fraction(price)))
    return parts


def decimal_text(number: Fraction) -> str:
    """Return *number* as a decimal: exact if it has few digits, otherwise rounded."""
    rounded = round(number, _PLACES)
    full, rest = divmod(
        rounded.numerator * 10**_PLACES // rounded.denominator, 10**_PLACES
    )
    digits = f"{rest:0{_PLACES}}".rstrip("0")
    return f"{full}.{digits}" if digits else str(full)
