"""Ranks that use the NIC of another GPU, by the table of the profile.

NCCL prints the number of a NIC, and the PCI bus of the GPU. The number means a NIC of the
table only if the library lists as many NICs, or names its interfaces in order.
"""

from collections.abc import Iterator

from envcfg.log.expectations import Expectations
from envcfg.log.names import is_fast, network_kind
from envcfg.log.read.process_facts import Sighting
from envcfg.log.state.process import Process, card_key

# With 0 each ring uses one NIC number on all nodes for every GPU, as the user requested.
_CROSS_NIC = "NCCL_CROSS_NIC"


def foreign_nics(
    process: Process, expect: Expectations
) -> Iterator[tuple[str, str, Sighting | None]]:
    """Yield each NIC that a process uses for a GPU, the GPU's own NIC, and the line."""
    if process.settings.get(_CROSS_NIC) == "0":
        return
    own_nics = dict(zip(expect.buses, expect.attached, strict=False))
    for network, number, gpu in sorted(process.cards):
        own = own_nics.get(_bus(gpu))
        names = _names(process, network, expect)
        if own and number < len(names) and names[number] != own:
            sighting = process.seen.get(card_key(network, number, gpu))
            yield names[number], own, sighting


def _bus(gpu: str) -> str:
    """Return the bus of a GPU as NCCL prints it, with device and function.

    >>> _bus("c1000"), _bus("1c1000")
    ('c1', '1c1')
    """
    # The last three hexadecimal digits are the device and the function.
    return f"{int(gpu, 16) >> 12:02x}"


def _names(process: Process, network: str, expect: Expectations) -> tuple[str, ...]:
    """Return the interfaces by the number of the NIC; none if their order is unknown."""
    kind, table = network_kind(network), tuple(dict.fromkeys(expect.attached))
    if kind == "socket":
        names = process.interfaces.get("socket", ())
        return names if set(names) <= set(table) else ()
    counts = set(process.providers.values())
    fast = all(is_fast(name) for name in process.providers)
    # A smaller number of NICs means that the library skips some, so numbers shift.
    return table if kind == "libfabric" and fast and counts == {len(table)} else ()
