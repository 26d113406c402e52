"""The entries of a profile that a machine's words make, as YAML.

Each says where it was read and what a person must check. What the machine says is data:
it ends as a scalar or in a comment of one line, or is left out where no profile takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envcfg.profile.site.model import (
    IN_MEMORY,
    SeenPartition,
    Shape,
    Site,
    has_network,
    main_shape,
)
from envcfg.profile.site.slurm import amounts, largest_shares, sums
from envcfg.profile.words import quote_comment
from envcfg.schedulers import SCHEDULERS
from envcfg.schedulers.model import words
from envcfg.starters import STARTERS

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")  # as a profile takes a partition's
_MODULE = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./+:@~=-]*")
_PLAIN = re.compile(r"--?[A-Za-z][A-Za-z-]*|[A-Za-z_][A-Za-z0-9_./-]*|[1-9][0-9]{0,8}")
_RESERVED = frozenset("null true false yes no on off y n".split())
_LONG = 200  # characters of a word
_MOST = 30  # partitions

Entries = Iterator[str]


class Draft:
    """The entries for one machine; a section of which nothing is known has no text."""

    def __init__(self, site: Site, *, claimed_by: str | None, today: str) -> None:
        """Write for *site*; *claimed_by*: a profile that its cluster's name leads to."""
        self.site = site
        self.claimed_by = claimed_by
        self.today = today
        self.shape = main_shape(site)

    def sections(self) -> dict[str, str]:
        """Return the text of each section that the machine says something of."""
        made = {
            "detect": self._detect(),
            "launch": self._launch(),
            "node": self._node(),
            "request": self._request(),
            "billing": self._billing(),
            "modules": self._modules(),
            "scratch": self._scratch(),
            "container": self._container(),
            "expect": self._expect(),
        }
        texts = {
            name: "".join(f"{line}\n" for line in each) for name, each in made.items()
        }
        return {name: text for name, text in texts.items() if text}

    def _detect(self) -> Entries:
        if not self.site.cluster:
            return
        lines = [
            "# By what the system is known: its scheduler's name for it.",
            "detect:",
            f"  clusters: [{scalar(self.site.cluster)}]",
        ]
        if self.claimed_by:
            yield f"# {self.claimed_by} takes this cluster already; two that do so fail."
            yield from (f"# {line.removeprefix('# ')}" for line in lines)
        else:
            yield from lines

    def _launch(self) -> Entries:
        name, masks = self.site.scheduler, self.site.masks
        is_own = name in STARTERS  # Slurm's is the family's
        if is_own or masks:
            yield "launch:"
        if is_own and name:
            agents = "torchrun, " if STARTERS[name].starts_agents else ""
            yield f"  launchers: [{name}, {agents}local]"
        if masks:
            yield "  cpu_masks:"
            why = "the CPUs next to each GPU, shared out where GPUs have the same"
            listed = f"[{', '.join(masks)}]"
            yield from self._entry(4, why, "/sys/bus/pci/devices", masks=listed)

    def _node(self) -> Entries:
        shape = self.shape
        if not shape:
            if self.site.scheduler:
                yield "# No node with GPUs was seen: --gpus-per-node, --cpus-per-gpu and"
                yield "# --mem-per-gpu of envcfg job say what a job needs."
            return
        yield "# The nodes with GPUs that are the default partition's, or else the most."
        yield "# Check: what is kept for the system, and which cores are near a GPU."
        yield from self._other_shapes(shape)
        yield "node:"
        memory, nics = shape.memory // shape.gpus, self._fast()
        kinds = f" of kind {'+'.join(shape.kinds)}" if shape.kinds else ""
        plural = "" if shape.sockets == 1 else "s"
        sockets = f", {shape.sockets} socket{plural}" if shape.sockets else ""
        why = f"{shape.gpus} GPUs{kinds}, {shape.cores} cores{sockets}"
        why += f", {shape.memory} MiB" if shape.memory else ""
        why = f"{_one_word(why)} in a node, shared out by GPU"
        yield from self._entry(
            2,
            why,
            self._asked("nodes"),
            gpus=shape.gpus,
            cores_per_gpu=shape.cores // shape.gpus,
            memory_per_gpu=memory and f"{memory}M",
            nics=nics and f"[{_list(nics)}]",
        )

    def _other_shapes(self, shape: Shape) -> Entries:
        others = {
            other: each.name
            for each in self.site.partitions
            for other in each.shapes
            if other.gpus and other._replace(number=0) != shape._replace(number=0)
        }
        for other, name in list(others.items())[:_MOST]:
            kinds = f" {'+'.join(other.kinds)}" if other.kinds else ""
            yield _comment(
                f"Other nodes, in {name}: {other.gpus}{kinds}, {other.cores} cores"
            )
        if len(shape.kinds) > 1:
            yield _comment(
                f"Check: GPUs of several kinds in a node: {', '.join(shape.kinds)}"
            )

    def _request(self) -> Entries:
        site = self.site
        if site.scheduler is None:
            return
        yield "# How nodes are asked for. Check: what must be named (account, QOS ...),"
        yield "# and limits that are not of a queue, but of a QOS or a group."
        if site.accounts:
            yield _comment(
                "Your accounts, the default first: " + ", ".join(site.accounts)
            )
        yield "request:"
        path = f"what is on PATH of {site.host}"
        source = self._asked("cluster_command") if site.gpus else path
        known, why = {"scheduler": site.scheduler}, "how this cluster asks for GPUs"
        yield from self._entry(2, why, source, **known, gpus=site.gpus)
        taken = self._partitions()
        if taken and not any(each.is_default for each in taken):
            best = max(taken, key=lambda e: (_number(e), e.nodes or _number(e)))
            yield "  rules:"
            names = SCHEDULERS[site.scheduler].rule_names
            yield f"    {names.get('--partition', '--partition')}:"
            has_default = any(each.is_default for each in site.partitions)
            why = "the default has no such nodes" if has_default else "none is default"
            why = f"{why}; this one has the most"
            said, default = self._asked("queues"), scalar(best.name)
            yield "      rule: must"
            yield from self._entry(6, why, said, default=default)
        if taken:
            yield "  partitions:"
        for each in taken:
            yield f"    {scalar(each.name)}:"
            yield from self._entry(
                6,
                _nodes_of(each),
                self._asked("queues"),
                nodes=each.nodes,
                time=each.time and scalar(each.time),
                exclusive=each.is_exclusive and "true",
            )
        for each in site.partitions:
            if each.name and not _NAME.fullmatch(each.name):
                yield _comment(f"Left out, for its name: {each.name}", "  ")

    def _partitions(self) -> list[SeenPartition]:
        """Return those that are for the nodes of this profile, by names that it takes."""
        alike = self.shape and self.shape._replace(number=0)
        found = [
            each
            for each in self.site.partitions
            if each.is_up and _NAME.fullmatch(each.name)
            if not alike or alike in (e._replace(number=0) for e in each.shapes)
        ]
        return found[:_MOST]

    def _billing(self) -> Entries:
        weights = {
            each.name: tuple(sorted(each.weights.items()))
            for each in self._partitions()
        }
        if not any(weights.values()):
            return
        if len(set(weights.values())) > 1:
            yield "# TRESBillingWeights differ by partition, and a profile has one bill:"
            for name, each in weights.items():
                said = ", ".join(f"{resource} {weight}" for resource, weight in each)
                yield _comment(f"  {name}: {said or 'nothing'}")
            return
        found = dict(amounts(dict(next(iter(weights.values())))))
        keys = list(largest_shares(found) if self.site.takes_most else sums(found))
        if not keys:
            yield "# TRESBillingWeights are none of the ways to bill that a profile has."
            return
        yield "# Check: the unit's name; what the centre charges may be something else."
        yield "billing:"
        charge = "largest share" if self.site.takes_most else "sum"
        bill = {"unit": "billing hours", "charge": charge, **dict(keys)}
        why = "Slurm's weights of what is reserved, for each hour"
        source = f"{self._asked('queues')}: TRESBillingWeights"
        yield from self._entry(2, why, source, **bill)

    def _modules(self) -> Entries:
        found = [each for each in self.site.modules if _MODULE.fullmatch(each)]
        if not found:
            return
        runtimes = [each for each in found if each.split("/")[0] in _RUNTIME_MODULES]
        needed = [] if self.site.runtimes else runtimes[:1]
        for each in found[:_MOST]:
            if each not in needed:
                yield _comment(f"A module that may be wanted: {each}")
        if needed:
            yield "# Check: the version; without a runtime on PATH no container starts."
            yield "modules:"
            yield f"  {scalar(needed[0])}:"
            why = "it has the container runtime"
            yield from self._entry(4, why, "MODULEPATH", action="load")

    def _scratch(self) -> Entries:
        if self.site.scratch is None:
            return
        kind, speed = self.site.scratch
        yield "scratch:"
        known = {"root": '"${TMPDIR:-/tmp}"'}
        why = f"256 MiB were written at {speed} MB/s; the file system is {kind}"
        in_memory = str(kind in IN_MEMORY).lower()
        yield from self._entry(2, why, "stat -f", **known, in_memory=in_memory)

    def _container(self) -> Entries:
        if not self.site.runtimes:
            return
        check = "" if self.site.is_measured else " Check: that nodes have them;"
        yield _comment(f"On PATH of {self.site.host}.{check}")
        yield "# the first counts."
        yield "container:"
        yield f"  runtimes: [{_list(self.site.runtimes)}]"

    def _expect(self) -> Entries:
        if not has_network(self.site) and self.site.scheduler:
            yield _comment(f"No network between nodes was seen on {self.site.host}.")
            yield "# In a job, on a node with GPUs, envcfg profiles new NAME can read it."
            yield "expect: null"
        if not (fast := self._fast()):
            return
        yield "# What a job's log must show. Check: that nodes have what was seen here."
        yield "expect:"
        is_seen = fast[0] in self.site.interfaces
        yield from self._entry(
            2,
            f"the fast network of {_one_word(self.site.host)}",
            "/sys/class/net and /sys/class/infiniband",
            interfaces=is_seen and f"[{_list(fast)}]",
            nics=len(fast),
            bandwidth=self.site.bandwidth,
        )

    def _fast(self) -> list[str]:
        """Return the adapters of the network between nodes, as far as they are here."""
        links, names = self.site.adapters, self.site.interfaces
        hsn = [each for each in names if re.fullmatch("hsn[0-9]+", each)]
        efa, ib = ([n for n in links if links[n] == e] for e in ("EFA", "InfiniBand"))
        return hsn or efa or ib

    def _asked(self, what: str) -> str:
        """Return the command that said *what*, a field of the scheduler's record."""
        return words(getattr(SCHEDULERS.get(self.site.scheduler or ""), what, ()))

    def _entry(self, indent: int, why: str, source: str, **known: object) -> Entries:
        """Yield what is known, and who says so; the values are YAML already."""
        where = "measured here" if self.site.is_measured else f"on {self.site.host}"
        reason = {"why": scalar(why), "source": scalar(f"{source}, {where}")}
        for name, value in {**known, **reason, "date": self.today}.items():
            if value:
                yield f"{' ' * indent}{name}: {value}"


_RUNTIME_MODULES = frozenset(
    "apptainer singularity singularityce singularity-ce charliecloud podman".split()
)


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(scalar, names))


def _number(partition: SeenPartition) -> int:
    return sum(each.number for each in partition.shapes)


def _nodes_of(partition: SeenPartition) -> str:
    first = partition.shapes[0] if partition.shapes else None
    if not first:
        return "as it is shown"
    kinds = f" ({', '.join(first.kinds)})" if first.kinds else ""
    return _one_word(
        f"{_number(partition)} nodes, the first ones with {first.gpus} GPUs{kinds}"
    )


def scalar(text: str) -> str:
    """Return *text* as a scalar of YAML, on one line."""
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    import json

    return json.dumps(_one_word(text), ensure_ascii=False)


def _one_word(text: str) -> str:
    """Return *text* with all written out that would not show, and not too long."""
    return quote_comment(text.encode("utf-8", "backslashreplace").decode())[:_LONG]


def _comment(text: str, indent: str = "") -> str:
    """Return *text* as a comment of one line."""
    return f"{indent}# {_one_word(text)}"
