"""The result of a conversion: the changes for reports, or the reason for a refusal."""

import os
from typing import NamedTuple, NoReturn

from envcfg.common.datafile import load_yaml
from envcfg.common.errors import UsageError

_REFUSALS = os.path.join(os.path.dirname(__file__), "refusals.yaml")


class ChangedLine(NamedTuple):
    """A launch line, before and after.

    Attributes:
        added: options of the starter that only the new line has; None: the job decides.
    """

    line: int
    before: str
    after: str
    added: tuple[str, ...] | None


class DoubleSetting(NamedTuple):
    """A variable that both the script and the profile set.

    Attributes:
        line: line of the script's assignment.
        value: the script's value; empty if unknown before the job runs.
        profile: the profile's value.
        is_removed: True if the script's line was removed.
    """

    line: int
    name: str
    value: str
    profile: str
    is_removed: bool


class Conversion(NamedTuple):
    """A script that starts the steps of another one by envcfg.

    Attributes:
        machineries: texts of the files that the script needs.
    """

    profile: str | None
    lines: tuple[ChangedLine, ...]
    variables: tuple[DoubleSetting, ...]
    script: str
    machineries: tuple[str, ...] = ()


def refuse(which: str, *, place: str = "", **words: object) -> NoReturn:
    """Refuse to change a script, with the reason by its name in ``refusals.yaml``.

    Raises:
        UsageError: always; *place* precedes its text.
    """
    template = load_yaml(_REFUSALS)[which]
    msg = f"{place}{template['why'].format(**words)}"
    raise UsageError(msg, hint=template["fix"].format(**words))
