"""What Slurm's commands say of a cluster and its bill; what cannot be read is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from envcfg.characters import whole_number
from envcfg.profile.site.model import SeenPartition, Shape, maker_of

_PAIR = re.compile(r"(?:^| )([A-Za-z]\w*)=(\S*)")
# In front of the reason for which a node is out of order, which may say anything.
_NODE = re.compile(r" (?:Reason|Comment|Extra)=.*")
_GPU = re.compile(r"(?:^|,)gpu(?::(?P<kind>[^:,()]+))?:(?P<number>\d{1,4})(?=[,(]|$)")
_TIME = re.compile(r"(?=.*[1-9])([0-9]{1,4}-)?[0-9]{1,3}(:[0-9]{2}){0,2}")
_CONFIG = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)
_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_RESOURCES = {"cpu": "cpu", "mem": "mem", "gres/gpu": "gpu"}


def read_config(text: str) -> dict[str, str]:
    """Return what ``scontrol show config`` says, by key."""
    return dict(_CONFIG.findall(text))


def read_partitions(text: str) -> list[SeenPartition]:
    """Return what ``scontrol show partition --oneliner`` says, in its order."""
    found = []
    for line in text.splitlines():
        said = dict(_PAIR.findall(line))
        if name := said.get("PartitionName"):
            time = said.get("MaxTime", "")
            found.append(
                SeenPartition(
                    name=name,
                    nodes=whole_number(said.get("MaxNodes", "")),
                    time=time if _TIME.fullmatch(time) else None,
                    is_exclusive=said.get("OverSubscribe") == "EXCLUSIVE",
                    is_default=said.get("Default") == "YES",
                    is_up=said.get("State", "UP") == "UP",
                    weights=dict(_weights(said.get("TRESBillingWeights", ""))),
                    qos=said.get("QoS", ""),
                )
            )
    return found


def read_shapes(text: str) -> Iterator[tuple[str, Shape]]:
    """Yield each node of each partition, by ``scontrol show node --oneliner``."""
    for line in text.splitlines():
        said = dict(_PAIR.findall(_NODE.sub("", line)))
        cpus, usable, memory, kept, sockets = (
            whole_number(said.get(key, "")) or 0
            for key in "CPUTot CPUEfctv RealMemory MemSpecLimit Sockets".split()
        )
        if not (cpus and memory):
            continue
        found = _GPU.finditer(said.get("Gres", ""))
        gpus = [(each["kind"], int(each["number"])) for each in found]
        features = said.get("AvailableFeatures", "").split(",")
        kinds = [kind for kind, _ in gpus if kind] or filter(maker_of, features)
        shape = Shape(
            number=1,
            gpus=sum(number for _, number in gpus),
            kinds=tuple(dict.fromkeys(kinds)) if gpus else (),
            cores=usable or cpus,
            memory=max(memory - kept, 1),
            sockets=sockets,
        )
        for name in filter(None, said.get("Partitions", "").split(",")):
            yield name, shape


def read_accounts(text: str, cluster: str) -> tuple[str, ...]:
    """Return the accounts that ``sacctmgr show user withassoc`` has, the default first.

    Args:
        text: lines of the default account, an account and its cluster, divided by a bar.
        cluster: only its accounts are meant.
    """
    rows = [line.split("|") for line in text.splitlines()]
    mine = [row for row in rows if len(row) == 3 and row[2] == cluster]
    names = [*(row[0] for row in mine), *(row[1] for row in mine)]
    return tuple(dict.fromkeys(filter(_ACCOUNT.fullmatch, names)))


def _weights(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is billed of each resource; kinds of GPUs only where there is no whole."""
    for each in text.split(","):
        resource, _, weight = each.partition("=")
        plain = resource.lower()
        if plain in _RESOURCES and weight:
            yield _RESOURCES[plain], weight
        elif (
            plain.startswith("gres/gpu:") and weight and "gres/gpu=" not in text.lower()
        ):
            yield "gpu", weight


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
