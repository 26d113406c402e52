"""What was changed in a script, for reports."""

from typing import NamedTuple


class Changed(NamedTuple):
    """A launch line, before and after."""

    line: int
    before: str
    after: str


class Known(NamedTuple):
    """A variable that the script exports, and the profile has, too.

    Attributes:
        line: where the script sets it.
        value: there; empty where it is not known before the job runs.
        profile: the profile's value.
        is_removed: the script's line is gone.
    """

    line: int
    name: str
    value: str
    profile: str
    is_removed: bool


class Conversion(NamedTuple):
    """A script that starts the steps of another one by envcfg."""

    profile: str | None
    lines: tuple[Changed, ...]
    variables: tuple[Known, ...]
    script: str
