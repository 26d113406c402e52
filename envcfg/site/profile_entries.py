"""Write the entries of a profile, as YAML, from the answers of a machine.

Each entry states its source and the points to check. A machine's answer is data: it
becomes a scalar or a one-line comment, or is left out if no profile accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.backends.schedulers.scheduler import words
from envcfg.backends.starters import STARTERS
from envcfg.profile.words import quote_comment
from envcfg.site.machine_facts import (
    IN_MEMORY,
    NodeGroup,
    SeenPartition,
    Site,
    has_network,
    main_shape,
)
from envcfg.site.slurm_answers import amounts, largest_shares, sums

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")  # a partition's name in a profile
_MODULE = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./+:@~=-]*")
# Only these words are safe without quotes in YAML, except the reserved ones.
_PLAIN = re.compile(r"--?[A-Za-z][A-Za-z-]*|[A-Za-z_][A-Za-z0-9_./-]*|[1-9][0-9]{0,8}")
_RESERVED = frozenset("null true false yes no on off y n".split())
_LONG = 200  # characters of a word
_MOST = 30  # partitions

Entries = Iterator[str]


class Draft:
    """The entries for one machine; a section without facts has no text."""

    def __init__(self, site: Site, *, claimed_by: str | None, today: str) -> None:
        """Write for *site*; *claimed_by*: a profile that already matches its cluster's
        name."""
        self.site = site
        self.claimed_by = claimed_by
        self.today = today
        self.shape = main_shape(site)

    def sections(self) -> dict[str, str]:
        """Return the text of each section for which the machine has facts."""
        # The order is that of the sections in a profile.
        sections = {
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
            name: "".join(f"{line}\n" for line in entries)
            for name, entries in sections.items()
        }
        # An empty section would only make the draft longer.
        return {name: text for name, text in texts.items() if text}

    def _detect(self) -> Entries:
        if not self.site.cluster:
            return
        lines = [
            "# By what the system is known: its scheduler's name for it.",
            "detect:",
            f"  clusters: [{scalar(self.site.cluster)}]",
        ]
        # Two profiles with the same cluster make the detection fail, so the entry
        # is a comment.
        if self.claimed_by:
            yield f"# {self.claimed_by} takes this cluster already; two that do so fail."
            yield from (f"# {line.removeprefix('# ')}" for line in lines)
        else:
            yield from lines

    def _launch(self) -> Entries:
        name, masks = self.site.scheduler, self.site.masks
        is_own = name in STARTERS  # Slurm's launcher is in the family
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
        # A login node often has no GPUs, and the scheduler may not report them.
        if not shape:
            if self.site.scheduler:
                yield "# No node with GPUs was seen: --gpus-per-node, --cpus-per-gpu and"
                yield "# --mem-per-gpu of envcfg job say what a job needs."
            return
        yield "# The nodes with GPUs that are the default partition's, or else the most."
        yield "# Check: what is kept for the system, and which cores are near a GPU."
        yield from self._other_shapes(shape)
        yield "node:"
        # The memory is divided by the GPUs, because profiles give memory per GPU.
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
            self._source_command("nodes"),
            gpus=shape.gpus,
            cores_per_gpu=shape.cores // shape.gpus,
            memory_per_gpu=memory and f"{memory}M",
            nics=nics and f"[{_list(nics)}]",
        )

    def _other_shapes(self, shape: NodeGroup) -> Entries:
        names_of_shapes = {
            alternative: partition.name
            for partition in self.site.partitions
            for alternative in partition.shapes
            if alternative.gpus
            # The number of nodes differs between queues of the same nodes, so it is
            # ignored.
            and alternative._replace(number=0) != shape._replace(number=0)
        }
        for alternative, name in list(names_of_shapes.items())[:_MOST]:
            kinds = f" {'+'.join(alternative.kinds)}" if alternative.kinds else ""
            yield _comment(
                f"Other nodes, in {name}: {alternative.gpus}{kinds}, "
                f"{alternative.cores} cores"
            )
        # Kinds cannot be separated in a profile, so a person must decide.
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
        # Without a question for GPUs, the source is only the presence of the
        # command.
        path = f"what is on PATH of {site.host}"
        source = self._source_command("cluster_command") if site.gpus else path
        lines, why = {"scheduler": site.scheduler}, "how this cluster asks for GPUs"
        yield from self._entry(2, why, source, **lines, gpus=site.gpus)
        seen_partitions = self._partitions()
        # Without a default, every job needs --partition, so the draft requires the
        # largest one.
        if seen_partitions and not any(
            partition.is_default for partition in seen_partitions
        ):
            best = max(
                seen_partitions, key=lambda e: (_number(e), e.nodes or _number(e))
            )
            yield "  rules:"
            names = SCHEDULERS[site.scheduler].rule_names
            yield f"    {names.get('--partition', '--partition')}:"
            has_default = any(partition.is_default for partition in site.partitions)
            why = "the default has no such nodes" if has_default else "none is default"
            why = f"{why}; this one has the most"
            command, default = self._source_command("queues"), scalar(best.name)
            yield "      rule: must"
            yield from self._entry(6, why, command, default=default)
        if seen_partitions:
            yield "  partitions:"
        for seen_partition in seen_partitions:
            yield f"    {scalar(seen_partition.name)}:"
            yield from self._entry(
                6,
                _nodes_of(seen_partition),
                self._source_command("queues"),
                nodes=seen_partition.nodes,
                time=seen_partition.time and scalar(seen_partition.time),
                exclusive=seen_partition.is_exclusive and "true",
            )
        # Such a name would break the YAML or the directive of a job.
        for seen_partition in site.partitions:
            if seen_partition.name and not _NAME.fullmatch(seen_partition.name):
                yield _comment(f"Left out, for its name: {seen_partition.name}", "  ")

    def _partitions(self) -> list[SeenPartition]:
        """Return the partitions with nodes of this profile and with names it may hold."""
        # Only partitions with the profile's nodes are listed; others would give wrong
        # limits.
        alike = self.shape and self.shape._replace(number=0)
        seen_partitions = [
            partition
            for partition in self.site.partitions
            if partition.is_up and _NAME.fullmatch(partition.name)
            if not alike or alike in (e._replace(number=0) for e in partition.shapes)
        ]
        return seen_partitions[:_MOST]

    def _billing(self) -> Entries:
        weights = {
            partition.name: tuple(sorted(partition.weights.items()))
            for partition in self._partitions()
        }
        if not any(weights.values()):
            return
        # A profile has one price list, so differing weights are only shown.
        if len(set(weights.values())) > 1:
            yield "# TRESBillingWeights differ by partition, and a profile has one bill:"
            for name, weights_of_partition in weights.items():
                text = ", ".join(
                    f"{resource} {weight}" for resource, weight in weights_of_partition
                )
                yield _comment(f"  {name}: {text or 'nothing'}")
            return
        decimals = dict(amounts(dict(next(iter(weights.values())))))
        keys = list(
            largest_shares(decimals) if self.site.takes_most else sums(decimals)
        )
        # No key means that no weight is one that profiles can express.
        if not keys:
            yield "# TRESBillingWeights are none of the ways to bill that a profile has."
            return
        yield "# Check: the unit's name; what the centre charges may be something else."
        yield "billing:"
        # PriorityFlags decide whether Slurm bills the sum or the largest share.
        charge = "largest share" if self.site.takes_most else "sum"
        bill = {"unit": "billing hours", "charge": charge, **dict(keys)}
        why = "Slurm's weights of what is reserved, for each hour"
        source = f"{self._source_command('queues')}: TRESBillingWeights"
        yield from self._entry(2, why, source, **bill)

    def _modules(self) -> Entries:
        modules = [module for module in self.site.modules if _MODULE.fullmatch(module)]
        if not modules:
            return
        runtimes = [
            module for module in modules if module.split("/")[0] in _RUNTIME_MODULES
        ]
        # A runtime on PATH needs no module.
        needed = [] if self.site.runtimes else runtimes[:1]
        for name in modules[:_MOST]:
            if name not in needed:
                yield _comment(f"A module that may be wanted: {name}")
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
        # The root is always TMPDIR: a path of this user would be wrong for others.
        values = {"root": '"${TMPDIR:-/tmp}"'}
        why = f"256 MiB were written at {speed} MB/s; the file system is {kind}"
        in_memory = str(kind in IN_MEMORY).lower()
        yield from self._entry(2, why, "stat -f", **values, in_memory=in_memory)

    def _container(self) -> Entries:
        if not self.site.runtimes:
            return
        # On a login node, PATH may differ from that of compute nodes.
        check = "" if self.site.is_measured else " Check: that nodes have them;"
        yield _comment(f"On PATH of {self.site.host}.{check}")
        yield "# the first counts."
        yield "container:"
        yield f"  runtimes: [{_list(self.site.runtimes)}]"

    def _expect(self) -> Entries:
        # A login node often lacks the fast network, so its absence proves nothing.
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
        """Return the adapters of this machine that belong to the network between nodes."""
        links, names = self.site.adapters, self.site.interfaces
        # The order is from the most to the least specific kind of network.
        hsn = [name for name in names if re.fullmatch("hsn[0-9]+", name)]
        efa, ib = ([n for n in links if links[n] == e] for e in ("EFA", "InfiniBand"))
        return hsn or efa or ib

    def _source_command(self, subject: str) -> str:
        """Return the command that answered this field of the scheduler's record."""
        return words(getattr(SCHEDULERS.get(self.site.scheduler or ""), subject, ()))

    def _entry(self, indent: int, why: str, source: str, **known: object) -> Entries:
        """Yield the known values with their source; the values are YAML already."""
        where = "measured here" if self.site.is_measured else f"on {self.site.host}"
        reason = {"why": scalar(why), "source": scalar(f"{source}, {where}")}
        # Falsy values are unknown facts, which the profile leaves out.
        for name, value in {**known, **reason, "date": self.today}.items():
            if value:
                yield f"{' ' * indent}{name}: {value}"


_RUNTIME_MODULES = frozenset(
    "apptainer singularity singularityce singularity-ce charliecloud podman".split()
)


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(scalar, names))


def _number(partition: SeenPartition) -> int:
    return sum(shape.number for shape in partition.shapes)


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

    # JSON strings are valid YAML, and need no choice of quotes.
    return json.dumps(_one_word(text), ensure_ascii=False)


def _one_word(text: str) -> str:
    """Return *text* with invisible characters escaped, and limited in length."""
    return quote_comment(text.encode("utf-8", "backslashreplace").decode())[:_LONG]


def _comment(text: str, indent: str = "") -> str:
    """Return *text* as a comment of one line."""
    return f"{indent}# {_one_word(text)}"
