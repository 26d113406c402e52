"""The model of the diagnostics of a job; pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from envcfg.common.errors import UsageError
from envcfg.common.findings import Place
from envcfg.profile.job_facts import Reason
from envcfg.profile.words import Word, parse_word

PROFILERS = ("rocprof", "rocprofv3", "nsys", "py-spy")
_OUT = "envcfg-{name}-${{ENVCFG_JOB}}-rank${{RANK}}"


class Diagnostics(NamedTuple):
    """The requested diagnostics.

    Attributes:
        affinity: each rank prints the CPUs that it may use.
        smoke_test: GPUs are counted on each node before the step.
        preflight: nodes and network are checked before the step.
        nccl: NCCL and RCCL print the lines that ``envcfg check-log`` reads.
        nccl_log: folder for NCCL's log, a file per process; None: no such folder.
        verify: the step is watched, and its network judged: ``warn``, ``stop``, or
            empty.
        verify_after: seconds until the watcher reports on the GPUs; 0: never, None: the
            watcher's default.
        silence: the seconds without output after which ``envcfg hang`` is asked, and
            the action: ``report`` or ``stop``.
        flight: folder for the files of PyTorch's Flight Recorder, with a folder per
            job; None: nothing is recorded.
        removes_log: the content of that folder is removed after a successful step.
        profiled: ranks that run under *profiler*, with its words before the program.
        reported: ranks that record their environment.
        setup: shell code that runs before the program, in bash; a path is sourced.
        stage: the parts to copy to each node first: ``image``, ``env`` or ``env=PATH``.
        kept: folder in which compile caches outlive the job; None: they do not.
    """

    affinity: bool = False
    smoke_test: bool = False
    preflight: bool = False
    nccl: bool = False
    nccl_log: Word | None = None
    verify: str = ""
    verify_after: int | None = None
    silence: tuple[int, str] | None = None
    flight: Word | None = None
    removes_log: bool = False
    profiled: tuple[int, ...] = ()
    profiler: tuple[Word, ...] = ()
    reported: tuple[int, ...] = ()
    setup: str = ""
    stage: tuple[str, ...] = ()
    kept: Word | None = None

    @property
    def watched(self) -> bool:
        """Whether envcfg watches the step while it runs."""
        return bool(self.verify or self.silence)

    @property
    def log_folder(self) -> Word | None:
        """Folder for NCCL's log; the job's own folder if it is only for verification."""
        return parse_word("${PWD}") if self.verify and not self.nccl else self.nccl_log


def profiler_words(name: str, arguments: Sequence[str]) -> tuple[Word, ...]:
    """Return the words that run a program under the profiler *name*.

    Args:
        name: one of :data:`PROFILERS`.
        arguments: further options, put before the program.
    """
    from envcfg.common.datafile import load_knowledge_file

    profilers: Mapping[str, Mapping[str, list[str]]] = load_knowledge_file(
        "profilers.yaml"
    )
    out = _OUT.format(name=name)
    words = [word.replace("${OUT}", out) for word in profilers[name]["words"]]
    end = words.index("--") if "--" in words else len(words)
    return (
        *(parse_word(word) for word in words[:end]),
        *((word,) for word in arguments),
        *(parse_word(word) for word in words[end:]),
    )


def log_settings(diagnostics: Diagnostics) -> dict[str, Word]:
    """Return the settings that make NCCL, RCCL and Python print the lines for
    ``check-log``.

    NCCL prints all of it when communicators are created, so training is not slowed.
    Python prints its position if the step is stopped during silence.
    """
    settings: dict[str, Word] = {}
    if diagnostics.silence and diagnostics.silence[1] == "stop":
        settings["PYTHONFAULTHANDLER"] = ("1",)
    if not (diagnostics.nccl or diagnostics.verify):
        return settings
    # BOOTSTRAP and ENV are printed by default too. NET is not, and naming it drops
    # the defaults.
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

    The folder belongs to one job, because file names there contain only the rank.
    """
    if diagnostics.flight is None:
        return {}
    from envcfg.common.datafile import load_knowledge_file

    folder = (*_absolute(diagnostics.flight), *parse_word("/flight-${ENVCFG_JOB}"))
    place = Place("command line", 1)
    record: Mapping[str, Mapping[str, str]] = load_knowledge_file(
        "flight_recorder.yaml"
    )
    settings = {}
    for name, entry in record.items():
        rest = entry["value"].removeprefix("${OUT}")  # the rest is the folder
        word = (
            parse_word(rest) if rest == entry["value"] else (*folder, *parse_word(rest))
        )
        reason = Reason(entry["why"], entry["source"], str(entry["date"]), place)
        settings[name] = word, reason
    return settings


def check_log_folder(diagnostics: Diagnostics, inside: Collection[str]) -> None:
    """Check that the folders of NCCL's log and of Flight Recorder can be created early.

    Args:
        inside: variables with values that the tasks compute.

    Raises:
        UsageError: the name of a folder differs between tasks.
    """
    for part in diagnostics.flight or ():
        if not isinstance(part, str) and part.name in inside:
            name = f"--flight-recorder refers to {part.name}"
            folder = f"{name}, which is made in the tasks only"
            raise UsageError(folder, hint="name one folder for all ranks")
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
    """Return whether NCCL's lines go to the job's output, where they should appear at
    once."""
    return diagnostics.nccl and diagnostics.nccl_log is None


def _absolute(folder: Word) -> Word:
    """Return *folder* as an absolute path, because the program may change directory."""
    first = folder[0] if folder else ""
    is_full = not isinstance(first, str) or first.startswith("/")
    return folder if is_full else (*parse_word("${PWD}/"), *folder)


def is_path(setup: str) -> bool:
    """Return whether *setup* names a file: a word without special characters of shells."""
    return not any(sign in " \t\n;&|<>()$`\"'*?[" for sign in setup)
