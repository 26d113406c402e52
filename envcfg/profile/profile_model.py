"""The model of a profile: frozen data, no behaviour but lookups.

A ``Profile`` is what one file says, or what a chain of files says together. A field that
is None was not given; in ``env``, ``binds`` and the like a None unsets what a family gave.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from envcfg.common.characters import Texts
from envcfg.common.findings import Finding, Place
from envcfg.profile import scheduler_settings
from envcfg.profile.entries import Argument, BindMount, Bundle, Export, Prefix, Setting
from envcfg.profile.job_facts import Reason
from envcfg.profile.words import Word


class NameFact(NamedTuple):
    """Facts that an image's file name tells: *pattern* matched, templates filled in."""

    pattern: str
    facts: Mapping[str, str]
    reason: Reason


class NodeShape(NamedTuple):
    """The shape of a node. Memory in the unit that the scheduler takes (``60G``)."""

    reason: Reason
    gpus: int
    cores_per_gpu: int | None = None
    memory_per_gpu: str | None = None
    # The most memory of a node that jobs get, as sites state it.
    memory_limit: str | None = None
    nics: Texts = ()
    # That of its CPU, as `uname -m` prints it; None if not stated.
    architecture: str | None = None


class Domain(NamedTuple):
    """The number of *nodes* that NVLink joins (an MNNVL domain)."""

    reason: Reason
    nodes: int
    # Whether Slurm keeps nodes of one domain together (topology/block). Jobs then
    # request it by `--segment`.
    segment: bool = False


class Internet(NamedTuple):
    """The internet, to which compute nodes have no direct way."""

    reason: Reason
    proxy: str = ""  # the address through which they reach it; empty: they do not


class SlurmVersion(NamedTuple):
    """The version of Slurm on the system."""

    reason: Reason
    version: str


class Home(NamedTuple):
    """The home folders, which are small."""

    reason: Reason
    quota: int  # GB for each user


class Attachment(NamedTuple):
    """The NIC next to each GPU of a node, in the order of the GPUs."""

    reason: Reason
    nics: Texts  # its interface, once per GPU
    # The PCI bus of each GPU, in hexadecimal digits as in `c1`.
    buses: Texts = ()


class Masks(NamedTuple):
    """CPU masks, one hexadecimal mask per local rank, in GPU order."""

    reason: Reason
    masks: Texts


class Visibility(NamedTuple):
    """The one layer that masks GPUs."""

    reason: Reason
    variable: str  # the variable that masks; a value from the scheduler is kept
    clear: Texts  # variables of other layers, unset in every rank
    # The variable of an inner layer: it gets the numbers of the visible GPUs.
    numbers: str | None = None

    @property
    def inner(self) -> Texts:
        """Variables of the other layers; the first one gets the numbers, if one does."""
        return (self.numbers, *self.clear) if self.numbers else self.clear


class Rendezvous(NamedTuple):
    """The address of the first node: its name plus *suffix*, or an interface's address."""

    reason: Reason
    suffix: str = ""
    interface: str | None = None


class Scratch(NamedTuple):
    """The place of node-local caches."""

    reason: Reason
    root: Word
    in_memory: bool = False  # files below *root* count against the job's memory
    disk: Word | None = None  # a folder that replaces *root* in jobs that have it
    # The options that request the disk, such as `--constraint`.
    disk_request: Mapping[str, str] = {}


class Expect(NamedTuple):
    """Requirements on job and nodes; unset fields require nothing."""

    reason: Reason
    networks: Texts = ()
    provider: str | None = None
    interfaces: Texts = ()
    nics: int | None = None
    gdr: bool | None = None
    devices: Texts = ()  # patterns of paths; a node must have a path for each
    # Bus bandwidth of a large all-reduce over several nodes, in GB/s.
    bandwidth: int | None = None
    # Fields of a family or lower layer that null removes.
    dropped: frozenset[str] = frozenset()
    # The reasons of fields inherited from them; *reason* covers all other fields.
    others: Mapping[str, Reason] = {}

    def said(self) -> dict[str, Any]:
        """Return the fields with a value."""
        # An empty tuple requires nothing, exactly like None.
        aside = {"reason", "dropped", "others"}
        return {
            name: value
            for name, value in self._asdict().items()
            if name not in aside and value not in (None, ())
        }

    def reason_of(self, name: str) -> Reason:
        """Return the reason of a field."""
        return self.others.get(name, self.reason)

    def over(self, base: "Expect") -> "Expect":
        """Return *base*, overridden by the fields that this entry sets or drops."""
        mine = self.said().keys() | self.dropped
        mine_kept = {
            name: value for name, value in base.said().items() if name not in mine
        }
        return self._replace(
            **mine_kept,
            # A field that is set again is no longer dropped.
            dropped=self.dropped | (base.dropped - mine),
            others={
                **self.others,
                **{name: base.reason_of(name) for name in mine_kept},
            },
        )


class Status(NamedTuple):
    """A dated statement on the profile: its lifecycle, or how it was verified."""

    state: str
    reason: Reason


class Parent(NamedTuple):
    """The family that a profile extends, and the place of the key."""

    name: str
    place: Place


class Detect(NamedTuple):
    """The signs of a system; *reason* is None if the signs are self-explanatory."""

    clusters: Texts = ()  # globs for the cluster's name
    # Globs for the host's name, used if the cluster has no name.
    hosts: Texts = ()
    # Globs; each must match a network interface. With *devices*, they are used if no
    # name is known.
    interfaces: Texts = ()
    devices: Texts = ()  # paths that must all exist
    # One match is enough. By file path: a glob for its first line, or empty if the file
    # must only exist. By variable name: a glob for its value.
    marks: Mapping[str, str] = {}
    reason: Reason | None = None


class ChosenKind(NamedTuple):
    """The kind of node of a job, and the option that selected it."""

    name: str
    sign: str
    conflict: Finding | None = None  # an option of the job that selects another kind

    def __str__(self) -> str:
        """Return the text for messages."""
        return f"{self.name} ({self.sign})"

    @property
    def document(self) -> dict[str, str]:
        """The part of it in JSON."""
        return {"name": self.name, "sign": self.sign}


class Profile(NamedTuple):
    """The needs of a system."""

    name: str
    # The blocks that null removes. *expect* stays dropped even if a higher layer sets
    # it again, because the family's block must not be merged into it.
    dropped: frozenset[str] = frozenset()
    envcfg: str | None = None  # the versions of envcfg that can use it, such as `>=0.2`
    summary: str | None = None
    extends: Parent | None = None
    lifecycle: Status | None = None
    verified: Status | None = None
    detect: Detect | None = None
    node: NodeShape | None = None
    nvlink: Domain | None = None
    internet: Internet | None = None
    home: Home | None = None
    slurm: SlurmVersion | None = None
    attachment: Attachment | None = None
    launchers: Texts | None = None
    cpu_masks: Masks | None = None
    visibility: Visibility | None = None
    rendezvous: Rendezvous | None = None
    runtimes: Texts | None = None
    verb: Setting | None = None
    prefix: Prefix | None = None
    image_facts: tuple[NameFact, ...] | None = None
    scratch: Scratch | None = None
    expect: Expect | None = None
    binds: Mapping[str, BindMount | None] = {}
    arguments: Mapping[str, Argument | None] = {}
    exports: Mapping[str, Export | None] = {}
    env: Mapping[str, Setting | None] = {}
    bundles: Mapping[str, Bundle | None] = {}
    srun: Mapping[str, Argument | None] = {}
    mpiexec: Mapping[str, Argument | None] = {}
    flux: Mapping[str, Argument | None] = {}
    torchrun: Mapping[str, Argument | None] = {}
    request: scheduler_settings.Asking | None = None
    rules: Mapping[str, scheduler_settings.RequestRule | None] = {}
    partitions: Mapping[str, scheduler_settings.Partition | None] = {}
    qos: Mapping[str, scheduler_settings.Qos | None] = {}
    # The lists among `partitions` and `qos` that are complete.
    closed: Texts | None = None
    # Partitions that the scheduler here shows, but the profile does not name.
    seen: Mapping[str, scheduler_settings.Partition] = {}
    # The accounts and QOS of this user, if the scheduler here reports them.
    own: scheduler_settings.Own | None = None
    modules: Mapping[str, scheduler_settings.EnvironmentModule | None] = {}
    billing: scheduler_settings.Billing | None = None
    # The kinds of nodes, by name; the first one is the default.
    nodes: Mapping[str, "NodeKind | None"] = {}
    kind: ChosenKind | None = None

    @property
    def kind_name(self) -> str | None:
        """The name of the chosen kind of node; None if there are no kinds."""
        return self.kind.name if self.kind else None

    @property
    def gpus(self) -> int | None:
        """The number of GPUs of a node, if the profile has it."""
        return self.node.gpus if self.node else None

    def over(self, base: "Profile") -> "Profile":
        """Return *base*, overridden by everything that this profile sets."""
        fields_given: dict[str, Any] = {
            name: mine for name, mine in self._asdict().items() if mine is not None
        }
        for name, mine in fields_given.items():
            # Mappings are merged by entry; all other sections replace the lower one
            # completely.
            if isinstance(mine, dict):
                fields_given[name] = {**getattr(base, name), **mine}
        # What a higher layer says of all nodes also overrides a kind of a lower one.
        rest = self._replace(nodes={})
        nodes = {
            name: kind and kind._replace(profile=rest.over(kind.profile))
            for name, kind in base.nodes.items()
        }
        for name, kind in self.nodes.items():
            below = nodes.get(name)
            nodes[name] = kind.over(below) if kind and below else kind
        fields_given["nodes"] = nodes
        # Expectations are merged by field, because a cluster often changes a single
        # number of its family.
        if self.expect and base.expect and "expect" not in self.dropped:
            fields_given["expect"] = self.expect.over(base.expect)
        fields_given["dropped"] = self.dropped | (
            base.dropped - (fields_given.keys() - {"expect"})
        )
        taken_back: dict[str, Any] = dict.fromkeys(self.dropped - fields_given.keys())
        return base._replace(**{**fields_given, **taken_back})


class NodeKind(NamedTuple):
    """A kind of node: the signs that select it, and all that differs; a sign is a glob."""

    profile: Profile  # only the differences; complete after ``with_kinds``
    partitions: Texts | None = None
    constraints: Texts | None = None  # features of its nodes
    gres: Texts | None = None  # types of its GPUs, such as `a100`
    hosts: Texts | None = None

    def over(self, base: "NodeKind") -> "NodeKind":
        """Return *base*, overridden by everything that this kind sets."""
        given = {
            name: mine for name, mine in self._asdict().items() if mine is not None
        }
        return base._replace(**{**given, "profile": self.profile.over(base.profile)})


class Layer(NamedTuple):
    """One file of those that make a profile."""

    path: str  # its name in messages
    data: bytes
    profile: Profile  # the content of this file alone
