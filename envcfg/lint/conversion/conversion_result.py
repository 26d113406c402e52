"""The result of a conversion: the changes for reports, or the reason for a refusal."""

from typing import NamedTuple, NoReturn

from envcfg.common.datafile import load_yaml
from envcfg.common.errors import UsageError


class ChangedLine(NamedTuple):
    """A launch line, before and after."""

    line: int
    before: str
    after: str
    # Options of the starter that only the new line has; None: the job decides.
    added: tuple[str, ...] | None


class DoubleSetting(NamedTuple):
    """A variable that both the script and the profile set."""

    line: int  # line of the script's assignment
    name: str
    value: str  # the script's value; empty if unknown before the job runs
    profile: str  # the profile's value
    is_removed: bool  # True if the script's line was removed


class Conversion(NamedTuple):
    """A script that starts the steps of another one by envcfg."""

    profile: str | None
    lines: tuple[ChangedLine, ...]
    variables: tuple[DoubleSetting, ...]
    script: str
    machineries: tuple[str, ...] = ()  # texts of the files that the script needs


def refuse(which: str, *, place: str = "", **words: object) -> NoReturn:
    """Refuse to change a script, with the reason by its name in ``refusals.yaml``.

    Raises:
        UsageError: always; *place* precedes its text.
    """
    template = load_yaml("lint/conversion/refusals.yaml")[which]
    msg = f"{place}{template['why'].format(**words)}"
    raise UsageError(msg, hint=template["fix"].format(**words))
