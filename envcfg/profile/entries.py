"""The entries of a profile for a job: frozen data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.common.bind import Bind
from envcfg.common.characters import Texts
from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.job_facts import Reason
from envcfg.profile.setting_scope import Scope
from envcfg.profile.words import Word, references


class Case(NamedTuple):
    """A value and the condition under which it applies; value None means *unset*."""

    value: Word | None
    reason: Reason
    when: Condition = ALWAYS


class Setting(NamedTuple):
    """One variable: its cases, first match wins, then ``otherwise``."""

    name: str
    cases: tuple[Case, ...]
    # The value if no case applies or a fact is unknown; None leaves the variable
    # unchanged.
    otherwise: Word | None = None
    optional: bool = False  # left alone if its value refers to an unset variable
    force: bool = False  # overrides even the user's setting in the job
    # The value is a folder, created before the program starts, or this folder in it.
    directory: str | None = None
    scope: Scope = "host"  # of a plan: the place where it is made

    @property
    def references(self) -> list[str]:
        """The names that the values of its cases refer to."""
        return [name for case in self.cases for name in references(case.value or ())]


class BindMount(NamedTuple):
    """A bind mount."""

    bind: Bind
    reason: Reason
    # A path that must exist in the job, or the mount is left out; None: the mount is
    # required.
    if_exists: str | None = None
    when: Condition = ALWAYS
    # Of a plan: the bind in the syntax of the runtime, with ``STAND_IN`` for a source
    # that depends on variables of the job.
    text: str = ""


class Argument(NamedTuple):
    """A word for the runtime, a starter or an agent; *if_exists* as for a mount."""

    word: str
    reason: Reason
    if_exists: str | None = None
    when: Condition = ALWAYS


class Export(NamedTuple):
    """A variable that hooks of the runtime read before the container exists."""

    name: str
    value: str
    reason: Reason
    when: Condition = ALWAYS


class Prefix(NamedTuple):
    """Words in the container before each rank's command, such as a site's script."""

    reason: Reason
    words: Texts
    when: Condition = ALWAYS


class Bundle(NamedTuple):
    """Variables and options of a starter that apply only together."""

    name: str
    reason: Reason
    env: Mapping[str, Word] = {}  # values by variable
    network: Texts = ()  # values for srun's `--network`, which takes several
    # Other options of srun; *mpiexec*, *flux*: options of these programs.
    srun: Texts = ()
    mpiexec: Texts = ()
    flux: Texts = ()
    when: Condition = ALWAYS

    def is_for(self, keys: Sequence[str]) -> bool:
        """Return whether the bundle has options of the starter with these keys.

        Variables that belong to another starter's options have no use in its jobs.
        """
        return any(getattr(self, key) for key in keys)
