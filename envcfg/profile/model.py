"""The model of a profile: frozen data, no behaviour but lookups.

A ``Profile`` is what one file says, or what a chain of files says together. A field that
is None was not given; in ``env``, ``binds`` and the like a None unsets what a family gave.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from envcfg.findings import Place
from envcfg.profile.entries import Argument, Bundle, Export, Mount, Prefix, Setting
from envcfg.profile.facts import Reason
from envcfg.profile.scheduler import (
    Asking,
    Billing,
    Module,
    Own,
    Partition,
    Qos,
    RequestRule,
)
from envcfg.profile.words import Word


class NameFact(NamedTuple):
    """Facts that an image's file name tells: *pattern* matched, templates filled in."""

    pattern: str
    facts: Mapping[str, str]
    reason: Reason


class Node(NamedTuple):
    """The shape of a node. Memory in the unit that the scheduler takes (``60G``)."""

    reason: Reason
    gpus: int
    cores_per_gpu: int | None = None
    memory_per_gpu: str | None = None
    nics: tuple[str, ...] = ()


class Domain(NamedTuple):
    """How many *nodes* NVLink joins (an MNNVL domain).

    Attributes:
        segment: whether Slurm keeps nodes of one domain together (topology/block), so that
            jobs ask for it by ``--segment``.
    """

    reason: Reason
    nodes: int
    segment: bool = False


class Masks(NamedTuple):
    """CPU masks, one hexadecimal mask per local rank, in GPU order."""

    reason: Reason
    masks: tuple[str, ...]


class Visibility(NamedTuple):
    """The one layer of GPU masking.

    Attributes:
        variable: the variable that masks; what the scheduler gave it stays.
        clear: variables of other layers, unset in every rank.
    """

    reason: Reason
    variable: str
    clear: tuple[str, ...]


class Rendezvous(NamedTuple):
    """How ranks find the first node: its name plus *suffix*, or an interface's address."""

    reason: Reason
    suffix: str = ""
    interface: str | None = None


class Scratch(NamedTuple):
    """Where node-local caches go.

    Attributes:
        in_memory: files below *root* count against the job's memory.
        disk: a folder that is taken instead of *root* in jobs that have it.
        disk_request: the options by which a job asks for it, such as ``--constraint``.
    """

    reason: Reason
    root: Word
    in_memory: bool = False
    disk: Word | None = None
    disk_request: Mapping[str, str] = {}


class Expect(NamedTuple):
    """What job and nodes must show; each field is left out where no one says.

    Attributes:
        devices: patterns of paths, each of which a node must have.
        bandwidth: of a large all-reduce over several nodes ("bus bandwidth"), GB/s.
        dropped: fields that null takes back of a family or a lower layer.
        others: the reasons of fields that come from there; *reason* is that of the rest.
    """

    reason: Reason
    networks: tuple[str, ...] = ()
    provider: str | None = None
    interfaces: tuple[str, ...] = ()
    nics: int | None = None
    gdr: bool | None = None
    devices: tuple[str, ...] = ()
    bandwidth: int | None = None
    dropped: frozenset[str] = frozenset()
    others: Mapping[str, Reason] = {}

    def said(self) -> dict[str, Any]:
        """Return the fields that say something."""
        aside = {"reason", "dropped", "others"}
        return {
            name: value
            for name, value in self._asdict().items()
            if name not in aside and value not in (None, ())
        }

    def reason_of(self, name: str) -> Reason:
        """Return why a field is so."""
        return self.others.get(name, self.reason)

    def over(self, base: "Expect") -> "Expect":
        """Return *base* with each field that this gives, or drops, laid over it."""
        mine = self.said().keys() | self.dropped
        kept = {name: each for name, each in base.said().items() if name not in mine}
        return self._replace(
            **kept,
            dropped=self.dropped | (base.dropped - mine),
            others={**self.others, **{name: base.reason_of(name) for name in kept}},
        )


class Status(NamedTuple):
    """A dated statement on the profile: its lifecycle, or how it was verified."""

    state: str
    reason: Reason


class Run(NamedTuple):
    """A probe that ran on the system, and contradicted no value (``profiles confirm``).

    Attributes:
        envcfg: its version, as *scheduler*, *runtime* and *driver* have theirs.
        nodes: how many.
        bandwidth: of the largest all-reduce, and by what.
    """

    reason: Reason
    envcfg: str
    nodes: int
    scheduler: str | None = None
    runtime: str | None = None
    driver: str | None = None
    bandwidth: str | None = None

    def __str__(self) -> str:
        """Return it in one line."""
        versions = (self.scheduler, self.runtime, self.driver, self.bandwidth)
        nodes = f"{self.nodes} node{'s' * (self.nodes > 1)}"
        return ", ".join([self.reason.date, nodes, *filter(None, versions)])


class Parent(NamedTuple):
    """The family that a profile extends, and where it says so."""

    name: str
    place: Place


class Detect(NamedTuple):
    """By what a system is known; *reason* is None where the names speak for themselves.

    Attributes:
        clusters: globs on the cluster's name.
        hosts: globs on the host's name, where no cluster is named.
        marks: one that fits is enough. By the path of a file: a glob on its first line, or
            empty where it only has to be there; by a variable's name: a glob on its value.
        interfaces: globs; each must fit a network interface. With *devices* they count
            where no name is known.
        devices: paths that must all be there.
    """

    clusters: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    marks: Mapping[str, str] = {}
    reason: Reason | None = None


class Profile(NamedTuple):
    """What a system needs.

    Attributes:
        envcfg: the versions of envcfg for which it is written, as ``>=0.2``.
        closed: of ``partitions`` and ``qos`` those that name all that there are.
        run: of this file as it is: neither a family's nor a lower layer's.
        seen: partitions that the scheduler here shows, and the profile does not know.
        own: the accounts and QOS of this user, where the scheduler here says them.
        dropped: the blocks that it takes back by null. *expect* stays among them where a
            higher layer gives it again, as it must not be laid over the family's then.
    """

    name: str
    dropped: frozenset[str] = frozenset()
    envcfg: str | None = None
    summary: str | None = None
    extends: Parent | None = None
    lifecycle: Status | None = None
    verified: Status | None = None
    run: Run | None = None
    detect: Detect | None = None
    node: Node | None = None
    nvlink: Domain | None = None
    launchers: tuple[str, ...] | None = None
    cpu_masks: Masks | None = None
    visibility: Visibility | None = None
    rendezvous: Rendezvous | None = None
    runtimes: tuple[str, ...] | None = None
    verb: Setting | None = None
    prefix: Prefix | None = None
    image_facts: tuple[NameFact, ...] | None = None
    scratch: Scratch | None = None
    expect: Expect | None = None
    binds: Mapping[str, Mount | None] = {}
    arguments: Mapping[str, Argument | None] = {}
    exports: Mapping[str, Export | None] = {}
    env: Mapping[str, Setting | None] = {}
    bundles: Mapping[str, Bundle | None] = {}
    srun: Mapping[str, Argument | None] = {}
    mpiexec: Mapping[str, Argument | None] = {}
    flux: Mapping[str, Argument | None] = {}
    torchrun: Mapping[str, Argument | None] = {}
    request: Asking | None = None
    rules: Mapping[str, RequestRule | None] = {}
    partitions: Mapping[str, Partition | None] = {}
    qos: Mapping[str, Qos | None] = {}
    closed: tuple[str, ...] | None = None
    seen: Mapping[str, Partition] = {}
    own: Own | None = None
    modules: Mapping[str, Module | None] = {}
    billing: Billing | None = None

    def over(self, base: "Profile") -> "Profile":
        """Return *base* with everything that this profile gives laid over it."""
        given: dict[str, Any] = {
            name: mine for name, mine in self._asdict().items() if mine is not None
        }
        for name, mine in given.items():
            if isinstance(mine, dict):
                given[name] = {**getattr(base, name), **mine}
        if self.expect and base.expect and "expect" not in self.dropped:
            given["expect"] = self.expect.over(base.expect)
        given["dropped"] = self.dropped | (base.dropped - (given.keys() - {"expect"}))
        taken_back: dict[str, Any] = dict.fromkeys(self.dropped - given.keys())
        return base._replace(**{"run": None, **given, **taken_back})


class Layer(NamedTuple):
    """One file of those that make a profile.

    Attributes:
        path: as messages name it.
        data: the file's bytes.
        profile: what this file alone says.
    """

    path: str
    data: bytes
    profile: Profile
