"""How ranks send to each other: the few kinds that a report tells apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from envcfg.log.numbers import count_of
from envcfg.log.verdict import Transport

# From worst to best: where several ways are shown as one, it is the worst.
KINDS = {
    "socket": "TCP sockets",
    "plain": "network, without GPU RDMA",
    "other": "other, or not told",
    "rdma": "network, with GPU RDMA",
    "local": "within the node (P2P, SHM)",
}


def kind_of(transport: Transport) -> str:
    """Return which of :data:`KINDS` a transport is.

    >>> kind_of(Transport(0, 8, "NET/AWS Libfabric", True))
    'rdma'
    """
    first, _, rest = transport.kind.partition("/")
    if first in ("P2P", "SHM"):
        return "local"
    if first != "NET":
        return "other"
    if rest.startswith("Socket"):
        return "socket"
    return {True: "rdma", False: "plain", None: "other"}[transport.gdr]


def describe(transport: Transport) -> str:
    """Return what a transport is called in a report.

    >>> describe(Transport(0, 8, "NET/AWS Libfabric", True))
    'NET/AWS Libfabric, GPU RDMA'
    """
    with_rdma = {True: ", GPU RDMA", False: ", no GPU RDMA", None: ""}
    return f"{transport.kind}{with_rdma[transport.gdr]}"


def render_legend(transports: Sequence[Transport]) -> str:
    """Return in HTML what the fills mean, with how many connections have each."""
    counts = Counter(kind_of(each) for each in transports)
    items = (
        f'<li><svg class="swatch" aria-hidden="true"><rect class="m-{name}" width="18"'
        f' height="18"/></svg>{label}: {count_of(counts[name], "connection")}</li>'
        for name, label in reversed(KINDS.items())
        if counts[name]
    )
    return f'<ul class="key">{"".join(items)}</ul>'
