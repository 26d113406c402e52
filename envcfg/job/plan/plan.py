"""The model of one job, fully resolved by ``resolve``.

Profile entries are kept unchanged, except that each condition holds only the tests that
the job must still make.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from envcfg.backends.runtimes.runtime import Runtime
from envcfg.backends.starters.starter import Starter
from envcfg.common.bind import Bind
from envcfg.common.characters import whole_number
from envcfg.common.findings import Finding
from envcfg.profile.entries import Argument, BindMount, Bundle, Export, Setting
from envcfg.profile.job_facts import Fact
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

    A value that is used as the command line has it has the name of its option.

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
        modules: modules to load in addition to those of the profile.
        command: the program and its arguments; empty for a script of several steps.
        allowed: checks of the place that the user switched off.
        keeps_launch_line: a launch line already fixes the starter, the tasks and their
            command.
        project_files: files of the project that decide what the job runs.
        defaults: options from files, each with its file and line.
        switches: the on/off options that are on, each with its module of bash, if any.
        report_environment: ranks that record their environment.
        nccl_debug: folder for NCCL's log, a file per process; empty: the job's output.
        verify: the step is watched, and its network judged: ``warn`` or ``stop``.
        verify_after: seconds until the watcher reports on the GPUs; 0: never, None: the
            watcher's default.
        on_silence: the seconds without output after which ``envcfg hang`` is asked, and
            the action: ``report`` or ``stop``.
        flight_recorder: folder for the files of PyTorch's Flight Recorder, with a folder
            per job; None: nothing is recorded.
        profile_rank: ranks that run under a profiler.
        profiler_words: the words of the profiler before the program.
        setup: shell code that runs before the program, in bash; a path is sourced.
        stage: the parts to copy to each node first: ``image``, ``env`` or ``env=PATH``.
        keep_caches: folder in which compile caches outlive the job; None: they do not.
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
    command: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    keeps_launch_line: bool = False
    project_files: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    switches: Mapping[str, str] = {}
    report_environment: tuple[int, ...] = ()
    nccl_debug: Word | None = None
    verify: str | None = None
    verify_after: int | None = None
    on_silence: tuple[int, str] | None = None
    flight_recorder: Word | None = None
    profile_rank: tuple[int, ...] = ()
    profiler_words: tuple[Word, ...] = ()
    setup: str = ""
    stage: tuple[str, ...] = ()
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
    """The container of the program, and the arguments to enter it.

    Attributes:
        is_file: a path, not a reference.
        runtimes: in order of preference; the job takes the first on PATH. They share a
            template.
        prefix: words before each rank's command, in the container.
        stamp: the stamp of its file when the facts were read; see ``ImageFacts``.
    """

    image: str
    is_file: bool
    runtimes: tuple[Runtime, ...]
    verb: str
    arguments: tuple[Argument, ...]
    binds: tuple[BindMount, ...]
    exports: tuple[Export, ...] = ()
    prefix: tuple[str, ...] = ()
    stamp: str = ""


class Plan(NamedTuple):
    """The complete description of one job.

    Attributes:
        profile_hash: SHA-256 over the bytes of the profile's files, hexadecimal.
        options: the user's, with those that the command itself named.
        facts: all facts known when the plan was made, with their sources.
        settings: in the order in which they are set.
        starter: the program that starts the tasks.
        starter_options: options of the starter that the system needs.
        agent: options of the launcher or program that starts the ranks of a node.
        bundles: variables that are set only together with options of srun.
        contract: the template of the launcher sets the variables that the ranks'
            library reads.
        modules: in the order in which they are loaded.
        known_modules: the modules of the profile among them, even if none is loaded.
        scratch: only if a setting uses it.
        preflight: the command line that checks nodes and network before the step.
        notes: findings for the user.
    """

    profile: Profile
    profile_hash: str
    options: Options
    facts: Mapping[str, Fact]
    settings: tuple[Setting, ...]
    container: Container | None
    launcher: str
    starter: Starter
    starter_options: tuple[Argument, ...]
    agent: tuple[Argument, ...]
    bundles: tuple[Bundle, ...]
    contract: bool
    ranks: int | None
    masks: Masks | None
    modules: tuple[EnvironmentModule, ...]
    known_modules: tuple[EnvironmentModule, ...]
    scratch: Scratch | None
    notes: tuple[Finding, ...]
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
