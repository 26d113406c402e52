"""What a job gets of a profile, entry by entry: frozen data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.bind import Bind
from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.facts import Reason
from envcfg.profile.words import Word


class Case(NamedTuple):
    """A value and the condition under which it applies; value None means *unset*."""

    value: Word | None
    reason: Reason
    when: Condition = ALWAYS


class Setting(NamedTuple):
    """One variable: its cases, first match wins, then ``otherwise``.

    Attributes:
        otherwise: value where no case applies or a fact is unknown; None leaves the
            variable alone.
        force: wins even over what the user has set in the job.
        directory: the value is a folder, made before the program starts.
    """

    name: str
    cases: tuple[Case, ...]
    otherwise: Word | None = None
    force: bool = False
    directory: bool = False


class Mount(NamedTuple):
    """A bind mount.

    Attributes:
        if_exists: path that must exist in the job, or the mount is left out; None: it
            must always be there.
    """

    bind: Bind
    reason: Reason
    if_exists: str | None = None
    when: Condition = ALWAYS


class Argument(NamedTuple):
    """A word for the runtime, for a starter or an agent; *if_exists* as of a mount."""

    word: str
    reason: Reason
    if_exists: str | None = None
    when: Condition = ALWAYS


class Export(NamedTuple):
    """A variable that hooks of the runtime read before there is a container."""

    name: str
    value: str
    reason: Reason
    when: Condition = ALWAYS


class Prefix(NamedTuple):
    """Words in the container before each rank's command, such as a script of the site's."""

    reason: Reason
    words: tuple[str, ...]
    when: Condition = ALWAYS


class Bundle(NamedTuple):
    """Variables and options of who starts the ranks: all of them together, or none.

    Attributes:
        env: values by variable.
        network: values for srun's ``--network``, which takes several.
        srun: other options of srun; *mpiexec*, *flux*: of that, and of flux run.
    """

    name: str
    reason: Reason
    env: Mapping[str, Word] = {}
    network: tuple[str, ...] = ()
    srun: tuple[str, ...] = ()
    mpiexec: tuple[str, ...] = ()
    flux: tuple[str, ...] = ()
    when: Condition = ALWAYS

    def is_for(self, keys: Sequence[str]) -> bool:
        """Tell whether it says something of a starter, whose keys of a bundle these are.

        Variables that go with another one's options alone are nothing for its jobs.
        """
        return any(getattr(self, key) for key in keys)
