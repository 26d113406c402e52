"""The values of a profile, held against what nodes and ranks of its system have seen; pure.

Who says nothing of a value has not refuted it: it is not seen.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from envcfg.core.seen import Seen, cpus_of
from envcfg.findings import Place
from envcfg.log.names import network_family, provider_family
from envcfg.profile.look.view import State, Value, View
from envcfg.profile.model import Profile
from envcfg.profile.site.model import IN_MEMORY
from envcfg.request.amounts import mebibytes, seconds
from envcfg.runtimes import runtime

CONFIRMED, CONTRADICTED, NOT_SEEN = "confirmed", "contradicted", "not seen"
# Sections that say something of the profile, or of money.
_WORDS = frozenset("envcfg summary extends lifecycle verified run billing".split())
_WEAK = 0.7  # of the expected bandwidth: as preflight warns
Answer = tuple[bool | None, str]  # whether it is so, None: not seen; and what was seen
_UNSEEN: Answer = (None, "")
_EVERYWHERE = "on every node"


class Held(NamedTuple):
    """A value of a profile, and whether it is so on its system.

    Attributes:
        verdict: ``confirmed``, ``contradicted`` or ``not seen``.
        seen: what is there instead, or what shows it.
        place: where the value stands.
    """

    section: str
    name: str
    value: str
    verdict: str
    seen: str
    place: Place


def hold(view: View, seen: Seen) -> Iterator[Held]:
    """Yield each value of a profile that a system can confirm or contradict."""
    for each in view.values:
        if each.section in _WORDS:
            continue
        key = each.section, each.name
        check = _CHECKS.get(".".join(key)) or _CHECKS.get(f"{each.section}.")
        is_so, said = _UNSEEN
        if check and seen.nodes and each.state in (State.HOLDS, State.IN_JOB):
            is_so, said = check(view.profile, each, seen)
        verdict = {None: NOT_SEEN, True: CONFIRMED, False: CONTRADICTED}[is_so]
        yield Held(*key, each.text or "", verdict, said, each.place)


def _list(words: Collection[str]) -> str:
    return ", ".join(sorted(words)) or "nothing"


def _items(value: Value) -> list[str]:
    return (value.text or "").split(", ")


def _node(profile: Profile, value: Value, seen: Seen) -> Answer:
    """Judge the shape of a node; a GPU's share is all, or half where cores are threads."""
    gpus, cores, memory = seen.shape
    number = profile.node.gpus if profile.node else 0
    if value.name == "gpus":
        return gpus == number if gpus else None, f"{gpus} in a node"
    share, there, unit = mebibytes(value.text or ""), memory, "MiB"
    if value.name == "cores_per_gpu":
        share, there, unit = int(value.text or 0), cores, "cores"
    if not there:
        return _UNSEEN
    said = f"{there} {unit} in a node, {there // number} for each GPU"
    return there >= share * number >= there / 2, said


def _interfaces(_: Profile, value: Value, seen: Seen) -> Answer:
    """Judge names; of those by which a system is detected, globs of what is there."""
    is_sign = value.section == "detect"
    there = seen.everywhere("network") if is_sign else seen.up
    where = _EVERYWHERE if is_sign else f"up {_EVERYWHERE}"
    if lacking := [each for each in _items(value) if not fnmatch.filter(there, each)]:
        return False, f"{_list(lacking)} not {where}; there are {_list(there)}"
    return True, where


def _name_list(_: Profile, value: Value, seen: Seen) -> Answer:
    """Judge beginnings of names, whole ones behind ``=``; NCCL takes those that fit."""
    text = value.text or ""
    if not text or text.startswith("^") or "$" in text:
        return _UNSEEN
    there = seen.up
    fits = [
        name in there if text[0] == "=" else any(e.startswith(name) for e in there)
        for each in text.removeprefix("=").split(",")
        for name in [each.partition(":")[0]]
    ]
    return all(fits) or (None if any(fits) else False), f"there are {_list(there)}"


def _called(_: Profile, value: Value, seen: Seen) -> Answer:
    """Judge the name of the cluster, or of its scheduler."""
    name = "".join(seen.first(value.name.removesuffix("s"))[:1])
    fits = any(fnmatch.fnmatchcase(name, glob) for glob in _items(value))
    return (fits, name) if name else _UNSEEN


def _devices(_: Profile, value: Value, seen: Seen) -> Answer:
    counts = [row for row in seen.rows("device") if row[1] in _items(value)]
    if len(counts) < len(_items(value)) * len(seen.nodes):
        return _UNSEEN
    lacking = {name for count, name in counts if count == "0"}
    return (
        not lacking,
        f"not on every node: {_list(lacking)}" if lacking else _EVERYWHERE,
    )


def _bind(profile: Profile, value: Value, seen: Seen) -> Answer:
    mount = profile.binds[value.name]
    source = mount.bind.source if mount else ""
    there = _devices(profile, value._replace(text=source), seen)
    return (None, there[1]) if mount and mount.if_exists and not there[0] else there


def _partition(profile: Profile, value: Value, seen: Seen) -> Answer:
    """Judge the limits of a partition; one that Slurm does not have may be a QOS's."""
    wanted, known = profile.partitions[value.name], seen.job.get("partition", ())
    if wanted is None or not known:
        return _UNSEEN
    rows = {row[0]: row[1:] for row in known}
    if value.name not in rows:
        return False, f"no such partition; there are {_list(rows)}"
    nodes, time, shared = rows[value.name]
    limits = (
        (wanted.nodes, nodes),
        (wanted.time and seconds(wanted.time), time if time == "-" else seconds(time)),
        ({True: "exclusive", False: "shared"}.get(wanted.exclusive), shared),  # type: ignore[arg-type]
    )
    pairs = [(str(mine), str(there)) for mine, there in limits if mine]
    is_so = [None if there == "-" else mine == there for mine, there in pairs]
    said = f"nodes {nodes}, time {time}, {shared}"
    return (False if False in is_so else None if None in is_so else True), said


def _masks(_: Profile, value: Value, seen: Seen) -> Answer:
    """Judge masks by the CPUs next to GPUs, in the order of addresses, as drivers have."""
    there = cpus_of("".join(row[0] for row in seen.nodes[0].get("cpus", ())))
    near = [row[3] for row in seen.nodes[0].get("card", ())]
    bits = [bin(int(each, 16))[:1:-1] for each in _items(value)]
    wanted = [{cpu for cpu, bit in enumerate(each) if bit == "1"} for each in bits]
    if there and (beyond := set().union(*wanted) - there):
        return False, f"no CPU {min(beyond)}: a node has {len(there)}"
    if len(near) != len(wanted) or not all(map(cpus_of, near)):
        return None, f"a node has {len(there)} CPUs, and shows {len(near)} GPUs"
    for number, (mask, text) in enumerate(zip(wanted, near, strict=True)):
        if not mask <= cpus_of(text):
            return False, f"next to GPU {number} are the CPUs {text}"
    return True, "each is next to its GPU"


def _visibility(_: Profile, value: Value, seen: Seen) -> Answer:
    given = {row[0] for row in (*seen.job.get("visible", ()), *seen.rows("visible"))}
    return (value.text in given, f"set are {_list(given)}") if given else _UNSEEN


def _rendezvous(_: Profile, value: Value, seen: Seen) -> Answer:
    rows = [row for row in seen.rows("network") if row[:2] == (value.text, "up")]
    good = [row for row in rows if row[2] != "-"]
    if len(good) < len(seen.nodes):
        return False, "has no address on every node"
    return True, f"up, with an address in {good[0][2]}"


def _scratch(_: Profile, value: Value, seen: Seen) -> Answer:
    rows = [row for row in seen.rows("folder") if row[0] == "scratch"]
    if len(rows) < len(seen.nodes):
        return _UNSEEN
    kinds = {row[4] for row in rows}
    if value.name == "in_memory":
        is_so = bool(kinds & IN_MEMORY) == (value.text == "true")
        return None if "-" in kinds else is_so, f"its file system is {_list(kinds)}"
    if any(row[2] == "no" for row in rows):
        return False, "takes no file on a node"
    is_tried = all(row[2] == "yes" for row in rows)
    return is_tried or None, f"written at {rows[0][5]} MB/s; {_list(kinds)}"


def _runtimes(_: Profile, value: Value, seen: Seen) -> Answer:
    there = seen.everywhere("runtime")
    programs = {each for each in _items(value) if runtime(each).program}
    said = f"on PATH of every node: {_list(there)}"
    return (bool(there & programs), said) if programs else _UNSEEN


def _log(_: Profile, value: Value, seen: Seen) -> Answer:
    """Judge what NCCL's log must show, by what that of the collective shows."""
    kind = "carried" if value.name == "networks" else value.name
    there = {row[0] for row in seen.job.get(kind, ())} - {"unknown"}
    if not there or len(seen.nodes) == 1:
        return _UNSEEN
    if value.name == "gdr":
        return there == {"yes" if value.text == "true" else "no"}, _list(there)
    of = network_family if kind == "carried" else provider_family
    return set(map(of, there)) <= set(map(of, _items(value))), _list(there)


def _bandwidth(_: Profile, value: Value, seen: Seen) -> Answer:
    by, several = seen.first("collective"), len(seen.nodes) > 1
    ranks = str(seen.shape[0] * len(seen.nodes))  # else it is not that of whole nodes
    if not (seen.best and several) or (by[0], by[3]) != ("nccl", ranks):
        return _UNSEEN
    best = float(seen.best[2])
    return best >= _WEAK * int(value.text or 0), f"{best:.1f} GB/s"


def _nics(profile: Profile, value: Value, seen: Seen) -> Answer:
    names = set(profile.node.nics if profile.node else ())
    found = {str(len(node & names)) for node in seen.working} - {"0"}
    found = found or {str(len(node.get("adapter", ()))) for node in seen.nodes} - {"0"}
    return (found == {value.text}, _list(found)) if found else _UNSEEN


_Check = Callable[[Profile, Value, Seen], Answer]
# By section and name; a section without a name is for all its values.
_KEYS: Mapping[_Check, str] = {
    _node: "node.gpus node.cores_per_gpu node.memory_per_gpu",
    _called: "detect.clusters request.scheduler",
    _interfaces: "detect.interfaces expect.interfaces node.nics",
    _devices: "detect.devices expect.devices",
    _log: "expect.networks expect.provider expect.gdr",
    _scratch: "scratch.root scratch.in_memory",
    _name_list: "env.NCCL_SOCKET_IFNAME env.GLOO_SOCKET_IFNAME env.TP_SOCKET_IFNAME "
    "env.NCCL_IB_HCA",
    _partition: "partitions.",
    _masks: "cpu_masks.masks",
    _visibility: "visibility.variable",
    _rendezvous: "rendezvous.interface",
    _runtimes: "runtimes.",
    _bind: "binds.",
    _nics: "expect.nics",
    _bandwidth: "expect.bandwidth",
}
_CHECKS = {key: check for check, keys in _KEYS.items() for key in keys.split()}
