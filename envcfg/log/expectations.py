"""Requirements on a job's log, from its profile and from options."""

from typing import TYPE_CHECKING, NamedTuple

from envcfg.log.names import network_family, network_kind

if TYPE_CHECKING:
    from envcfg.profile.profile_model import Profile


class Expectations(NamedTuple):
    """Requirements on a log; an empty or None field requires nothing.

    Attributes:
        ranks: size of the world.
        networks: allowed names of each rank's network.
        provider: libfabric provider.
        nics: NICs that each process must have.
        prove_nics: True if the log must show their number.
        interfaces: prefixes of the interfaces that bootstrap and sockets may use.
        gdr: True if GPU RDMA must be proven.
        allow_socket: True if TCP between nodes is intended.
        masks: CPU masks in the order of local ranks.
        attached: the NIC of each GPU, in the order of GPUs.
        buses: their PCI buses, in the same order.
    """

    ranks: int | None = None
    networks: tuple[str, ...] = ()
    provider: str | None = None
    nics: int | None = None
    prove_nics: bool = False
    interfaces: tuple[str, ...] = ()
    gdr: bool = False
    allow_socket: bool = False
    masks: tuple[int, ...] = ()
    attached: tuple[str, ...] = ()
    buses: tuple[str, ...] = ()

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
