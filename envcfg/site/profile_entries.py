"""Write the entries of a profile, as YAML, from the answers of a machine.

Each entry states its source and the points to check. A machine's answer is data: it
becomes a scalar or a one-line comment, or is left out if no profile accepts it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

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
_KINDS = 12  # kinds of nodes
_ALIKE = 1.25  # ratio of memories of nodes of one kind

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
        # The nodes of each kind with GPUs: the default kind first, and of each kind the
        # nodes with the least memory first.
        groups = _kinds(self._usable(), self.shape)
        self.kinds = {kind: shapes[0] for kind, shapes in groups.items()}
        self.kind_of = {e: kind for kind, shapes in groups.items() for e in shapes}
        self.is_mixed = len(self.kinds) > 1

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
            "nodes": self._nodes(),
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
        if is_own or (masks and not self.is_mixed):
            yield "launch:"
        if is_own and name:
            agents = "torchrun, " if STARTERS[name].starts_agents else ""
            yield f"  launchers: [{name}, {agents}local]"
        # Masks are those of one kind of node.
        if self.is_mixed and masks:
            yield _comment(f"CPUs next to the GPUs of a node: {', '.join(masks)}")
        elif masks:
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
        if self.is_mixed:
            return
        yield "# The nodes with GPUs that are the default partition's, or else the most."
        yield "# Check: what is kept for the system, and which cores are near a GPU."
        # Types of GPUs cannot be separated within a node, so a person must decide.
        if len(shape.kinds) > 1:
            yield _comment(
                f"Check: GPUs of several kinds in a node: {', '.join(shape.kinds)}"
            )
        yield "node:"
        yield from self._shape(2, shape, self._fast())

    def _shape(self, indent: int, shape: NodeGroup, nics: list[str]) -> Entries:
        """Yield the values of a node; the memory is divided by the GPUs, as profiles do."""
        memory = shape.memory // shape.gpus
        kinds = f" of kind {'+'.join(shape.kinds)}" if shape.kinds else ""
        plural = "" if shape.sockets == 1 else "s"
        sockets = f", {shape.sockets} socket{plural}" if shape.sockets else ""
        why = f"{shape.gpus} GPUs{kinds}, {shape.cores} cores{sockets}"
        why += f", {shape.memory} MiB" if shape.memory else ""
        why = f"{_one_word(why)} in a node, shared out by GPU"
        yield from self._entry(
            indent,
            why,
            self._source_command("nodes"),
            gpus=shape.gpus,
            cores_per_gpu=shape.cores // shape.gpus,
            memory_per_gpu=memory and f"{memory}M",
            nics=nics and f"[{_list(nics)}]",
        )

    def _nodes(self) -> Entries:
        """Yield the kinds of nodes, if there are several."""
        if not self.is_mixed:
            return
        yield "# Kinds of nodes with GPUs: the first is the default, others are selected by"
        yield "# partition, type of GPU or feature. Check: what is kept for the system."
        yield "nodes:"
        for number, (kind, shape) in enumerate(self.kinds.items()):
            yield f"  {kind}:"
            if selects := self._selects(kind):
                signs = ", ".join(f"{key}: [{_list(v)}]" for key, v in selects.items())
                yield f"    select: {{{signs}}}"
            else:
                yield "    # Check: Slurm shows nothing that selects these nodes only."
            yield "    node:"
            # The adapters of this machine are taken as those of the default kind.
            yield from self._shape(6, shape, [] if number else self._fast())
            if rule := [*self._rule(kind, "      ")]:
                yield from ("    request:", *rule)
            for line in self._billing_of(self._partitions(kind)):
                yield f"    {line}"

    def _selects(self, kind: str) -> dict[str, list[str]]:
        """Return what selects only the nodes of this kind, by the keys of a profile."""
        groups = [
            (self.kind_of[shape.same] == kind, shape)
            for partition in self._usable()
            for shape in partition.shapes
            if shape.same in self.kind_of
        ]
        taken = {name for is_own, e in groups if not is_own for name in e.kinds}
        shape = self.kinds[kind]
        is_one = shape.is_typed and len(shape.kinds) == 1
        signs = {
            "partitions": [
                partition.name
                for partition in self._partitions(kind)
                if self._kinds_in(partition) == {kind}
            ],
            "gres": [e for e in shape.kinds if is_one and e not in taken],
        }
        # A feature is only needed where nothing else decides.
        if not any(signs.values()):
            features = (f for is_own, e in groups if is_own for f in e.features)
            signs["constraints"] = [
                feature
                for feature in dict.fromkeys(features)
                if all(
                    feature in e.features
                    if is_own
                    else feature not in e.features + e.partly
                    for is_own, e in groups
                )
            ][:1]
        return {key: names for key, names in signs.items() if names}

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
        if not self.is_mixed:
            yield from self._rule(None, "  ")
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
                default=seen_partition.is_default and "true",
            )
        # Such a name would break the YAML or the directive of a job.
        for seen_partition in site.partitions:
            if seen_partition.name and not _NAME.fullmatch(seen_partition.name):
                yield _comment(f"Left out, for its name: {seen_partition.name}", "  ")

    def _rule(self, kind: str | None, indent: str) -> Entries:
        """Yield the rule on the partition, if the default has no such nodes.

        Then every job needs --partition, and the one with the most nodes is taken.
        """
        partitions = self._partitions(kind)
        scheduler = self.site.scheduler
        if not partitions or not scheduler or any(p.is_default for p in partitions):
            return
        best = max(partitions, key=lambda e: (_number(e), e.nodes or _number(e)))
        yield f"{indent}rules:"
        names = SCHEDULERS[scheduler].rule_names
        yield f"{indent}  {names.get('--partition', '--partition')}:"
        has_default = any(partition.is_default for partition in self.site.partitions)
        why = "the default has no such nodes" if has_default else "none is default"
        why = f"{why}; this one has the most"
        command, default = self._source_command("queues"), scalar(best.name)
        yield f"{indent}    rule: must"
        yield from self._entry(len(indent) + 4, why, command, default=default)

    def _usable(self) -> list[SeenPartition]:
        """Return the partitions that are up and have names that a profile may hold."""
        return [p for p in self.site.partitions if p.is_up and _NAME.fullmatch(p.name)]

    def _partitions(self, kind: str | None = None) -> list[SeenPartition]:
        """Return the partitions with nodes of this kind; None: of any kind.

        Others would give wrong limits. Without a kind, all are returned.
        """
        if not self.kinds:
            return self._usable()[:_MOST]
        # Those of the default kind come first, because only some are listed.
        order = [kind] if kind else [*self.kinds]
        ranked = [
            (min(own), partition)
            for partition in self._usable()
            if (own := [*map(order.index, self._kinds_in(partition) & {*order})])
        ]
        ranked.sort(key=lambda pair: pair[0])
        return [partition for _, partition in ranked[:_MOST]]

    def _kinds_in(self, partition: SeenPartition) -> set[str]:
        """Return the kinds of nodes with GPUs in a partition."""
        shapes = (shape.same for shape in partition.shapes)
        return {self.kind_of[shape] for shape in shapes if shape in self.kind_of}

    def _billing(self) -> Entries:
        if not self.is_mixed:
            yield from self._billing_of(self._partitions())

    def _billing_of(self, partitions: list[SeenPartition]) -> Entries:
        weights = {
            partition.name: tuple(sorted(partition.weights.items()))
            for partition in partitions
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


def _kinds(
    partitions: Iterable[SeenPartition], main: NodeGroup | None
) -> dict[str, list[NodeGroup]]:
    """Return all nodes with GPUs by the name of their kind, the most likely kind first.

    Nodes with nearly the same memory are one kind, the smallest of them first.
    """
    numbers: dict[NodeGroup, int] = {}
    for shape in (shape for partition in partitions for shape in partition.shapes):
        if shape.gpus:
            numbers[shape.same] = max(numbers.get(shape.same, 0), shape.number)
    groups: list[list[NodeGroup]] = []
    for shape in sorted(numbers, key=lambda e: (e.kinds, e.gpus, e.cores, e.memory)):
        least = groups[-1][0] if groups else shape
        is_same = least[1:4] == shape[1:4]  # GPUs, kinds, cores
        if groups and is_same and shape.memory <= _ALIKE * least.memory:
            groups[-1].append(shape)
        else:
            groups.append([shape])
    groups.sort(
        key=lambda group: (
            main is None or main.same not in group,
            -sum(numbers[shape] for shape in group),
        )
    )
    firsts = [group[0] for group in groups]
    kinds: dict[str, list[NodeGroup]] = {}
    for group in groups[:_KINDS]:  # long or odd types may give two groups one name
        kinds.setdefault(_kind_name(group[0], firsts), []).extend(group)
    return kinds


def _kind_name(shape: NodeGroup, others: Sequence[NodeGroup]) -> str:
    """Return the types of GPUs, with as many amounts as tell the nodes apart."""
    types = "+".join(re.sub(r"[^A-Za-z0-9_]", "-", kind) for kind in shape.kinds)
    name = types.strip("-+_")[:40] or "gpu"
    alike = [other for other in others if other.kinds == shape.kinds]
    end = ""
    for form in ("", "x{0}", "x{0}-{1}c", "x{0}-{1}c-{2}G"):
        ends = {form.format(e.gpus, e.cores, e.memory >> 10) for e in alike}
        end = form.format(shape.gpus, shape.cores, shape.memory >> 10)
        if len(ends) == len(alike):
            break
    return name + end


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
    some = "" if len(partition.shapes) == 1 else ", the first ones"
    return _one_word(f"{_number(partition)} nodes{some} with {first.gpus} GPUs{kinds}")


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
