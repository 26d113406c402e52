"""What one job will do, fully resolved: the model. ``resolve`` makes it.

Entries of the profile stand in it as they are, except that their conditions are what the
job must still test.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from envcfg.bind import Bind
from envcfg.findings import Finding
from envcfg.launch.diagnostics import Diagnostics
from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.entries import Argument, Bundle, Case, Export
from envcfg.profile.facts import Fact, Reason
from envcfg.profile.model import Expect, Masks, Rendezvous, Run, Scratch, Visibility
from envcfg.profile.scheduler import Module
from envcfg.profile.scope import Scope
from envcfg.profile.words import Word

# What stops a script in a wrong place, as the user allows it: it is one of several tasks;
# nodes stay idle; the cluster is another; ranks of several nodes meet at the loopback.
Allowed = Literal["tasks", "nodes", "cluster", "loopback"]
ALLOWABLE: tuple[Allowed, ...] = get_args(Allowed)


class Read(NamedTuple):
    """What was read in the image.

    Attributes:
        facts: the value of each, and where in the image it stands.
        bases: the images that it was made from, the nearest first.
        stamp: size and time of change of its file, as ``stat -c '%s %Y'`` says them; empty
            where nothing was read, or no file.
    """

    facts: Mapping[str, tuple[str, str]] = {}
    bases: tuple[str, ...] = ()
    stamp: str = ""


class Options(NamedTuple):
    """What the user has asked for, checked for form only.

    Attributes:
        container: path or URI of the image; None runs without a container.
        image_file: the file that *container* leads to, if it is a link.
        read: what was read in it.
        runtime: one of ``runtimes.NAMES``; None lets profile and job choose.
        found: programs of runtimes on PATH here, if the profile's differ in kind.
        ranks: processes per node; None leaves it to the job.
        starter_args: options for the program that starts the tasks, by its name.
        local_rank_at: after how many words of the command ``--local_rank=N`` belongs.
        local_rank_option: how that is spelled.
        agent_options: options for torchrun or accelerate, as the command gave them.
        has_mode: those options say what accelerate is to start.
        settings: from ``--set`` (a word) and ``--unset`` (None), in order.
        facts: stated by the user.
        modules: to be loaded, beside those of the profile; *no_modules*: without those.
        command: the program and its arguments; empty for a script of several steps.
        allowed: in which places the script may run, though they look wrong.
        as_said: a launch line says who starts how many tasks, and what each of them runs.
    """

    container: str | None = None
    image_file: str | None = None
    read: Read = Read()
    runtime: str | None = None
    found: tuple[str, ...] = ()
    runtime_args: tuple[str, ...] = ()
    binds: tuple[Bind, ...] = ()
    launcher: str | None = None
    ranks: int | None = None
    starter_args: Mapping[str, tuple[str, ...]] = {}
    agent_options: tuple[str, ...] = ()
    has_mode: bool = False
    local_rank_at: int | None = None
    local_rank_option: str = "--local_rank"
    settings: Mapping[str, Word | None] = {}
    facts: Mapping[str, str] = {}
    modules: tuple[str, ...] = ()
    no_modules: bool = False
    command: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    as_said: bool = False
    diagnostics: Diagnostics = Diagnostics()


class Planned(NamedTuple):
    """One variable of the job: the first case that holds there applies."""

    name: str
    cases: tuple[Case, ...]
    force: bool = False
    directory: bool = False
    scope: Scope = "host"


class PlannedMount(NamedTuple):
    """A bind, as *text* in the words of the runtime; not if *if_exists* is absent.

    In *text* ``STAND_IN`` is for a source that variables of the job tell.
    """

    bind: Bind
    text: str
    reason: Reason
    if_exists: str | None = None
    when: Condition = ALWAYS


class Container(NamedTuple):
    """How the program gets into its image.

    Attributes:
        is_file: a path, not a reference.
        runtimes: by name; the first that the job has is taken. They share a template.
        prefix: words before each rank's command, in the container.
        stamp: of its file when facts were read in it; see ``Read``.
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
        clusters: globs on the cluster's name; any cluster, where there are none.
        allowed: what does not stop it there.
    """

    clusters: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()


class Plan(NamedTuple):
    """What one job will do.

    Attributes:
        profile_hash: SHA-256 over the bytes of the profile's files, hexadecimal.
        run: when and with what the profile ran on its system, if it did.
        starter: who starts the tasks; one of ``starters.STARTERS``.
        facts: all that was known when the plan was made, with who says so.
        settings: in the order in which they are set.
        bundles: what is set together with options of srun.
        started: options of the starter that the system needs.
        local_rank_at: after how many words of the command ``--local_rank=N`` belongs.
        local_rank_option: how that is spelled.
        has_mode: the agent's options say what it is to start.
        contract: the launcher's template tells each rank what its library reads.
        agent: options of the launcher that starts the ranks of a node.
        handed_on: variables of the job that the rank part refers to.
        modules: in the order in which they are loaded.
        known_modules: those of them that the profile has, also where none is loaded.
        scratch: only if a setting uses it.
        preflight: the command line that looks at nodes and network before the step.
        as_said: the options of the starter say how many tasks there are, or it does.
        place: where the script may run; it looks when it does.
        defaults: options that come from files, each with its place.
        notes: what the user should know.
    """

    profile: str
    profile_hash: str
    launcher: str
    starter: str
    container: Container | None
    settings: tuple[Planned, ...]
    handed_on: tuple[str, ...]
    facts: Mapping[str, Fact]
    command: tuple[str, ...]
    run: Run | None = None
    bundles: tuple[Bundle, ...] = ()
    started: tuple[Argument, ...] = ()
    agent: tuple[Argument, ...] = ()
    has_mode: bool = False
    contract: bool = False
    local_rank_at: int | None = None
    local_rank_option: str = "--local_rank"
    ranks: int | None = None
    gpus: int | None = None
    masks: Masks | None = None
    visibility: Visibility | None = None
    rendezvous: Rendezvous | None = None
    modules: tuple[Module, ...] = ()
    known_modules: tuple[Module, ...] = ()
    scratch: Scratch | None = None
    expect: Expect | None = None
    diagnostics: Diagnostics = Diagnostics()
    preflight: tuple[str, ...] = ()
    as_said: bool = False
    place: Place = Place()
    defaults: tuple[str, ...] = ()
    notes: tuple[Finding, ...] = ()
