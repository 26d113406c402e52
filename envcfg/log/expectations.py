"""Requirements on a job's log, from its profile and from options."""

from typing import TYPE_CHECKING, NamedTuple

from envcfg.log.names import network_family, network_kind

if TYPE_CHECKING:
    from envcfg.profile.profile_model import Profile


class Expectations(NamedTuple):
    """Requirements on a log; an empty or None field requires nothing."""

    ranks: int | None = None  # size of the world
    networks: tuple[str, ...] = ()  # allowed names of each rank's network
    provider: str | None = None  # libfabric provider
    nics: int | None = None  # NICs that each process must have
    prove_nics: bool = False  # True if the log must show their number
    # Prefixes of the interfaces that bootstrap and sockets may use.
    interfaces: tuple[str, ...] = ()
    gdr: bool = False  # True if GPU RDMA must be proven
    allow_socket: bool = False  # True if TCP between nodes is intended
    masks: tuple[int, ...] = ()  # CPU masks in the order of local ranks
    attached: tuple[str, ...] = ()  # the NIC of each GPU, in the order of GPUs
    buses: tuple[str, ...] = ()  # their PCI buses, in the same order

    def wants_network(self, name: str) -> bool:
        """Return whether *name* is one of the required networks."""
        # Families are compared, because plugins have changed their names.
        return network_family(name) in map(network_family, self.networks)

    @property
    def wants_fast(self) -> bool:
        """Whether a network other than TCP is required."""
        return any(network_kind(name) != "socket" for name in self.networks)


def expectations_of(profile: "Profile") -> Expectations:
    """Return the requirements of *profile* on the log."""
    written = profile.cpu_masks.masks if profile.cpu_masks else ()
    masks = tuple(int(mask, 16) for mask in written)
    expect, table = profile.expect, profile.attachment
    own = Expectations(
        masks=masks,
        attached=table.nics if table else (),
        buses=table.buses if table else (),
    )
    if expect is None:
        return own
    return own._replace(
        networks=expect.networks,
        provider=expect.provider,
        nics=expect.nics,
        interfaces=expect.interfaces,
        gdr=bool(expect.gdr),
    )
