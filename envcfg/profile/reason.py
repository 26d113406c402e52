"""Why something is so: what every entry of a profile carries."""

from typing import NamedTuple

from envcfg.findings import Place


class Reason(NamedTuple):
    """Why something is so: the reason, who says it, since when, and where it stands."""

    why: str
    source: str
    date: str
    place: Place
