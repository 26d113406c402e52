"""Which command of a script is the step."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.conversion.model import Step, load_table
from envcfg.conversion.reader import Reader
from envcfg.conversion.trace import Script, Stood
from envcfg.errors import UsageError
from envcfg.lint.facts import is_helper
from envcfg.lint.model import Command
from envcfg.lint.program import find_agent

_ONE_EACH = "make a script of each, or write envcfg_run for each: docs/wrap.md"


def find_step(script: Script, *, pins: bool) -> Step:
    """Return what starts the program.

    Args:
        script: as it was read.
        pins: the profile binds ranks to cores.

    Raises:
        UsageError: nothing does, or several commands do.
    """
    stood, command = _chosen(script)
    return Reader(script, stood, pins=pins).read(command)


def _chosen(script: Script) -> tuple[Stood, Command]:
    """Return the step, and where it stands in the script.

    What srun starts comes first, then a container that the script starts itself, then a
    launcher alone: each may hold the next, and the outer one is the step. Of the first kind
    that is there, there may be one only, as nobody but the user knows which is meant.
    """
    path = script.source.path
    for is_wanted in (_is_step, _is_container, _is_agent):
        found: dict[tuple[int, int], list[tuple[Stood, Command]]] = {}
        for each in script.model.commands:
            if not is_wanted(each, script) or each.substitution:
                continue
            stood = _inmost(script, each)
            above = script.model.ancestors(each)
            if stood and not any(is_wanted(other, script) for other in above):
                found.setdefault((stood.start, stood.end), []).append((stood, each))
        if len(found) > 1:
            lines = ", ".join(str(script.line(start)) for start, _ in found)
            msg = f"{path} starts programs in lines {lines}, and --from takes one step"
            raise UsageError(msg, hint=_ONE_EACH)
        if found:
            return _only(script, *found.values())
    msg = f"{path} starts no program that envcfg could: no srun, container, torchrun"
    raise UsageError(msg, hint="is it a job script? envcfg wrap --help has examples")


def _only(
    script: Script, several: Sequence[tuple[Stood, Command]]
) -> tuple[Stood, Command]:
    """Return the one command that a place of the script starts, however it comes there.

    Args:
        several: the place with each command, which may be the same with other words.
    """
    path, first = script.source.path, several[0][0]
    line = script.line(first.start)
    words = {tuple(w.shown for w in c.words) for s, c in several if s != first}
    own = {tuple(w.shown for w in c.words) for s, c in several if s == first}
    if words - own:
        msg = f"{path} runs line {line} several times, with other words"
        raise UsageError(msg, hint=_ONE_EACH)
    if first.reads:
        msg = f"{path}: the step in line {line} reads a part of the script"
        raise UsageError(msg, hint="put it into a file, which the program reads")
    mine = [command for stood, command in several if stood == first]
    longest = max(mine, key=lambda c: (len(c.words), -c.variant))
    if longest.is_step and ":" in {each.literal for each in longest.words}:
        msg = f"{path}: line {line} starts several programs side by side"
        raise UsageError(msg, hint=_ONE_EACH)
    return first, longest


def _inmost(script: Script, command: Command) -> Stood | None:
    """Return the smallest command of the script itself that gave *command*."""
    around = [
        each for each in script.stood if each.first <= command.number < each.behind
    ]
    return min(
        around,
        key=lambda each: (each.behind - each.first, each.end - each.start),
        default=None,
    )


def _is_step(command: Command, script: Script) -> bool:
    is_wide = command.is_step and command.scope != "container"
    return is_wide and not is_helper(command, script.model) and len(command.words) > 1


def _is_container(command: Command, script: Script) -> bool:
    del script
    return command.name in load_table()["containers"] and len(command.words) > 2


def _is_agent(command: Command, script: Script) -> bool:
    del script
    return bool(find_agent(command.name, [w.shown for w in command.arguments]))
