"""What a job's log must show, by its profile and by options."""

from typing import TYPE_CHECKING, NamedTuple

from envcfg.log.names import network_family, network_kind

if TYPE_CHECKING:
    from envcfg.profile.model import Profile


class Expectations(NamedTuple):
    """What must be seen; a field that is empty or None asks for nothing.

    Attributes:
        ranks: size of the world.
        networks: names of which each rank's network must be one.
        provider: libfabric provider.
        nics: NICs that each process must have.
        prove_nics: their number must be in the log; else it counts where it is.
        interfaces: beginnings of the names that bootstrap and sockets may use.
        gdr: GPU RDMA must be proven.
        allow_socket: TCP between nodes is what is wanted.
        masks: CPU masks in the order of local ranks.
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

    def wants_network(self, name: str) -> bool:
        """Return whether *name* is among the networks that are expected."""
        return network_family(name) in map(network_family, self.networks)

    @property
    def wants_fast(self) -> bool:
        """Whether a network other than TCP was asked for."""
        return any(network_kind(name) != "socket" for name in self.networks)


def expectations_of(profile: "Profile") -> Expectations:
    """Return what *profile* says that the log must show."""
    written = profile.cpu_masks.masks if profile.cpu_masks else ()
    masks = tuple(int(mask, 16) for mask in written)
    expect = profile.expect
    if expect is None:
        return Expectations(masks=masks)
    return Expectations(
        networks=expect.networks,
        provider=expect.provider,
        nics=expect.nics,
        interfaces=expect.interfaces,
        gdr=bool(expect.gdr),
        masks=masks,
    )
