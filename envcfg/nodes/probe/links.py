"""Network links that are down on one node and up on most others; pure."""

from collections.abc import Mapping, Sequence


def lost_links(states: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the interfaces of each host that are down there and up on most other hosts.

    Interfaces that are down everywhere, or exist on one host only, are unused.

    Args:
        states: by host the state of each interface, ``up`` or ``down``; only hosts that
            answered.
    """
    lost = {}
    for host, own in states.items():
        others = [other for name, other in states.items() if name != host]
        lost[host] = [
            name
            for name, state in own.items()
            if state == "down"
            and 2 * sum(other.get(name) == "up" for other in others) > len(others)
        ]
    return {host: names for host, names in lost.items() if names}


def links_text(names: Sequence[str]) -> str:
    """Return interfaces that are down, as the end of a message about their node.

    >>> links_text(["hsn0", "hsn1"])
    'its interfaces hsn0, hsn1 are down, and up on most other nodes'
    """
    noun, verb = ("interface", "is") if len(names) == 1 else ("interfaces", "are")
    return f"its {noun} {', '.join(names)} {verb} down, and up on most other nodes"
