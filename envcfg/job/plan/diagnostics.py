"""The settings by which the options of a job make it report more; pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from envcfg.common.datafile import load_yaml
from envcfg.common.errors import UsageError
from envcfg.job.plan.applicable_settings import recorded
from envcfg.job.plan.plan import Options
from envcfg.profile.entries import Setting
from envcfg.profile.words import Word, parse_word

PROFILERS = ("rocprof", "rocprofv3", "nsys", "py-spy")
_OUT = "envcfg-{name}-${{ENVCFG_JOB}}-rank${{RANK}}"


def profiler_words(name: str, arguments: Sequence[str]) -> tuple[Word, ...]:
    """Return the words that run a program under the profiler *name*.

    Args:
        name: one of :data:`PROFILERS`.
        arguments: further options, put before the program.
    """
    profilers: Mapping[str, Mapping[str, list[str]]] = load_yaml(
        "knowledge/profilers.yaml"
    )
    out = _OUT.format(name=name)
    words = [word.replace("${OUT}", out) for word in profilers[name]["words"]]
    end = words.index("--") if "--" in words else len(words)
    return (
        *(parse_word(word) for word in words[:end]),
        *((word,) for word in arguments),
        *(parse_word(word) for word in words[end:]),
    )


def log_settings(options: Options) -> dict[str, Word]:
    """Return the settings that make NCCL, RCCL and Python print the lines for
    ``check-log``.

    NCCL prints all of it when communicators are created, so training is not slowed.
    Python prints its position if the step is stopped during silence.
    """
    settings: dict[str, Word] = {}
    if options.on_silence and options.on_silence[1] == "stop":
        settings["PYTHONFAULTHANDLER"] = ("1",)
    if options.nccl_debug is None and not options.verify:
        return settings
    # BOOTSTRAP and ENV are printed by default too. NET is not, and naming it drops
    # the defaults.
    settings["NCCL_DEBUG"] = ("INFO",)
    settings["NCCL_DEBUG_SUBSYS"] = ("INIT,BOOTSTRAP,ENV,NET",)
    folder = options.log_folder
    if folder is not None:
        settings["NCCL_DEBUG_FILE"] = (
            *_absolute(folder),
            *parse_word("/nccl-${ENVCFG_JOB}.${BASHPID}/nccl-%h-%p.log"),
        )
    return settings


def flight_settings(options: Options) -> Iterator[Setting]:
    """Yield the settings of PyTorch's Flight Recorder, each with its reason.

    The folder belongs to one job, because file names there contain only the rank.
    """
    if options.flight_recorder is None:
        return
    folder = (*_absolute(options.flight_recorder), *parse_word("/flight-${ENVCFG_JOB}"))
    for name, record in load_yaml("knowledge/flight_recorder.yaml").items():
        rest = record["value"].removeprefix("${OUT}")  # the rest is the folder
        word = parse_word(rest)
        yield recorded(name, word if rest == record["value"] else folder + word, record)


def check_log_folder(options: Options, inside: Collection[str]) -> None:
    """Check that the folders of NCCL's log and of Flight Recorder can be created early.

    Args:
        inside: variables with values that the tasks compute.

    Raises:
        UsageError: the name of a folder differs between tasks.
    """
    own = "name one folder for all: each process writes its own file there"
    for option, folder, hint in (
        ("--flight-recorder", options.flight_recorder, "name one folder for all ranks"),
        ("--nccl-debug", options.nccl_debug, own),
    ):
        for part in folder or ():
            if not isinstance(part, str) and part.name in inside:
                msg = f"{option} refers to {part.name}, which is made in the tasks only"
                raise UsageError(msg, hint=hint)
            if isinstance(part, str) and "%" in part and hint is own:
                msg = (
                    f"{option} {part}: NCCL reads % as a sign, also in a folder's name"
                )
                raise UsageError(msg, hint=hint)


def _absolute(folder: Word) -> Word:
    """Return *folder* as an absolute path, because the program may change directory."""
    first = folder[0] if folder else ""
    is_full = not isinstance(first, str) or first.startswith("/")
    return folder if is_full else (*parse_word("${PWD}/"), *folder)


def is_path(setup: str) -> bool:
    """Return whether *setup* names a file: a word without special characters of shells."""
    return not any(sign in " \t\n;&|<>()$`\"'*?[" for sign in setup)
