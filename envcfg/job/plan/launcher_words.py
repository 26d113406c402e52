"""Classify the words of a command that begins with a launcher; pure."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from envcfg.backends.launchers import LAUNCHERS
from envcfg.backends.starters import STARTERS
from envcfg.common.characters import whole_number
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding

SCRIPT = frozenset(("-m", "--module", "--no-python"))
_PYTHON = ("python3", "-u")  # the way in which these launchers start a script

# Variables of a job with the number of GPUs per node.
_GPUS = frozenset(name for starter in STARTERS.values() for name in starter.names.gpus)


# A text, not a pattern: most commands need none, and every command reads this module.
_LOOPBACK = r"(\w+://)?(localhost|127\.|\[?::1\]?|0\.0\.0\.0)"


class LauncherCommand(NamedTuple):
    """A launcher's command: options kept, options left out, ranks, and the program."""

    kept_options: tuple[str, ...]
    left_out: tuple[str, ...]
    ranks: str | None
    rest: tuple[str, ...]
    as_module: bool
    as_it_is: bool
    hides_local_rank: bool
    has_mode: bool


def split_words(
    name: str,
    record: Mapping[str, Any],
    words: Sequence[str],
    nodes: int | None,
    ranks_per_node: int | None,
) -> LauncherCommand:
    """Split the words after a launcher by their treatment.

    Args:
        record: its record in ``programs.yaml``.
        nodes: the nodes of the job, with *ranks_per_node*; None: unknown before it runs.

    Raises:
        UsageError: an option is unknown, lacks its value or contradicts the job;
            several programs.
    """
    kept_names: list[str] = []
    decided: list[tuple[str, str, str]] = []
    ranks = None
    flags: set[str] = set()
    rest = list(words)
    runs_scripts = not LAUNCHERS[record["launcher"]].takes_any
    while rest and rest[0].startswith("-") and rest[0] != "--":
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        option = option.replace("_", "-")
        if option == record.get("local_rank") or (runs_scripts and option in SCRIPT):
            flags.add(option)
            continue
        kind = kind_of(option, record)
        if kind is None:
            msg = f"{name} {word}: envcfg does not know this option"
            hint = record.get("remedies", {}).get(option) or record.get(
                "remedy", f"leave {name} out: --launcher {record['launcher']}"
            )
            raise UsageError(msg, hint=hint)
        words_given = [word]
        if not kind.endswith("flags") and not equals:
            if not rest:
                msg = f"{name} {word}: a value is missing"
                raise UsageError(msg, hint=f"{name} --help says what it takes")
            value = rest.pop(0)
            words_given.append(value)
        if kind.startswith(("kept", "mode")):
            kept_names += words_given
            flags |= {"mode"} if kind.startswith("mode") else set()
        elif kind == "ranks":
            ranks = value
        else:
            decided.append((word.partition("=")[0], option, value))
    # The command's own number of ranks may come after that of all ranks.
    ranks_per_node = ranks_of(name, ranks) or ranks_per_node
    for spelling, option, value in decided:
        role = next((r for r in _ROLES if option in record.get(r, "").split()), "")
        check_value(name, spelling, value, role, nodes, ranks_per_node)
    if record.get("next_program") in rest:
        msg = f"{name} with several programs: one step runs one"
        hint = "let one program look at its RANK, or run a step for each"
        raise UsageError(msg, hint=hint)
    return LauncherCommand(
        kept_options=tuple(kept_names),
        left_out=tuple(option for _, option, _ in decided),
        ranks=ranks,
        rest=tuple(rest[1:] if rest[:1] == ["--"] else rest),
        as_module=bool(flags & {"-m", "--module"}),
        as_it_is=not runs_scripts or "--no-python" in flags,
        hides_local_rank=record.get("local_rank") in flags,
        has_mode="mode" in flags,
    )


# Options of a record with a count for the whole job.
_ROLES = ("nodes", "all_ranks")


def check_value(
    name: str, option: str, value: str, role: str, nodes: int | None, ranks: int | None
) -> None:
    """Refuse an option of a launcher that contradicts the job.

    Args:
        role: ``nodes`` or ``all_ranks`` if the value is such a number.

    Raises:
        UsageError: it does.
    """
    if nodes is None:
        return
    own = f"{name} {option} {value}".strip()
    number = whole_number(value)
    if role == "nodes" and number not in {None, nodes}:
        msg = f"{own}: the job has {nodes} nodes"
        raise UsageError(msg, hint=f"leave out {option}")
    total = nodes * ranks if ranks else None
    if role == "all_ranks" and number and total and number != total:
        where = "one node" if nodes == 1 else f"{nodes} nodes"
        msg = f"{own}: the job has {total} ranks on {where}"
        hint = f"leave out {option}"
        if number % nodes == 0:
            hint += f"; or give --ranks {number // nodes} to envcfg"
        raise UsageError(msg, hint=hint)
    if nodes > 1 and (re.match(_LOOPBACK, value) or option == "--standalone"):
        msg = f"{own}: {nodes} nodes cannot meet on one of them"
        hint = f"leave out {option}: the address of the first node is used"
        raise UsageError(msg, hint=hint)
    if nodes > 1 and re.search("port|endpoint", option) and re.search(r"\b0$", value):
        msg = f"{own}: {nodes} nodes cannot meet at a port that each of them chooses"
        raise UsageError(msg, hint=f"leave out {option}: the job has a port")


# From the most to the least specific: a flag may also match the globs of options
# with values.
_KINDS = (
    *("decided_flags", "kept_flags", "mode_flags"),
    *("mode", "ranks", "decided", "kept"),
)


def kind_of(option: str, record: Mapping[str, Any]) -> str | None:
    """Return the treatment of a launcher's option; None: unknown."""
    for kind in _KINDS:
        names = record.get(kind, ())
        names = names.split() if isinstance(names, str) else names
        if any(fnmatchcase(option, name) for name in names):
            return kind
    return None


def program_of(
    name: str, python: Sequence[str], split: LauncherCommand
) -> tuple[tuple[str, ...], int]:
    """Return the program's words, and the number of words that name it."""
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


def ranks_of(name: str, value: str | None) -> int | None:
    """Return the ranks per node from a launcher's option; None: the job decides.

    Raises:
        UsageError: it is not a number.
    """
    if value is None or value in {"auto", "gpu", "-1"}:
        return None
    if value.strip("${}") in _GPUS and value.startswith("$"):
        return None  # the job computes the same number itself
    if number := whole_number(value):
        return number
    if value.startswith("$"):
        msg = f"{name}: {value} is not known before the job runs, and no shell reads it"
        hint = "leave it out, then the job decides: one rank per GPU; or --ranks N"
        raise UsageError(msg, hint=hint)
    msg = f"{name}: {value!r} is not a number of ranks per node"
    raise UsageError(msg, hint="give --ranks N to envcfg")


def recognised_note(path: str, launcher: str, split: LauncherCommand) -> Finding:
    """Return a note on the recognised launcher and the words left out of its command."""
    folder, _, name = path.rpartition("/")
    gone = ""
    if split.left_out:
        gone = f"; left out, as the job decides it: {', '.join(split.left_out)}"
    if folder and not split.as_it_is and not name.startswith("python"):
        gone += f"; {_PYTHON[0]} is then that of PATH, whatever {folder} has"
    message = f"is used, because the command begins with {name}{gone}"
    fix = f"the same without it: --launcher {launcher} -- PROGRAM"
    return Finding("launcher-recognised", "note", f"launcher {launcher}", message, fix)
