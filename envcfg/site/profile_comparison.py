"""The values of a profile, compared with observations of its nodes and ranks; pure.

A node that reports nothing about a value neither confirms nor contradicts it.
"""

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from envcfg.backends.runtimes import runtime
from envcfg.common.characters import core_numbers
from envcfg.common.findings import Place
from envcfg.job.request.amounts import mebibytes, seconds
from envcfg.log.names import network_family, provider_family
from envcfg.profile.look.value_list import Value, ValueState, View
from envcfg.profile.profile_model import Profile
from envcfg.site.machine_facts import IN_MEMORY
from envcfg.site.observations import Observations

CONFIRMED, CONTRADICTED, NOT_SEEN = "confirmed", "contradicted", "not seen"
# Sections that describe the profile itself, or its prices.
_WORDS = frozenset("envcfg summary extends lifecycle verified run billing".split())
_WEAK = 0.7  # share of the expected bandwidth: the limit of the preflight's warning
Answer = tuple[bool | None, str]  # agreement, None: not seen; the observation
_UNSEEN: Answer = (None, "")
_EVERYWHERE = "on every node"


class Comparison(NamedTuple):
    """A value of a profile, and whether its system agrees."""

    section: str
    name: str
    value: str
    verdict: str  # `confirmed`, `contradicted` or `not seen`
    seen: str  # the actual value, or the evidence
    place: Place


def hold(view: View, observations: Observations) -> Iterator[Comparison]:
    """Yield each value of a profile that a system can confirm or contradict."""
    for value in view.values:
        # Some sections, such as the summary, cannot be observed on nodes.
        if value.section in _WORDS:
            continue
        key = value.section, value.name
        check = _CHECKS.get(".".join(key)) or _CHECKS.get(f"{value.section}.")
        is_so, text = _UNSEEN
        # A value whose condition does not hold here cannot be contradicted here.
        if (
            check
            and observations.nodes
            and value.state in (ValueState.HOLDS, ValueState.IN_JOB)
        ):
            is_so, text = check(view.profile, value, observations)
        verdict = {None: NOT_SEEN, True: CONFIRMED, False: CONTRADICTED}[is_so]
        yield Comparison(*key, value.text or "", verdict, text, value.place)


def _list(words: Collection[str]) -> str:
    return ", ".join(sorted(words)) or "nothing"


def _items(value: Value) -> list[str]:
    return (value.text or "").split(", ")


def _node(profile: Profile, value: Value, observations: Observations) -> Answer:
    """Judge the shape of a node; a GPU's share may be half, if cores are threads."""
    gpus, cores, memory = observations.shape
    number = profile.node.gpus if profile.node else 0
    if value.name == "gpus":
        return gpus == number if gpus else None, f"{gpus} in a node"
    share, amount, unit = mebibytes(value.text or ""), memory, "MiB"
    if value.name == "cores_per_gpu":
        share, amount, unit = int(value.text or 0), cores, "cores"
    # A scheduler that reports nothing does not contradict the profile.
    if not amount:
        return _UNSEEN
    text = f"{amount} {unit} in a node, {amount // number} for each GPU"
    # Sites reserve memory and cores for the system, so the profile may be lower,
    # down to half.
    stated = share if value.name == "memory_limit" else share * number
    return amount >= stated >= amount / 2, text


def _interfaces(_: Profile, value: Value, observations: Observations) -> Answer:
    """Judge names of interfaces, which are patterns among the signs of the system."""
    # An interface that is down still identifies the system, but cannot carry
    # traffic.
    is_sign = value.section == "detect"
    names_present = observations.everywhere("network") if is_sign else observations.up
    where = _EVERYWHERE if is_sign else f"up {_EVERYWHERE}"
    if lacking := [
        name for name in _items(value) if not fnmatch.filter(names_present, name)
    ]:
        return False, f"{_list(lacking)} not {where}; there are {_list(names_present)}"
    return True, where


def _name_list(_: Profile, value: Value, observations: Observations) -> Answer:
    """Judge prefixes of names, and complete names after ``=``, as NCCL does."""
    text = value.text or ""
    # An exclusion or a variable does not say which names must exist.
    if not text or text.startswith("^") or "$" in text:
        return _UNSEEN
    names_present = observations.up
    fits = [
        name in names_present
        if text[0] == "="
        else any(e.startswith(name) for e in names_present)
        for part in text.removeprefix("=").split(",")
        for name in [part.partition(":")[0]]
    ]
    return all(fits) or (
        # Some matching names are enough for NCCL, so a missing one is only unclear.
        None if any(fits) else False
    ), f"there are {_list(names_present)}"


def _called(_: Profile, value: Value, observations: Observations) -> Answer:
    """Judge the name of the cluster or of its scheduler."""
    name = "".join(observations.first(value.name.removesuffix("s"))[:1])
    fits = any(fnmatch.fnmatchcase(name, glob) for glob in _items(value))
    return (fits, name) if name else _UNSEEN


def _devices(_: Profile, value: Value, observations: Observations) -> Answer:
    counts = [row for row in observations.rows("device") if row[1] in _items(value)]
    # Each node must have answered for each device, or a missing one could go
    # unnoticed.
    if len(counts) < len(_items(value)) * len(observations.nodes):
        return _UNSEEN
    lacking = {name for count, name in counts if count == "0"}
    return (
        not lacking,
        f"not on every node: {_list(lacking)}" if lacking else _EVERYWHERE,
    )


def _bind(profile: Profile, value: Value, observations: Observations) -> Answer:
    mount = profile.binds[value.name]
    source = mount.bind.source if mount else ""
    answer = _devices(profile, value._replace(text=source), observations)
    # An optional bind may be absent on some nodes without a contradiction.
    return (None, answer[1]) if mount and mount.if_exists and not answer[0] else answer


def _partition(profile: Profile, value: Value, observations: Observations) -> Answer:
    """Judge the limits of a partition; a name unknown to Slurm may be a QOS."""
    partition, names = (
        profile.partitions[value.name],
        observations.job.get("partition", ()),
    )
    if partition is None or not names:
        return _UNSEEN
    rows = {row[0]: row[1:] for row in names}
    if value.name not in rows:
        return False, f"no such partition; there are {_list(rows)}"
    nodes, time, shared = rows[value.name]
    limits = (
        (partition.nodes, nodes),
        (
            partition.time and seconds(partition.time),
            time if time == "-" else seconds(time),
        ),
        ({True: "exclusive", False: "shared"}.get(partition.exclusive), shared),  # type: ignore[arg-type]
    )
    # Only limits of the profile are compared; it need not repeat all of Slurm's.
    pairs = [(str(mine), str(observed)) for mine, observed in limits if mine]
    is_so = [None if observed == "-" else mine == observed for mine, observed in pairs]
    text = f"nodes {nodes}, time {time}, {shared}"
    return (False if False in is_so else None if None in is_so else True), text


def _masks(_: Profile, value: Value, observations: Observations) -> Answer:
    """Judge masks by the CPUs next to the GPUs, in the driver's order of addresses."""
    cpus = core_numbers(
        "".join(row[0] for row in observations.nodes[0].get("cpus", ()))
    )
    near = [row[3] for row in observations.nodes[0].get("card", ())]
    # The bits are reversed, because CPU 0 is the last binary digit.
    bits = [bin(int(name, 16))[:1:-1] for name in _items(value)]
    masks = [
        {cpu for cpu, bit in enumerate(bits_of_rank) if bit == "1"}
        for bits_of_rank in bits
    ]
    # A mask beyond the node's CPUs is wrong, whatever the GPUs are.
    if cpus and (beyond := set().union(*masks) - cpus):
        return False, f"no CPU {min(beyond)}: a node has {len(cpus)}"
    # Without one entry per GPU, the order of masks cannot be compared.
    if len(near) != len(masks) or not all(map(core_numbers, near)):
        return None, f"a node has {len(cpus)} CPUs, and shows {len(near)} GPUs"
    for number, (mask, text) in enumerate(zip(masks, near, strict=True)):
        if not mask <= core_numbers(text):
            return False, f"next to GPU {number} are the CPUs {text}"
    return True, "each is next to its GPU"


def _attachment(profile: Profile, value: Value, observations: Observations) -> Answer:
    """Judge the NICs of GPUs by the nearest ones on the node, at the profile's buses."""
    table = profile.attachment
    rows = {
        row[1].partition(":")[2].partition(":")[0]: row
        for row in observations.nodes[0].get("attached", ())
    }
    if table is None or not set(table.buses) <= rows.keys() or not table.buses:
        return _UNSEEN
    if value.name == "buses":
        return True, "each has a GPU"
    near = [rows[bus][2].partition(" (")[0] for bus in table.buses]
    # Several NICs at equal distance leave the choice open.
    if any(name == "-" or " " in name for name in near):
        return _UNSEEN
    return tuple(near) == table.nics, ", ".join(near)


def _visibility(_: Profile, value: Value, observations: Observations) -> Answer:
    values = {
        row[0]
        for row in (*observations.job.get("visible", ()), *observations.rows("visible"))
    }
    return (value.text in values, f"set are {_list(values)}") if values else _UNSEEN


def _rendezvous(_: Profile, value: Value, observations: Observations) -> Answer:
    # Any address is enough: the ranks choose its version themselves.
    rows = [
        row for row in observations.rows("network") if row[:2] == (value.text, "up")
    ]
    good = [row for row in rows if row[2] != "-"]
    if len(good) < len(observations.nodes):
        return False, "has no address on every node"
    return True, f"up, with an address in {good[0][2]}"


def _scratch(_: Profile, value: Value, observations: Observations) -> Answer:
    rows = [row for row in observations.rows("folder") if row[0] == "scratch"]
    if len(rows) < len(observations.nodes):
        return _UNSEEN
    kinds = {row[4] for row in rows}
    # "-" means that a node could not tell its file system.
    if value.name == "in_memory":
        is_so = bool(kinds & IN_MEMORY) == (value.text == "true")
        return None if "-" in kinds else is_so, f"its file system is {_list(kinds)}"
    if any(row[2] == "no" for row in rows):
        return False, "takes no file on a node"
    # A folder that was not tried is neither confirmed nor contradicted.
    is_tried = all(row[2] == "yes" for row in rows)
    return is_tried or None, f"written at {rows[0][5]} MB/s; {_list(kinds)}"


def _runtimes(_: Profile, value: Value, observations: Observations) -> Answer:
    names_present = observations.everywhere("runtime")
    # Runtimes without a program, such as plug-ins of srun, are not on PATH.
    programs = {name for name in _items(value) if runtime(name).program}
    text = f"on PATH of every node: {_list(names_present)}"
    return (bool(names_present & programs), text) if programs else _UNSEEN


def _log(_: Profile, value: Value, observations: Observations) -> Answer:
    """Judge the requirements on NCCL's log by the log of the collective."""
    kind = "carried" if value.name == "networks" else value.name
    names_present = {row[0] for row in observations.job.get(kind, ())} - {"unknown"}
    # One node alone does not use the network between nodes.
    if not names_present or len(observations.nodes) == 1:
        return _UNSEEN
    if value.name == "gdr":
        return names_present == {"yes" if value.text == "true" else "no"}, _list(
            names_present
        )
    of = network_family if kind == "carried" else provider_family
    return set(map(of, names_present)) <= set(map(of, _items(value))), _list(
        names_present
    )


def _bandwidth(_: Profile, value: Value, observations: Observations) -> Answer:
    by, several = observations.first("collective"), len(observations.nodes) > 1
    # A smaller number of ranks measures something else.
    ranks = str(
        observations.shape[0] * len(observations.nodes)
    )  # else it is not that of whole nodes
    if not (observations.best and several) or (by[0], by[3]) != ("nccl", ranks):
        # Measurements vary, so a lower value than expected still confirms.
        return _UNSEEN
    best = float(observations.best[2])
    return best >= _WEAK * int(value.text or 0), f"{best:.1f} GB/s"


def _nics(profile: Profile, value: Value, observations: Observations) -> Answer:
    names = set(profile.node.nics if profile.node else ())
    # Names from the profile are counted first; adapters include others, such as for
    # storage.
    counts = {str(len(node & names)) for node in observations.working} - {"0"}
    counts = counts or {
        str(len(node.get("adapter", ()))) for node in observations.nodes
    } - {"0"}
    return (counts == {value.text}, _list(counts)) if counts else _UNSEEN


_Check = Callable[[Profile, Value, Observations], Answer]
# Keys are section and name; without a name, the check is for all values of the
# section.
_KEYS: Mapping[_Check, str] = {
    _node: "node.gpus node.cores_per_gpu node.memory_per_gpu node.memory_limit",
    _called: "detect.clusters request.scheduler",
    _interfaces: "detect.interfaces expect.interfaces node.nics",
    _devices: "detect.devices expect.devices",
    _log: "expect.networks expect.provider expect.gdr",
    _scratch: "scratch.root scratch.in_memory",
    _name_list: "env.NCCL_SOCKET_IFNAME env.GLOO_SOCKET_IFNAME env.TP_SOCKET_IFNAME "
    "env.NCCL_IB_HCA",
    _partition: "partitions.",
    _masks: "cpu_masks.masks",
    _attachment: "attachment.nics attachment.buses",
    _visibility: "visibility.variable",
    _rendezvous: "rendezvous.interface",
    _runtimes: "runtimes.",
    _bind: "binds.",
    _nics: "expect.nics",
    _bandwidth: "expect.bandwidth",
}
_CHECKS = {key: check for check, keys in _KEYS.items() for key in keys.split()}
