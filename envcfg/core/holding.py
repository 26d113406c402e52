"""The values of a profile, held against what nodes and ranks of its system have seen; pure.

What was seen are rows of words by kind (docs/probe.md). Who says nothing of a value has not
refuted it: it is not seen.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from envcfg.core.cores import cpus_of, judge_masks
from envcfg.findings import Place
from envcfg.log.names import network_family, provider_family
from envcfg.profile.look.view import State, Value, View
from envcfg.profile.model import Profile
from envcfg.profile.site.model import IN_MEMORY
from envcfg.request.amounts import mebibytes, seconds
from envcfg.runtimes import runtime

Facts = Mapping[str, tuple[tuple[str, ...], ...]]
CONFIRMED, CONTRADICTED, NOT_SEEN = "confirmed", "contradicted", "not seen"
# Sections that say something of the profile, or of money.
_WORDS = frozenset("envcfg summary extends lifecycle verified run billing".split())
_WEAK = 0.7  # of the expected bandwidth: as preflight warns
Answer = tuple[bool | None, str]  # whether it is so, None: not seen; and what was seen
_UNSEEN: Answer = (None, "")


class Seen(NamedTuple):
    """What was seen: of the job and its cluster, and of each of its nodes."""

    job: Facts
    nodes: tuple[Facts, ...]

    def rows(self, kind: str) -> list[tuple[str, ...]]:
        """Return the rows of all nodes."""
        return [row for node in self.nodes for row in node.get(kind, ())]

    def everywhere(self, kind: str) -> set[str]:
        """Return the first words of the rows that every node has."""
        found = [{row[0] for row in node.get(kind, ())} for node in self.nodes]
        return set.intersection(*found) if found else set()

    def first(self, kind: str) -> tuple[str, ...]:
        """Return the first row of the job; nothing where there is none."""
        return next(iter(self.job.get(kind, ())), ())

    @property
    def working(self) -> list[set[str]]:
        """Interfaces that are up and adapters that are not down, of each node."""
        return [
            {row[0] for row in node.get("network", ()) if row[1] == "up"}
            | {row[0] for row in node.get("adapter", ()) if row[2] in ("ACTIVE", "-")}
            for node in self.nodes
        ]

    @property
    def shape(self) -> tuple[int, int, int]:
        """GPUs, cores and memory (MiB) of a node, as the scheduler has them; 0: unknown."""
        if row := self.first("shape"):
            return int(row[1]), int(row[2]), int(row[3])
        gpus = next((int(row[1]) for row in self.rows("gpus")), 0)
        cores = next((len(cpus_of(row[0])) for row in self.rows("cpus")), 0)
        return gpus, cores, next((int(r[0]) >> 10 for r in self.rows("memory")), 0)


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
        check = _CHECKS.get(key) or _CHECKS.get((each.section, ""))
        answer = _UNSEEN
        if check and seen.nodes and each.state in (State.HOLDS, State.IN_JOB):
            answer = check(view.profile, each, seen)
        verdict = NOT_SEEN
        if answer[0] is not None:
            verdict = CONFIRMED if answer[0] else CONTRADICTED
        yield Held(*key, each.text or "", verdict, answer[1], each.place)


def _list(words: Collection[str]) -> str:
    return ", ".join(sorted(words)) or "nothing"


def _items(value: Value) -> list[str]:
    return (value.text or "").split(", ")


def _node(profile: Profile, value: Value, seen: Seen) -> Answer:
    """Judge the shape of a node; a GPU's share is all, or half where cores are threads."""
    gpus, cores, memory = seen.shape
    if value.name == "gpus":
        return gpus == int(value.text or 0) if gpus else None, f"{gpus} in a node"
    share, there, unit = mebibytes(value.text or ""), memory, "MiB"
    if value.name == "cores_per_gpu":
        share, there, unit = int(value.text or 0), cores, "cores"
    if not (there and profile.node):
        return _UNSEEN
    number = profile.node.gpus
    said = f"{there} {unit} in a node, {there // number} for each GPU"
    return there >= share * number >= there / 2, said


def _interfaces(_: Profile, value: Value, seen: Seen) -> Answer:
    there = set.intersection(*seen.working)
    if lacking := set(_items(value)) - there:
        return False, f"{_list(lacking)} not up on every node; there are {_list(there)}"
    return True, "up on every node"


def _name_list(_: Profile, value: Value, seen: Seen) -> Answer:
    """Judge beginnings of names, whole ones behind ``=``; NCCL takes those that fit."""
    text = value.text or ""
    if not text or text.startswith("^") or "$" in text:
        return _UNSEEN
    there = set.intersection(*seen.working)
    fits = [
        name in there if text[0] == "=" else any(e.startswith(name) for e in there)
        for each in text.removeprefix("=").split(",")
        for name in [each.partition(":")[0]]
    ]
    return all(fits) or (None if any(fits) else False), f"there are {_list(there)}"


def _clusters(_: Profile, value: Value, seen: Seen) -> Answer:
    name = "".join(seen.first("cluster"))
    fits = any(fnmatch.fnmatchcase(name, glob) for glob in _items(value))
    return (fits, name) if name else _UNSEEN


def _globs(_: Profile, value: Value, seen: Seen) -> Answer:
    there = seen.everywhere("network")
    lacking = [glob for glob in _items(value) if not fnmatch.filter(there, glob)]
    return not lacking, _list(there)


def _devices(_: Profile, value: Value, seen: Seen) -> Answer:
    counts = [row for row in seen.rows("device") if row[1] in _items(value)]
    if len(counts) < len(_items(value)) * len(seen.nodes):
        return _UNSEEN
    if lacking := {name for count, name in counts if count == "0"}:
        return False, f"not on every node: {_list(lacking)}"
    return True, "on every node"


def _bind(profile: Profile, value: Value, seen: Seen) -> Answer:
    mount = profile.binds[value.name]
    source = mount.bind.source if mount else ""
    there = _devices(profile, value._replace(text=source), seen)
    return (None, there[1]) if mount and mount.if_exists and not there[0] else there


def _scheduler(_: Profile, value: Value, seen: Seen) -> Answer:
    name = "".join(seen.first("scheduler")[:1])
    return (name == value.text, name) if name else _UNSEEN


def _partition(profile: Profile, value: Value, seen: Seen) -> Answer:
    """Judge the limits of a partition; one that Slurm does not have may be a QOS's."""
    wanted, known = profile.partitions[value.name], seen.job.get("partition", ())
    if wanted is None or not known:
        return _UNSEEN
    rows = {row[0]: row[1:] for row in known}
    if value.name not in rows:
        return False, f"no such partition; there are {_list(rows)}"
    nodes, time, shared = rows[value.name]
    limits = [(str(each), there) for each, there in ((wanted.nodes, nodes),) if each]
    if wanted.time:
        there = "-" if time == "-" else str(seconds(time))
        limits.append((str(seconds(wanted.time)), there))
    if wanted.exclusive is not None:
        limits.append(("exclusive" if wanted.exclusive else "shared", shared))
    is_so = [None if there == "-" else one == there for one, there in limits]
    said = f"nodes {nodes}, time {time}, {shared}"
    return (False if False in is_so else None if None in is_so else True), said


def _masks(_: Profile, value: Value, seen: Seen) -> Answer:
    online = "".join(row[0] for row in seen.nodes[0].get("cpus", ()))
    near = [row[3] for row in seen.nodes[0].get("card", ())]
    return judge_masks(_items(value), online, near)


def _visibility(_: Profile, value: Value, seen: Seen) -> Answer:
    given = {row[0] for row in (*seen.job.get("visible", ()), *seen.rows("visible"))}
    return (value.text in given, f"set are {_list(given)}") if given else _UNSEEN


def _rendezvous(_: Profile, value: Value, seen: Seen) -> Answer:
    rows = [row for row in seen.rows("network") if row[0] == value.text]
    good = [row for row in rows if row[1] == "up" and row[2] != "-"]
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
    by, gpus = seen.first("collective"), seen.shape[0]
    best = max((float(row[2]) for row in seen.job.get("sum", ())), default=0.0)
    ranks = gpus * len(seen.nodes)  # else it is not that of whole nodes
    if not best or len(seen.nodes) == 1 or (by[0], by[3]) != ("nccl", str(ranks)):
        return _UNSEEN
    return best >= _WEAK * int(value.text or 0), f"{best:.1f} GB/s"


def _nics(profile: Profile, value: Value, seen: Seen) -> Answer:
    names = set(profile.node.nics if profile.node else ())
    found = {len(node & names) for node in seen.working} - {0}
    found = found or {len(node.get("adapter", ())) for node in seen.nodes} - {0}
    is_so = found == {int(value.text or 0)}
    return (is_so, _list(set(map(str, found)))) if found else _UNSEEN


_LISTS = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "NCCL_IB_HCA")
_Check = Callable[[Profile, Value, Seen], Answer]
# By section and name; a section without a name is for all its values.
_CHECKS: Mapping[tuple[str, str], _Check] = {
    **{("node", name): _node for name in ("gpus", "cores_per_gpu", "memory_per_gpu")},
    ("detect", "clusters"): _clusters,
    ("detect", "interfaces"): _globs,
    ("detect", "devices"): _devices,
    **{("expect", name): _log for name in ("networks", "provider", "gdr")},
    **{("scratch", name): _scratch for name in ("root", "in_memory")},
    **{("env", name): _name_list for name in _LISTS},
    ("node", "nics"): _interfaces,
    ("request", "scheduler"): _scheduler,
    ("partitions", ""): _partition,
    ("cpu_masks", "masks"): _masks,
    ("visibility", "variable"): _visibility,
    ("rendezvous", "interface"): _rendezvous,
    ("runtimes", ""): _runtimes,
    ("binds", ""): _bind,
    ("expect", "interfaces"): _interfaces,
    ("expect", "devices"): _devices,
    ("expect", "nics"): _nics,
    ("expect", "bandwidth"): _bandwidth,
}
