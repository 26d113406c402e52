"""The model of one job, fully resolved by ``resolve``.

Profile entries are kept unchanged, except that each condition holds only the tests that
the job must still make.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from envcfg.backends.runtimes.runtime import Runtime
from envcfg.backends.starters.starter import Starter
from envcfg.common.bind import Bind
from envcfg.common.characters import whole_number
from envcfg.common.findings import Finding
from envcfg.profile.entries import Argument, BindMount, Bundle, Export, Setting
from envcfg.profile.job_facts import Fact, Reason
from envcfg.profile.profile_model import Masks, Profile, Scratch, Visibility
from envcfg.profile.scheduler_settings import EnvironmentModule
from envcfg.profile.setting_scope import INSIDE
from envcfg.profile.words import Word, parse_word

# Checks of the place that the user may switch off: the script is one of several
# tasks, nodes stay idle, the cluster differs, or ranks of several nodes meet at the
# loopback address.
Allowed = Literal["tasks", "nodes", "cluster", "loopback"]
ALLOWABLE: tuple[Allowed, ...] = get_args(Allowed)


class ImageFacts(NamedTuple):
    """The facts read in the image."""

    # The value of each fact, and its place in the image.
    facts: Mapping[str, tuple[str, str]] = {}
    bases: tuple[str, ...] = ()  # the images from which it was built, the nearest first
    # Size and modification time of the image file, as `stat -c '%s %Y'` prints them;
    # empty if nothing was read, or if the image is not a file.
    stamp: str = ""
    # The launcher that an installed command imports, and the file.
    imports: Mapping[str, tuple[str, str]] = {}
    # Whether NCCL or RCCL loads a plug-in for libfabric: `present`, `missing`,
    # `unknown`; `needless` without NCCL and RCCL.
    plugin: str = "unknown"


class ProgramStart(NamedTuple):
    """The words that describe the job to a program that starts the ranks of its node."""

    name: str  # its name in messages
    place: int  # the number of words of the command before the options
    # Options, and variables as `NAME=VALUE`; see `program_start.ROLES`.
    words: tuple[str, ...]
    reason: Reason  # with the source of the words
    ranks: int | None  # on each node, if a number is known
    is_for_several: bool = False  # the words are given only on several nodes
    # Options of the nodes after the first, for the same case.
    others: tuple[str, ...] = ()
    port: str = ""  # of a server, and `path` the path that it answers when it is ready
    path: str = ""

    @property
    def counts_ranks(self) -> bool:
        """Whether its words contain the number of ranks."""
        roles = ("{ranks}", "{all_ranks}", "{first_rank}")
        return any(role in word for word in self.words for role in roles)


class Statement(NamedTuple):
    """A statement in the files of a program that starts processes, or joins them."""

    kind: str  # of the program that makes it: rank, node or once
    text: str  # `calls NAME`, `starts NAME`, `reads NAME`
    path: str
    line: int
    is_sure: bool  # False if a condition decides whether it runs
    row: Mapping[str, Any]  # of `programs.yaml` or `program_signs.yaml`
    words: Sequence[str] = ()  # of the command, after those of the row

    def __str__(self) -> str:
        """Return the statement with its place, and the start that follows from it."""
        often = {"once": "job"}.get(self.kind, self.kind)
        where = f" (line {self.line})" if self.line else ""
        return f"{self.path or 'the command'} {self.text}{where}: once per {often}"


class Options(NamedTuple):
    """The user's options, checked for form only.

    A value that is used as the command line has it has the name of its option.
    """

    # Path or URI of the image; None runs without a container.
    container: str | None = None
    image_file: str | None = None  # the file that *container* leads to, if it is a link
    # The empty defaults are shared by all instances. This is safe because a mapping
    # of Options is never changed in place.
    image_facts: ImageFacts = ImageFacts()  # the facts read in the image
    # One of `runtimes.NAMES`; None lets profile and job choose.
    runtime: str | None = None
    # Container runtimes on PATH here, if the profile names runtimes of several kinds.
    runtimes_here: tuple[str, ...] = ()
    runtime_args: tuple[str, ...] = ()
    binds: tuple[Bind, ...] = ()
    # The plug-in of this machine and its libraries, for an image without.
    host_parts: tuple[BindMount, ...] = ()
    # The statements that decide how the program starts; see `program_start`.
    statements: tuple[Statement, ...] = ()
    launcher: str | None = None
    ranks: int | None = None  # processes per node; None leaves it to the job
    # The number of nodes that the job requests; None if it is not known.
    nodes: int | None = None
    # The number of GPUs that it requests on each node; None if it is not known.
    gpus: int | None = None
    # Options for the program that starts the tasks, by its name.
    starter_args: Mapping[str, tuple[str, ...]] = {}
    # Options for torchrun or accelerate, as the command gave them.
    agent_options: tuple[str, ...] = ()
    has_mode: bool = False  # those options already name the mode of accelerate
    # The words for a program that starts the ranks of its node.
    program: ProgramStart | None = None
    # The number of words of the command before `--local_rank=N`.
    local_rank_at: int | None = None
    local_rank_option: str = "--local_rank"  # the spelling of that option
    # From `--set` (a word) and `--unset` (None), in order.
    settings: Mapping[str, Word | None] = {}
    facts: Mapping[str, str] = {}  # stated by the user
    modules: tuple[str, ...] = ()  # modules to load in addition to those of the profile
    # The program and its arguments; empty for a script of several steps.
    command: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()  # checks of the place that the user switched off
    # A launch line already fixes the starter, the tasks and their command.
    keeps_launch_line: bool = False
    # Files of the project that decide what the job runs.
    project_files: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()  # options from files, each with its file and line
    # The on/off options that are on, each with its module of bash, if any.
    switches: Mapping[str, str] = {}
    report_environment: tuple[int, ...] = ()  # ranks that record their environment
    # Folder for NCCL's log, a file per process; empty: the job's output.
    nccl_debug: Word | None = None
    # The step is watched, and its network judged: `warn` or `stop`.
    verify: str | None = None
    # Seconds until the watcher reports on the GPUs; 0: never, None: the watcher's
    # default.
    verify_after: int | None = None
    # The seconds without output after which `envcfg hang` is asked, and the action:
    # `report` or `stop`.
    on_silence: tuple[int, str] | None = None
    # Folder for the files of PyTorch's Flight Recorder, with a folder per job; None:
    # nothing is recorded.
    flight_recorder: Word | None = None
    profile_rank: tuple[int, ...] = ()  # ranks that run under a profiler
    # The words of the profiler before the program.
    profiler_words: tuple[Word, ...] = ()
    # Shell code that runs before the program, in bash; a path is sourced.
    setup: str = ""
    # The parts to copy to each node first: `image`, `env` or `env=PATH`.
    stage: tuple[str, ...] = ()
    # Folder in which compile caches outlive the job; None: they do not.
    keep_caches: Word | None = None

    @property
    def known_nodes(self) -> int | None:
        """The number of nodes, if the job requests it or the user states it."""
        return self.nodes or whole_number(self.facts.get("nodes"))

    @property
    def is_watched(self) -> bool:
        """Whether envcfg watches the step while it runs."""
        return bool(self.verify or self.on_silence)

    @property
    def log_folder(self) -> Word | None:
        """Folder for NCCL's log; the job's own folder if it is only for verification."""
        if self.verify and self.nccl_debug is None:
            return parse_word("${PWD}")
        return self.nccl_debug or None


class Container(NamedTuple):
    """The container of the program, and the arguments to enter it."""

    image: str
    is_file: bool  # a path, not a reference
    # In order of preference; the job takes the first on PATH. They share a template.
    runtimes: tuple[Runtime, ...]
    verb: str
    arguments: tuple[Argument, ...]
    binds: tuple[BindMount, ...]
    exports: tuple[Export, ...] = ()
    prefix: tuple[str, ...] = ()  # words before each rank's command, in the container
    stamp: str = ""  # the stamp of its file when the facts were read; see `ImageFacts`


class Plan(NamedTuple):
    """The complete description of one job."""

    profile: Profile
    profile_hash: str  # SHA-256 over the bytes of the profile's files, hexadecimal
    options: Options  # the user's, with those that the command itself named
    # All facts known when the plan was made, with their sources.
    facts: Mapping[str, Fact]
    settings: tuple[Setting, ...]  # in the order in which they are set
    container: Container | None
    launcher: str
    starter: Starter  # the program that starts the tasks
    # Options of the starter that the system needs.
    starter_options: tuple[Argument, ...]
    # Options of the launcher or program that starts the ranks of a node.
    agent: tuple[Argument, ...]
    # Variables that are set only together with options of srun.
    bundles: tuple[Bundle, ...]
    # The template of the launcher sets the variables that the ranks' library reads.
    contract: bool
    ranks: int | None
    masks: Masks | None
    modules: tuple[EnvironmentModule, ...]  # in the order in which they are loaded
    # The modules of the profile among them, even if none is loaded.
    known_modules: tuple[EnvironmentModule, ...]
    scratch: Scratch | None  # only if a setting uses it
    notes: tuple[Finding, ...]
    # The command line that checks nodes and network before the step.
    preflight: tuple[str, ...] = ()

    @property
    def handed_on(self) -> tuple[str, ...]:
        """The variables of the job that the rank part refers to."""
        known = INSIDE.union(setting.name for setting in self.settings)
        names = (
            name
            for setting in self.settings
            if setting.scope != "host"
            for name in setting.references
            # A variable of the plan travels with its setting; only variables from
            # outside must be passed on.
            if name not in known
        )
        return tuple(dict.fromkeys(names))

    @property
    def visibility(self) -> Visibility | None:
        """The layer of GPU masks; a launch line of the user keeps its own."""
        return None if self.options.keeps_launch_line else self.profile.visibility
