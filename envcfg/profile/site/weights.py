"""What Slurm bills, by its weights, as the keys of a profile's billing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation

# GiB in each of the units.
_UNITS = {
    "K": Decimal(1 << 20),
    "M": Decimal(1 << 10),
    "G": Decimal(1),
    "T": Decimal(1) / 1024,
}
_PLACES = Decimal("0.000001")


def amounts(weights: Mapping[str, str]) -> Iterator[tuple[str, Decimal]]:
    """Yield what is billed of each resource: of a GPU, a core, a GiB."""
    for resource, weight in weights.items():
        unit = weight[-1:].upper()
        try:
            number = Decimal(weight[:-1] if unit in _UNITS else weight)
        except InvalidOperation:
            continue
        if not number.is_finite() or not 0 < number < 1_000_000:
            continue
        # Without a unit the memory's weight is for a MiB.
        factor = (
            _UNITS[unit if unit in _UNITS else "M"] if resource == "mem" else Decimal(1)
        )
        yield resource, number * factor


def sums(amounts: Mapping[str, Decimal]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a bill for all that is reserved."""
    for resource, key in (("gpu", "per_gpu"), ("cpu", "per_core"), ("mem", "per_gib")):
        if resource in amounts:
            yield key, _amount(amounts[resource])


def largest_shares(amounts: Mapping[str, Decimal]) -> Sequence[tuple[str, str]]:
    """Return the keys where cores and memory make whole shares of a GPU; else nothing."""
    if "gpu" not in amounts:
        return ()
    keys = [("per_gpu", _amount(amounts["gpu"]))]
    for resource, key in (("cpu", "cores_per_share"), ("mem", "memory_per_share")):
        if resource in amounts:
            share = amounts["gpu"] / amounts[resource]
            if share != share.to_integral_value() or not 0 < share < 1_000_000:
                return ()
            keys.append((key, str(int(share))))
    return keys


def _amount(number: Decimal) -> str:
    text = f"{number.quantize(_PLACES):f}"
    return text.rstrip("0").rstrip(".")
