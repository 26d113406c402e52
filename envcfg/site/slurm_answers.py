"""The answers of Slurm's commands; unreadable parts are left out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from envcfg.common.characters import split_lines, whole_number
from envcfg.site.machine_facts import NodeGroup, SeenPartition, maker_of

_PAIR = re.compile(r"(?:^| )([A-Za-z]\w*)=(\S*)")
# This precedes the reason why a node is down, which may be any text.
_NODE = re.compile(r" (?:Reason|Comment|Extra)=.*")
_GPU = re.compile(r"(?:^|,)gpu(?::(?P<kind>[^:,()]+))?:(?P<number>\d{1,4})(?=[,(]|$)")
_TIME = re.compile(r"(?=.*[1-9])([0-9]{1,4}-)?[0-9]{1,3}(:[0-9]{2}){0,2}")
_CONFIG = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)
_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_FEATURE = re.compile(r"(?!\(null\))[A-Za-z0-9_.:+-]{1,100}")
_RESOURCES = {"cpu": "cpu", "mem": "mem", "gres/gpu": "gpu"}


def bar_rows(text: str, size: int) -> list[list[str]]:
    """Return the lines of *size* fields between bars; others are messages of a site."""
    rows = (line.split("|") for line in split_lines(text))
    return [row for row in rows if len(row) == size]


def read_config(text: str) -> dict[str, str]:
    """Return the output of ``scontrol show config``, by key."""
    return dict(_CONFIG.findall(text))


def read_partitions(text: str) -> list[SeenPartition]:
    """Return the output of ``scontrol show partition --oneliner``, in its order."""
    seen_partitions = []
    for line in split_lines(text):
        values = dict(_PAIR.findall(line))
        if name := values.get("PartitionName"):
            time = values.get("MaxTime", "")
            seen_partitions.append(
                SeenPartition(
                    name=name,
                    nodes=_least(values.get("MaxNodes"), values.get("TotalNodes")),
                    time=time if _TIME.fullmatch(time) else None,
                    is_exclusive=values.get("OverSubscribe") == "EXCLUSIVE",
                    is_default=values.get("Default") == "YES",
                    is_up=values.get("State", "UP") == "UP",
                    weights=dict(_weights(values.get("TRESBillingWeights", ""))),
                    qos=values.get("QoS", ""),
                )
            )
    return seen_partitions


def _least(*texts: str | None) -> int | None:
    """Return the smallest number among *texts*; words such as UNLIMITED are none."""
    numbers = (whole_number(text or "") for text in texts)
    return min(filter(None, numbers), default=None)


def read_shapes(text: str) -> Iterator[tuple[str, NodeGroup]]:
    """Yield each node of each partition, from ``scontrol show node --oneliner``."""
    for line in split_lines(text):
        values = dict(_PAIR.findall(_NODE.sub("", line)))
        cpus, usable, memory, reserved, sockets = (
            whole_number(values.get(key, "")) or 0
            for key in "CPUTot CPUEfctv RealMemory MemSpecLimit Sockets".split()
        )
        if not (cpus and memory):
            continue
        matches = _GPU.finditer(values.get("Gres", ""))
        gpus = [(match["kind"], int(match["number"])) for match in matches]
        features = values.get("AvailableFeatures", "").split(",")
        types = [kind for kind, _ in gpus if kind]
        kinds = types or filter(maker_of, features)
        shape = NodeGroup(
            number=1,
            gpus=sum(number for _, number in gpus),
            kinds=tuple(dict.fromkeys(kinds)) if gpus else (),
            cores=usable or cpus,
            memory=max(memory - reserved, 1),
            sockets=sockets,
            features=tuple(filter(_FEATURE.fullmatch, features)),
            is_typed=bool(types),
        )
        for name in filter(None, values.get("Partitions", "").split(",")):
            yield name, shape


def read_accounts(text: str, cluster: str) -> tuple[str, ...]:
    """Return the accounts in ``sacctmgr show user withassoc``, the default first.

    Args:
        text: lines of the default account, an account and its cluster, separated by a
            bar.
        cluster: the cluster of the accounts.
    """
    mine = [row for row in bar_rows(text, 3) if row[2] == cluster]
    names = [*(row[0] for row in mine), *(row[1] for row in mine)]
    return tuple(dict.fromkeys(filter(_ACCOUNT.fullmatch, names)))


def _weights(text: str) -> Iterator[tuple[str, str]]:
    """Yield the billing weight of each resource; GPU types only if there is no total."""
    for part in text.split(","):
        resource, _, weight = part.partition("=")
        plain = resource.lower()
        if plain in _RESOURCES and weight:
            yield _RESOURCES[plain], weight
        elif (
            plain.startswith("gres/gpu:") and weight and "gres/gpu=" not in text.lower()
        ):
            yield "gpu", weight


# GiB per unit.
_UNITS = {
    "K": Decimal(1 << 20),
    "M": Decimal(1 << 10),
    "G": Decimal(1),
    "T": Decimal(1) / 1024,
}
_PLACES = Decimal("0.000001")


def amounts(weights: Mapping[str, str]) -> Iterator[tuple[str, Decimal]]:
    """Yield the billing weight of each resource: per GPU, core, GiB."""
    for resource, weight in weights.items():
        unit = weight[-1:].upper()
        try:
            number = Decimal(weight[:-1] if unit in _UNITS else weight)
        except InvalidOperation:
            continue
        if not number.is_finite() or not 0 < number < 1_000_000:
            continue
        # Without a unit, the weight of memory is per MiB.
        factor = (
            _UNITS[unit if unit in _UNITS else "M"] if resource == "mem" else Decimal(1)
        )
        yield resource, number * factor


def sums(amounts: Mapping[str, Decimal]) -> Iterator[tuple[str, str]]:
    """Yield the price keys of a profile with their values, for bills that sum resources."""
    for resource, key in (("gpu", "per_gpu"), ("cpu", "per_core"), ("mem", "per_gib")):
        if resource in amounts:
            yield key, _amount(amounts[resource])


def largest_shares(amounts: Mapping[str, Decimal]) -> Sequence[tuple[str, str]]:
    """Return the price keys for bills by the largest share; empty for uneven shares."""
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
