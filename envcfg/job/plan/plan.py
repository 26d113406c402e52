"""The model of one job, fully resolved by ``resolve``.

Profile entries are kept unchanged, except that each condition holds only the tests that
the job must still make.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from envcfg.common.bind import Bind
from envcfg.common.characters import whole_number
from envcfg.common.findings import Finding
from envcfg.job.plan.diagnostics import Diagnostics
from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.entries import Argument, BindMount, Bundle, Case, Export
from envcfg.profile.job_facts import Fact, Reason
from envcfg.profile.profile_model import (
    Expect,
    Masks,
    Rendezvous,
    Scratch,
    Visibility,
)
from envcfg.profile.scheduler_settings import EnvironmentModule
from envcfg.profile.setting_scope import Scope
from envcfg.profile.words import Word

# Checks of the place that the user may switch off: the script is one of several
# tasks, nodes stay idle, the cluster differs, or ranks of several nodes meet at the
# loopback address.
Allowed = Literal["tasks", "nodes", "cluster", "loopback"]
ALLOWABLE: tuple[Allowed, ...] = get_args(Allowed)


class ImageFacts(NamedTuple):
    """The facts read in the image.

    Attributes:
        facts: the value of each fact, and its place in the image.
        bases: the images from which it was built, the nearest first.
        stamp: size and modification time of the image file, as ``stat -c '%s %Y'``
            prints them; empty if nothing was read, or if the image is not a file.
        imports: the launcher that an installed command imports, and the file.
        plugin: whether NCCL or RCCL loads a plug-in for libfabric: ``present``,
            ``missing``, ``unknown``; ``needless`` without NCCL and RCCL.
    """

    facts: Mapping[str, tuple[str, str]] = {}
    bases: tuple[str, ...] = ()
    stamp: str = ""
    imports: Mapping[str, tuple[str, str]] = {}
    plugin: str = "unknown"


class ProgramStart(NamedTuple):
    """The words that describe the job to a program that starts the ranks of its node.

    Attributes:
        name: its name in messages.
        place: the number of words of the command before the options.
        words: options, and variables as ``NAME=VALUE``; see ``program_start.ROLES``.
        source: the source of the words, read on *date*.
        ranks: on each node, if a number is known.
        is_for_several: the words are given only on several nodes.
        others: options of the nodes after the first, for the same case.
        port: of a server, and ``path`` the path that it answers when it is ready.
    """

    name: str
    place: int
    words: tuple[str, ...]
    source: str
    date: str
    ranks: int | None
    is_for_several: bool = False
    others: tuple[str, ...] = ()
    port: str = ""
    path: str = ""

    @property
    def counts_ranks(self) -> bool:
        """Whether its words contain the number of ranks."""
        roles = ("{ranks}", "{all_ranks}", "{first_rank}")
        return any(role in word for word in self.words for role in roles)


class Options(NamedTuple):
    """The user's options, checked for form only.

    Attributes:
        container: path or URI of the image; None runs without a container.
        image_file: the file that *container* leads to, if it is a link.
        image_facts: the facts read in the image.
        runtime: one of ``runtimes.NAMES``; None lets profile and job choose.
        runtimes_here: container runtimes on PATH here, if the profile names runtimes of
            several kinds.
        ranks: processes per node; None leaves it to the job.
        nodes: the number of nodes that the job requests; None if it is not known.
        gpus: the number of GPUs that it requests on each node; None if it is not known.
        starter_args: options for the program that starts the tasks, by its name.
        local_rank_at: the number of words of the command before ``--local_rank=N``.
        local_rank_option: the spelling of that option.
        agent_options: options for torchrun or accelerate, as the command gave them.
        has_mode: those options already name the mode of accelerate.
        program: the words for a program that starts the ranks of its node.
        host_parts: the plug-in of this machine and its libraries, for an image without.
        settings: from ``--set`` (a word) and ``--unset`` (None), in order.
        facts: stated by the user.
        modules: modules to load in addition to those of the profile; *no_modules*:
            without those.
        command: the program and its arguments; empty for a script of several steps.
        allowed: checks of the place that the user switched off.
        keeps_launch_line: a launch line already fixes the starter, the tasks and their
            command.
        project_files: files of the project that decide what the job runs.
    """

    container: str | None = None
    image_file: str | None = None
    # The empty defaults are shared by all instances. This is safe because a mapping
    # of Options is never changed in place.
    image_facts: ImageFacts = ImageFacts()
    runtime: str | None = None
    runtimes_here: tuple[str, ...] = ()
    runtime_args: tuple[str, ...] = ()
    binds: tuple[Bind, ...] = ()
    host_parts: tuple[BindMount, ...] = ()
    launcher: str | None = None
    ranks: int | None = None
    nodes: int | None = None
    gpus: int | None = None
    starter_args: Mapping[str, tuple[str, ...]] = {}
    agent_options: tuple[str, ...] = ()
    has_mode: bool = False
    program: ProgramStart | None = None
    local_rank_at: int | None = None
    local_rank_option: str = "--local_rank"
    settings: Mapping[str, Word | None] = {}
    facts: Mapping[str, str] = {}
    modules: tuple[str, ...] = ()
    no_modules: bool = False
    command: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    keeps_launch_line: bool = False
    diagnostics: Diagnostics = Diagnostics()
    project_files: tuple[str, ...] = ()

    @property
    def known_nodes(self) -> int | None:
        """The number of nodes, if the job requests it or the user states it."""
        return self.nodes or whole_number(self.facts.get("nodes"))


class PlannedVariable(NamedTuple):
    """One variable of the job; the first case with a true condition applies."""

    name: str
    cases: tuple[Case, ...]
    force: bool = False
    directory: bool = False
    scope: Scope = "host"


class PlannedMount(NamedTuple):
    """A bind, with its *text* in the syntax of the runtime; skipped if *if_exists* is
    absent.

    In *text*, ``STAND_IN`` replaces a source that depends on variables of the job.
    """

    bind: Bind
    text: str
    reason: Reason
    if_exists: str | None = None
    when: Condition = ALWAYS


class Container(NamedTuple):
    """The container of the program, and the arguments to enter it.

    Attributes:
        is_file: a path, not a reference.
        runtimes: names in order of preference; the job takes the first on PATH. They
            share a template.
        prefix: words before each rank's command, in the container.
        stamp: the stamp of its file when the facts were read; see ``ImageFacts``.
    """

    image: str
    is_file: bool
    runtimes: tuple[str, ...]
    verb: str
    arguments: tuple[Argument, ...]
    binds: tuple[PlannedMount, ...]
    exports: tuple[Export, ...] = ()
    prefix: tuple[str, ...] = ()
    stamp: str = ""


class Place(NamedTuple):
    """Where the script may run.

    Attributes:
        clusters: globs on the cluster's name; any cluster, if there are none.
        allowed: the checks that do not stop it.
    """

    clusters: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()


class Plan(NamedTuple):
    """The complete description of one job.

    Attributes:
        profile_hash: SHA-256 over the bytes of the profile's files, hexadecimal.
        starter: the program that starts the tasks; one of ``starters.STARTERS``.
        facts: all facts known when the plan was made, with their sources.
        settings: in the order in which they are set.
        bundles: variables that are set only together with options of srun.
        starter_options: options of the starter that the system needs.
        local_rank_at: the number of words of the command before ``--local_rank=N``.
        local_rank_option: the spelling of that option.
        has_mode: the agent's options already name its mode.
        contract: the template of the launcher sets the variables that the ranks'
            library reads.
        agent: options of the launcher or program that starts the ranks of a node.
        program: the place and source of these options, if the command starts ranks.
        handed_on: variables of the job that the rank part refers to.
        modules: in the order in which they are loaded.
        known_modules: the modules of the profile among them, even if none is loaded.
        scratch: only if a setting uses it.
        preflight: the command line that checks nodes and network before the step.
        has_fixed_tasks: the options of the starter, or the starter itself, fix the
            number of tasks.
        place: the clusters and checks of the place, tested when the script runs.
        defaults: options from files, each with its file and line.
        project_files: files of the project that decide what the job runs.
        notes: findings for the user.
    """

    profile: str
    profile_hash: str
    launcher: str
    starter: str
    container: Container | None
    settings: tuple[PlannedVariable, ...]
    handed_on: tuple[str, ...]
    facts: Mapping[str, Fact]
    command: tuple[str, ...]
    bundles: tuple[Bundle, ...] = ()
    starter_options: tuple[Argument, ...] = ()
    agent: tuple[Argument, ...] = ()
    program: ProgramStart | None = None
    has_mode: bool = False
    contract: bool = False
    local_rank_at: int | None = None
    local_rank_option: str = "--local_rank"
    ranks: int | None = None
    gpus: int | None = None
    masks: Masks | None = None
    visibility: Visibility | None = None
    rendezvous: Rendezvous | None = None
    modules: tuple[EnvironmentModule, ...] = ()
    known_modules: tuple[EnvironmentModule, ...] = ()
    scratch: Scratch | None = None
    expect: Expect | None = None
    diagnostics: Diagnostics = Diagnostics()
    preflight: tuple[str, ...] = ()
    has_fixed_tasks: bool = False
    place: Place = Place()
    defaults: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ()
    notes: tuple[Finding, ...] = ()
