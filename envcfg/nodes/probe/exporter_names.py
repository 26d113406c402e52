"""The exporters of sites: the entries of exporters.yaml, and the option that names one."""

import os.path
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from envcfg.common.characters import whole_number
from envcfg.common.datafile import load_yaml

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exporters.yaml")
END = "envcfg-http 0"  # the probe's line after a whole answer


class Exporter(NamedTuple):
    """An exporter of the site, by its name in exporters.yaml."""

    name: str
    port: int

    def words(self) -> tuple[str, ...]:
        """Return the words for the probe: name, port and pattern of lines."""
        values = exporters()[self.name]["values"].values()
        names = [name for value in values for name in value["metrics"]]
        pattern = f"^(HTTP/1[.][01] 200|{END}|({'|'.join(names)})[{{])"
        return self.name, str(self.port), pattern


@cache
def exporters() -> Mapping[str, Any]:
    """Return the entries of exporters.yaml by name."""
    entries: Mapping[str, Any] = load_yaml(_FILE)
    return entries


def read_exporter_option(text: str) -> Exporter:
    """Read the name of an exporter, with a port if it is not its own: ``omnistat:8002``.

    Raises:
        ValueError: there is no such exporter, or no such port.
    """
    name, separator, port = text.partition(":")
    entry = exporters().get(name)
    if entry is None:
        msg = f"{name!r} is not one of {', '.join(exporters())}"
        raise ValueError(msg)
    number = whole_number(port) if separator else entry["port"]
    if number is None or not 0 < number < 1 << 16:
        msg = f"{port!r} is not a port from 1 to 65535"
        raise ValueError(msg)
    return Exporter(name, number)
