"""What a command that begins with a launcher means; pure.

``torchrun --nproc-per-node=4 train.py`` names the launcher, the ranks and the program. Its
options that the job decides are left out, with a note. What options there are is data:
``knowledge/launchers.yaml``.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from envcfg.datafile import knowledge_path, load_kept
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.plan import Options
from envcfg.launchers import LAUNCHERS
from envcfg.starters import STARTERS

PYTHON_VALUES = frozenset(("-W", "-X", "--check-hash-based-pycs"))


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
    from envcfg.launch.agent_words import (
        program_of,
        ranks_of,
        recognised_note,
        split_words,
    )

    known, words = found
    python, _ = _interpreter(name, command)
    launcher = known["launcher"]
    if LAUNCHERS[launcher].is_whole:
        return _whole(options, launcher)
    if options.launcher not in {None, launcher}:
        msg = f"the command begins with {name}, which --launcher {options.launcher} is not"
        hint = f"leave out --launcher, or {name} from the command"
        raise UsageError(msg, hint=hint)
    split = split_words(name, known, words)
    program, at = program_of(name, python, split)
    takes_rank = "local_rank" in known and not split.hides_local_rank
    return options._replace(
        launcher=launcher,
        ranks=options.ranks or ranks_of(name, split.ranks),
        agent_options=split.kept,
        command=program,
        has_mode=split.has_mode,
        local_rank_at=at if takes_rank else None,
        local_rank_option=known.get("local_rank_option", options.local_rank_option),
    ), [recognised_note(command[0], launcher, split)]


def _whole(options: Options, launcher: str) -> tuple[Options, list[Finding]]:
    """Return the options of a program that takes a whole node, unless the user differs."""
    if options.launcher or options.ranks:
        return options, []
    name = options.command[0].rpartition("/")[2]
    _, module = _interpreter(name, options.command)
    name = module[0] if module else name
    said = (
        f"is used, because {name} takes all GPUs of its node itself: one task per node"
    )
    fix = "otherwise: --ranks N, for so many per node"
    note = Finding("launcher-recognised", "note", f"launcher {launcher}", said, fix)
    return options._replace(launcher=launcher), [note]


def launcher_of(
    command: Sequence[str],
) -> tuple[Mapping[str, Any], Sequence[str]] | None:
    """Return what is known of the launcher that begins *command*, and what follows it."""
    name = command[0].rpartition("/")[2] if command else ""
    module = _interpreter(name, command)[1]
    given = module or (name, *command[1:])
    for entry in _known():
        for beginning in entry["begins"]:
            words = beginning.split()
            is_module = "." in beginning
            if [*given[: len(words)]] == words and is_module == bool(module):
                return entry, given[len(words) :]
    return None


def first_words() -> set[str]:
    """Return the words by which commands begin that name a launcher."""
    return {each.split()[0] for entry in _known() for each in entry["begins"]}


@cache
def _known() -> Sequence[Mapping[str, Any]]:
    path = knowledge_path("launchers.yaml")
    return [*load_kept("launchers", [path])[0].values()]


def _interpreter(
    name: str, command: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return Python with its own options, and what follows -m; empty if that is not it."""
    if not name.startswith("python"):
        return (), ()
    at = 1
    while at < len(command) and command[at].startswith("-") and command[at] != "-m":
        at += 2 if command[at] in PYTHON_VALUES else 1
    if at + 1 >= len(command) or command[at] != "-m":
        return (), ()
    return tuple(command[:at]), tuple(command[at + 1 :])
