"""What a job costs by the rule of its profile, in exact fractions; pure."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from envcfg.profile.scheduler import Billing

_PLACES = 4


class Used(NamedTuple):
    """What a job holds on all of its nodes together, asked for or given to it.

    Attributes:
        memory: GiB; None where it is not known, as *cores*.
        nvme: GiB of local disk.
        partition: where it runs; None where nobody said.
        jobs: how many the array has.
    """

    nodes: int
    gpus: int
    cores: int | None = None
    memory: Fraction | None = None
    nvme: int = 0
    partition: str | None = None
    seconds: int | None = None
    jobs: int = 1


class Part(NamedTuple):
    """What one kind of resource comes to.

    Attributes:
        what: ``GPUs``, ``cores``, ``memory``, ``local disk`` or ``whole nodes``.
        amount: how many of them, memory and disk in GiB.
        per_hour: units per hour.
        shares: how many GPUs it counts as, where the largest share is billed.
    """

    what: str
    amount: Fraction
    per_hour: Fraction
    shares: Fraction | None = None


class Cost(NamedTuple):
    """What a job costs.

    Attributes:
        per_hour: units per hour of one job.
        total: units for the asked time and all jobs of the array; None without a time.
        parts: what was looked at.
        decides: the part that does; None where parts add up.
    """

    unit: str
    per_hour: Fraction
    total: Fraction | None
    parts: tuple[Part, ...]
    decides: Part | None


def cost(billing: Billing, used: Used) -> Cost:
    """Return what *used* costs by *billing*."""
    parts = _parts(billing, used)
    decides: Part | None
    if billing.charge == "sum" and parts[0].what != "whole nodes":
        decides, per_hour = None, sum((each.per_hour for each in parts), Fraction(0))
    else:
        decides = max(parts, key=lambda each: each.per_hour)  # of equals the first
        per_hour = decides.per_hour
    total = None
    if used.seconds is not None:
        total = per_hour * used.seconds * used.jobs / 3600
    return Cost(billing.unit, per_hour, total, tuple(parts), decides)


def _parts(billing: Billing, used: Used) -> list[Part]:
    is_whole = used.partition in billing.whole_nodes or billing.per_gpu is None
    if is_whole and billing.per_node is not None:
        nodes = Fraction(used.nodes)
        return [Part("whole nodes", nodes, nodes * Fraction(billing.per_node))]
    per_gpu, gpus = Fraction(billing.per_gpu or 0), Fraction(used.gpus)
    parts = [Part("GPUs", gpus, gpus * per_gpu, gpus)]
    cores = None if used.cores is None else Fraction(used.cores)
    if billing.charge == "largest share":
        for what, amount, share in (
            ("cores", cores, billing.cores_per_share),
            ("memory", used.memory, billing.memory_per_share),
        ):
            if amount is not None and share:
                shares = amount / share
                if billing.whole_shares:
                    shares = Fraction(ceil(shares))
                parts.append(Part(what, amount, shares * per_gpu, shares))
    if billing.charge == "sum":
        for what, amount, price in (
            ("cores", cores, billing.per_core),
            ("memory", used.memory, billing.per_gib),
            ("local disk", Fraction(used.nvme), billing.per_nvme_gib),
        ):
            if amount and price is not None:
                parts.append(Part(what, amount, amount * Fraction(price)))
    return parts


def decimal_text(number: Fraction) -> str:
    """Return *number* as a decimal: exact where it has few places, else rounded."""
    rounded = round(number, _PLACES)
    whole, rest = divmod(
        rounded.numerator * 10**_PLACES // rounded.denominator, 10**_PLACES
    )
    digits = f"{rest:0{_PLACES}}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
