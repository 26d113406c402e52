"""What a command that begins with a launcher means; pure.

``torchrun --nproc-per-node=4 train.py`` names the launcher, the ranks and the program. Its
options that the job decides are left out, with a note. What options there are is data:
``knowledge/launchers.yaml``, read only for such a command.
"""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.plan import Options
from envcfg.launchers import LAUNCHERS
from envcfg.starters import STARTERS

_PYTHON = ("python3", "-u")  # as these launchers start a script
_PYTHON_VALUES = frozenset(("-W", "-X", "--check-hash-based-pycs"))
_SCRIPT = frozenset(("-m", "--module", "--no-python"))

# What says in a job how many GPUs its nodes have.
_GPUS = frozenset(name for each in STARTERS.values() for name in each.gpu_names)


class _Split(NamedTuple):
    """A launcher's command: kept options, what is left out, ranks, and the program."""

    kept: tuple[str, ...]
    left_out: tuple[str, ...]
    ranks: str | None
    rest: tuple[str, ...]
    as_module: bool
    as_it_is: bool
    hides_local_rank: bool
    has_mode: bool


def recognise(options: Options) -> tuple[Options, list[Finding]]:
    """Return the options with the launcher taken out of the command, and a note on it.

    Raises:
        UsageError: if the command begins with a launcher and cannot be understood, or goes
            against ``--launcher``.
    """
    command = options.command
    name = command[0].rpartition("/")[2] if command else ""
    if name in STARTERS:
        msg = (
            f"the command begins with {name}, and envcfg writes the {name} line itself"
        )
        own = STARTERS[name].own
        hint = f"; --{own}-arg for its options" if own else ""
        raise UsageError(msg, hint=f"give the program alone{hint}")
    found = launcher_of(command)
    if found is None:
        return options, []
    known, words = found
    python, _ = _interpreter(name, command)
    launcher = known["launcher"]
    if LAUNCHERS[launcher].is_whole:
        return _whole(options, launcher)
    if options.launcher not in {None, launcher}:
        msg = f"the command begins with {name}, which --launcher {options.launcher} is not"
        hint = f"leave out --launcher, or {name} from the command"
        raise UsageError(msg, hint=hint)
    split = _split(name, known, words)
    program, at = _rest(name, python, split)
    takes_rank = "local_rank" in known and not split.hides_local_rank
    return options._replace(
        launcher=launcher,
        ranks=options.ranks or _ranks(name, split.ranks),
        agent_options=split.kept,
        command=program,
        has_mode=split.has_mode,
        local_rank_at=at if takes_rank else None,
        local_rank_option=known.get("local_rank_option", options.local_rank_option),
    ), [_note(command[0], launcher, split)]


def _whole(options: Options, launcher: str) -> tuple[Options, list[Finding]]:
    """Return the options of a program that takes a whole node, unless the user differs."""
    if options.launcher or options.ranks:
        return options, []
    name = options.command[0].rpartition("/")[2]
    _, module = _interpreter(name, options.command)
    name = module[0] if module else name
    note = Finding(
        rule="launcher-recognised",
        severity="note",
        subject=f"launcher {launcher}",
        message=f"is taken, as {name} takes all GPUs of its node itself: one task per node",
        fix="otherwise: --ranks N, for so many per node",
    )
    return options._replace(launcher=launcher), [note]


def decided_words(command: Sequence[str]) -> Collection[int]:
    """Return which words of a command are options of a launcher that the job decides.

    None of them where the command begins with no launcher, or is not understood.
    """
    found = launcher_of(command)
    if found is None:
        return ()
    known, words = found
    at = begin = len(command) - len(words)
    decided: list[int] = []
    while at < len(command) and command[at].startswith("-") and command[at] != "--":
        option, equals, _ = command[at].partition("=")
        kind = _kind(option.replace("_", "-"), known)
        is_flag = option in _SCRIPT or (kind or "flags").endswith("flags")
        width = 1 if is_flag or equals else 2
        if (kind or "").startswith("decided"):
            decided += range(at, min(at + width, len(command)))
        at += width
    return decided if begin < at else ()


def launcher_of(
    command: Sequence[str],
) -> tuple[Mapping[str, Any], Sequence[str]] | None:
    """Return what is known of the launcher that begins *command*, and what follows it."""
    name = command[0].rpartition("/")[2] if command else ""
    module = _interpreter(name, command)[1]
    if not _is_launcher(name, module):
        return None
    return _program(module or (name, *command[1:]), is_module=bool(module))


def _is_launcher(name: str, module: tuple[str, ...]) -> bool:
    return any(
        name in each.programs or (module and module[0].startswith(each.modules))
        for each in LAUNCHERS.values()
        if each.programs
    )


def _interpreter(
    name: str, command: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return Python with its own options, and what follows -m; empty if that is not it."""
    if not name.startswith("python"):
        return (), ()
    at = 1
    while at < len(command) and command[at].startswith("-") and command[at] != "-m":
        at += 2 if command[at] in _PYTHON_VALUES else 1
    if at + 1 >= len(command) or command[at] != "-m":
        return (), ()
    return tuple(command[:at]), tuple(command[at + 1 :])


def _program(
    given: Sequence[str], *, is_module: bool
) -> tuple[Mapping[str, Any], Sequence[str]] | None:
    """Return what is known of the launcher that begins the command, and what follows."""
    from envcfg.datafile import load_knowledge_file

    for known in load_knowledge_file("launchers.yaml").values():
        for beginning in known["begins"]:
            words = beginning.split()
            if list(given[: len(words)]) == words and ("." in beginning) == is_module:
                return known, given[len(words) :]
    return None


def _split(name: str, known: Mapping[str, Any], words: Sequence[str]) -> _Split:
    kept: list[str] = []
    left_out: list[str] = []
    ranks = None
    flags: set[str] = set()
    rest = list(words)
    runs_scripts = not LAUNCHERS[known["launcher"]].takes_any
    while rest and rest[0].startswith("-") and rest[0] != "--":
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        option = option.replace("_", "-")
        if option == known.get("local_rank") or (runs_scripts and option in _SCRIPT):
            flags.add(option)
            continue
        kind = _kind(option, known)
        if kind is None:
            msg = f"{name} {word}: envcfg does not know this option"
            hint = known.get("remedies", {}).get(option) or known.get(
                "remedy", f"leave {name} out: --launcher {known['launcher']}"
            )
            raise UsageError(msg, hint=hint)
        given = [word]
        if not kind.endswith("flags") and not equals:
            if not rest:
                msg = f"{name} {word}: a value is missing"
                raise UsageError(msg, hint=f"{name} --help says what it takes")
            value = rest.pop(0)
            given.append(value)
        if kind.startswith(("kept", "mode")):
            kept += given
            flags |= {"mode"} if kind.startswith("mode") else set()
        elif kind == "ranks":
            ranks = value
        else:
            left_out.append(option)
    if known.get("next_program") in rest:
        msg = f"{name} with several programs: one step runs one"
        hint = "let one program look at its RANK, or run a step for each"
        raise UsageError(msg, hint=hint)
    return _Split(
        kept=tuple(kept),
        left_out=tuple(left_out),
        ranks=ranks,
        rest=tuple(rest[1:] if rest[:1] == ["--"] else rest),
        as_module=bool(flags & {"-m", "--module"}),
        as_it_is=not runs_scripts or "--no-python" in flags,
        hides_local_rank=known.get("local_rank") in flags,
        has_mode="mode" in flags,
    )


# From the most to the least particular: a flag may fit the globs of what takes a value.
_KINDS = (
    *("decided_flags", "kept_flags", "mode_flags"),
    *("mode", "ranks", "decided", "kept"),
)


def _kind(option: str, known: Mapping[str, Any]) -> str | None:
    for kind in _KINDS:
        names = known.get(kind, ())
        names = names.split() if isinstance(names, str) else names
        if any(fnmatchcase(option, each) for each in names):
            return kind
    return None


def _rest(
    name: str, python: Sequence[str], split: _Split
) -> tuple[tuple[str, ...], int]:
    """Return the program's words, and how many of them name it."""
    if not split.rest:
        msg = f"no program behind {name} and its options"
        raise UsageError(msg, hint=f"as in: {name} train.py")
    if split.as_it_is:
        return split.rest, 1
    words = python or _PYTHON[:1]
    words = words if _PYTHON[1] in words else (*words, _PYTHON[1])
    if split.as_module:
        words = (*words, "-m")
    return (*words, *split.rest), len(words) + 1


def _ranks(name: str, given: str | None) -> int | None:
    if given is None or given in {"auto", "gpu", "-1"}:
        return None
    if given.strip("${}") in _GPUS and given.startswith("$"):
        return None  # what the job decides by itself, from the same
    if given.isascii() and given.isdigit() and int(given) > 0:
        return int(given)
    if given.startswith("$"):
        msg = f"{name}: {given} is not known before the job runs, and no shell reads it"
        hint = "leave it out, then the job decides: one rank per GPU; or --ranks N"
        raise UsageError(msg, hint=hint)
    msg = f"{name}: {given!r} is no number of ranks per node"
    raise UsageError(msg, hint="give --ranks N to envcfg")


def _note(path: str, launcher: str, split: _Split) -> Finding:
    folder, _, name = path.rpartition("/")
    gone = ""
    if split.left_out:
        gone = f"; left out, as the job decides it: {', '.join(split.left_out)}"
    if folder and not split.as_it_is and not name.startswith("python"):
        gone += f"; {_PYTHON[0]} is then that of PATH, whatever {folder} has"
    return Finding(
        rule="launcher-recognised",
        severity="note",
        subject=f"launcher {launcher}",
        message=f"is taken, as the command begins with {name}{gone}",
        fix=f"the same without it: --launcher {launcher} -- PROGRAM",
    )
