"""The words of a command that begins with a launcher, told apart; pure."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from envcfg.characters import whole_number
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launchers import LAUNCHERS
from envcfg.starters import STARTERS

SCRIPT = frozenset(("-m", "--module", "--no-python"))
_PYTHON = ("python3", "-u")  # as these launchers start a script

# What says in a job how many GPUs its nodes have.
_GPUS = frozenset(name for each in STARTERS.values() for name in each.names.gpus)


class Split(NamedTuple):
    """A launcher's command: kept options, what is left out, ranks, and the program."""

    kept: tuple[str, ...]
    left_out: tuple[str, ...]
    ranks: str | None
    rest: tuple[str, ...]
    as_module: bool
    as_it_is: bool
    hides_local_rank: bool
    has_mode: bool


def split_words(name: str, known: Mapping[str, Any], words: Sequence[str]) -> Split:
    """Return the words behind a launcher, by what becomes of them.

    Args:
        known: what ``launchers.yaml`` says of it.

    Raises:
        UsageError: an option is not known or lacks its value; several programs.
    """
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
        if option == known.get("local_rank") or (runs_scripts and option in SCRIPT):
            flags.add(option)
            continue
        kind = kind_of(option, known)
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
    return Split(
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


def kind_of(option: str, known: Mapping[str, Any]) -> str | None:
    """Return what is done with an option of a launcher; None: it is not known."""
    for kind in _KINDS:
        names = known.get(kind, ())
        names = names.split() if isinstance(names, str) else names
        if any(fnmatchcase(option, each) for each in names):
            return kind
    return None


def program_of(
    name: str, python: Sequence[str], split: Split
) -> tuple[tuple[str, ...], int]:
    """Return the program's words, and how many of them name it."""
    if not split.rest:
        msg = f"no program after {name} and its options"
        raise UsageError(msg, hint=f"as in: {name} train.py")
    if split.as_it_is:
        return split.rest, 1
    words = python or _PYTHON[:1]
    words = words if _PYTHON[1] in words else (*words, _PYTHON[1])
    if split.as_module:
        words = (*words, "-m")
    return (*words, *split.rest), len(words) + 1


def ranks_of(name: str, given: str | None) -> int | None:
    """Return how many ranks per node a launcher was told; None: the job decides.

    Raises:
        UsageError: it is not a number.
    """
    if given is None or given in {"auto", "gpu", "-1"}:
        return None
    if given.strip("${}") in _GPUS and given.startswith("$"):
        return None  # what the job decides by itself, from the same
    if number := whole_number(given):
        return number
    if given.startswith("$"):
        msg = f"{name}: {given} is not known before the job runs, and no shell reads it"
        hint = "leave it out, then the job decides: one rank per GPU; or --ranks N"
        raise UsageError(msg, hint=hint)
    msg = f"{name}: {given!r} is not a number of ranks per node"
    raise UsageError(msg, hint="give --ranks N to envcfg")


def recognised_note(path: str, launcher: str, split: Split) -> Finding:
    """Say which launcher is taken, and what is left out of its command."""
    folder, _, name = path.rpartition("/")
    gone = ""
    if split.left_out:
        gone = f"; left out, as the job decides it: {', '.join(split.left_out)}"
    if folder and not split.as_it_is and not name.startswith("python"):
        gone += f"; {_PYTHON[0]} is then that of PATH, whatever {folder} has"
    said = f"is used, because the command begins with {name}{gone}"
    fix = f"the same without it: --launcher {launcher} -- PROGRAM"
    return Finding("launcher-recognised", "note", f"launcher {launcher}", said, fix)
