"""The NIC that each GPU of a node is attached to, from the tree of its PCI devices; pure.

The nearest NIC shares a bridge with the GPU; the next ones are on the same NUMA node, or
share the root complex. Several NICs can be equally near.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from envcfg.log.numbers import number_ranges
from envcfg.nodes.probe.node_answer import NodeAnswer

_PCI = re.compile(
    r"pci[0-9a-f]{4}:[0-9a-f]{2}|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
)


class AttachedGpu(NamedTuple):
    """A GPU, and the NICs that are near to it."""

    number: int  # in the order of PCI addresses, as drivers count
    address: str
    nics: tuple[str, ...] = ()  # names for people: `hsn0 (cxi0)`; empty: unknown
    reason: str = "unknown"  # `bridge`, `NUMA node`, `root complex` or `unknown`

    @property
    def bus(self) -> str:
        """The PCI bus in its address: ``c1``."""
        return self.address.split(":")[1]


class _Device(NamedTuple):
    """A PCI device: the addresses from its root complex down, and its NUMA node."""

    path: tuple[str, ...]
    numa: int


def attached_nics(answer: NodeAnswer) -> list[AttachedGpu]:
    """Return the GPUs of a node, each with the NICs that are near to it."""
    nics = list(_nics(answer))
    gpus = sorted(
        (name, _device(path, numa))
        for kind, name, numa, path in answer.rows("pci")
        if kind == "gpu" and re.fullmatch(r"[0-9a-f]+:[0-9a-f]{2}:\S+", name)
    )
    attached_gpus = []
    for number, (address, gpu) in enumerate(gpus):
        # Tuples compare by the strongest relation first: bridge, NUMA node, root.
        distances = [(_nearness(gpu, device), name) for name, device in nics]
        best = max((nearness for nearness, _ in distances), default=(0, False, 0))
        reason = next(
            (word for word, value in zip(_REASONS, best, strict=True) if value),
            "unknown",
        )
        near = tuple(name for nearness, name in distances if nearness == best)
        # Without a common part of the path all NICs are equally far.
        near = () if reason == "unknown" else near
        attached_gpus.append(AttachedGpu(number, address, near, reason))
    return attached_gpus


_REASONS = ("bridge", "NUMA node", "root complex")


def _nearness(gpu: _Device, nic: _Device) -> tuple[int, bool, int]:
    """Return common bridges below the root complex, NUMA node, root complex."""
    pairs = zip(gpu.path, nic.path, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    # The kernel reports NUMA node -1 on machines without NUMA, which proves nothing.
    return max(common - 1, 0), gpu.numa >= 0 and gpu.numa == nic.numa, min(common, 1)


def _nics(answer: NodeAnswer) -> Iterator[tuple[str, _Device]]:
    """Yield the adapters with RDMA: name, with that of the interface first, and device."""
    interfaces = {
        path: name for kind, name, _, path in answer.rows("pci") if kind == "interface"
    }
    for kind, name, numa, path in answer.rows("pci"):
        if kind == "adapter":
            interface = interfaces.get(path)
            yield f"{interface} ({name})" if interface else name, _device(path, numa)


def _device(path: str, numa: str) -> _Device:
    number = int(numa) if re.fullmatch(r"[0-9]+", numa) else -1
    return _Device(tuple(_PCI.findall(path)), number)


def attachment_text(gpus: Sequence[AttachedGpu]) -> str:
    """Return the GPUs by NIC in one line; empty if no NIC is known.

    >>> attachment_text([AttachedGpu(0, "", ("hsn0",)), AttachedGpu(1, "", ("hsn0",))])
    'GPU 0-1 hsn0'
    """
    numbers: dict[tuple[str, ...], list[int]] = {}
    for gpu in gpus:
        if gpu.nics:
            numbers.setdefault(gpu.nics, []).append(gpu.number)
    return ", ".join(
        f"GPU {number_ranges(some)} {' or '.join(nics)}"
        for nics, some in numbers.items()
    )
