"""What was changed in a script, for reports, and why one is refused."""

import os
from typing import NamedTuple, NoReturn

from envcfg.datafile import load_yaml
from envcfg.errors import UsageError

_REFUSALS = os.path.join(os.path.dirname(__file__), "refusals.yaml")


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


def refuse(which: str, *, place: str = "", **words: object) -> NoReturn:
    """Say why a script is not changed, by its name in ``refusals.yaml``.

    Raises:
        UsageError: always; *place* stands before its text.
    """
    known = load_yaml(_REFUSALS)[which]
    msg = f"{place}{known['why'].format(**words)}"
    raise UsageError(msg, hint=known["fix"].format(**words))
