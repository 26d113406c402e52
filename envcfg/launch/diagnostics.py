"""What a job is asked to tell of itself: the model; pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from envcfg.errors import UsageError
from envcfg.findings import Place
from envcfg.profile.facts import Reason
from envcfg.profile.words import Word, parse_word

PROFILERS = ("rocprof", "rocprofv3", "nsys", "py-spy")
_OUT = "envcfg-{name}-${{ENVCFG_JOB}}-rank${{RANK}}"


class Diagnostics(NamedTuple):
    """What was asked for.

    Attributes:
        affinity: each rank says which CPUs it may use.
        smoke_test: GPUs are counted on each node before the step.
        preflight: nodes and network are looked at before the step.
        nccl: NCCL and RCCL say what ``envcfg check-log`` reads.
        nccl_log: folder for NCCL's log, a file per process; None: no such folder.
        verify: the step is watched, and its network judged: ``warn``, ``stop``, or empty.
        silence: seconds without output after which somebody asks who holds the job up, and
            what follows: ``report`` or ``stop``.
        flight: folder for what PyTorch's Flight Recorder writes, a folder per job in it;
            None: it records nothing.
        removes_log: what is in that folder goes when the step has succeeded.
        profiled: ranks that run under *profiler*, whose words come before the program.
        reported: ranks that write down their environment.
        setup: shell code that runs before the program, in bash; a path is sourced.
        stage: what is copied to each node first: ``image``, ``env`` or ``env=PATH``.
    """

    affinity: bool = False
    smoke_test: bool = False
    preflight: bool = False
    nccl: bool = False
    nccl_log: Word | None = None
    verify: str = ""
    silence: tuple[int, str] | None = None
    flight: Word | None = None
    removes_log: bool = False
    profiled: tuple[int, ...] = ()
    profiler: tuple[Word, ...] = ()
    reported: tuple[int, ...] = ()
    setup: str = ""
    stage: tuple[str, ...] = ()

    @property
    def watched(self) -> bool:
        """Whether envcfg watches the step while it runs."""
        return bool(self.verify or self.silence)

    @property
    def log_folder(self) -> Word | None:
        """Folder for NCCL's log; where it is only to be verified, the job's own."""
        return parse_word("${PWD}") if self.verify and not self.nccl else self.nccl_log


def profiler_words(name: str, arguments: Sequence[str]) -> tuple[Word, ...]:
    """Return the words that run a program under the profiler *name*.

    Args:
        name: one of :data:`PROFILERS`.
        arguments: further options, put before the program.
    """
    from envcfg.datafile import load_knowledge_file

    known: Mapping[str, Mapping[str, list[str]]] = load_knowledge_file("profilers.yaml")
    out = _OUT.format(name=name)
    words = [word.replace("${OUT}", out) for word in known[name]["words"]]
    end = words.index("--") if "--" in words else len(words)
    return (
        *(parse_word(word) for word in words[:end]),
        *((word,) for word in arguments),
        *(parse_word(word) for word in words[end:]),
    )


def log_settings(diagnostics: Diagnostics) -> dict[str, Word]:
    """Return the settings that make NCCL, RCCL and Python tell what ``check-log`` reads.

    NCCL says all of it as communicators begin: a program that trains pays nothing. Python
    says where it is when the step is stopped, as it is silent.
    """
    settings: dict[str, Word] = {}
    if diagnostics.silence and diagnostics.silence[1] == "stop":
        settings["PYTHONFAULTHANDLER"] = ("1",)
    if not (diagnostics.nccl or diagnostics.verify):
        return settings
    # BOOTSTRAP and ENV are said by default too; NET is not, and a choice drops the others.
    settings["NCCL_DEBUG"] = ("INFO",)
    settings["NCCL_DEBUG_SUBSYS"] = ("INIT,BOOTSTRAP,ENV,NET",)
    folder = diagnostics.log_folder
    if folder is not None:
        settings["NCCL_DEBUG_FILE"] = (
            *_absolute(folder),
            *parse_word("/nccl-${ENVCFG_JOB}.${BASHPID}/nccl-%h-%p.log"),
        )
    return settings


def flight_settings(diagnostics: Diagnostics) -> dict[str, tuple[Word, Reason]]:
    """Return the settings of PyTorch's Flight Recorder, each with its reason.

    The folder is of one job, as files there are named by rank alone.
    """
    if diagnostics.flight is None:
        return {}
    from envcfg.datafile import load_knowledge_file

    folder = (*_absolute(diagnostics.flight), *parse_word("/flight-${ENVCFG_JOB}"))
    place = Place("command line", 1)
    known: Mapping[str, Mapping[str, str]] = load_knowledge_file("flight_recorder.yaml")
    settings = {}
    for name, each in known.items():
        rest = each["value"].removeprefix("${OUT}")  # which is the folder
        word = (
            parse_word(rest) if rest == each["value"] else (*folder, *parse_word(rest))
        )
        reason = Reason(each["why"], each["source"], str(each["date"]), place)
        settings[name] = word, reason
    return settings


def check_log_folder(diagnostics: Diagnostics, inside: Collection[str]) -> None:
    """Check that the folders of NCCL's log and of Flight Recorder can be made before.

    Args:
        diagnostics: what was asked for.
        inside: variables whose values are made in the tasks.

    Raises:
        UsageError: if its name is another one in each task.
    """
    for part in diagnostics.flight or ():
        if not isinstance(part, str) and part.name in inside:
            name = f"--flight-recorder refers to {part.name}"
            said = f"{name}, which is made in the tasks only"
            raise UsageError(said, hint="name one folder for all ranks")
    for part in diagnostics.nccl_log or ():
        hint = "name one folder for all: each process writes its own file there"
        if isinstance(part, str) and "%" in part:
            msg = (
                f"--nccl-debug {part}: NCCL reads % as a sign, also in a folder's name"
            )
            raise UsageError(msg, hint=hint)
        if not isinstance(part, str) and part.name in inside:
            msg = f"--nccl-debug refers to {part.name}, which is made in the tasks only"
            raise UsageError(msg, hint=hint)


def says_log(diagnostics: Diagnostics) -> bool:
    """Tell whether NCCL's lines go to the job's output, where they should come at once."""
    return diagnostics.nccl and diagnostics.nccl_log is None


def _absolute(folder: Word) -> Word:
    """Return a folder that is named from where the job starts, as a program may move."""
    first = folder[0] if folder else ""
    is_full = not isinstance(first, str) or first.startswith("/")
    return folder if is_full else (*parse_word("${PWD}/"), *folder)


def is_path(setup: str) -> bool:
    """Tell whether *setup* names a file, not commands: one word without shell signs."""
    return not any(sign in " \t\n;&|<>()$`\"'*?[" for sign in setup)
