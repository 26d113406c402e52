"""Which command of a script is the step."""

from __future__ import annotations

from envcfg.conversion.model import Step
from envcfg.conversion.reader import Reader
from envcfg.conversion.table import load_table
from envcfg.conversion.trace import Script, Stood
from envcfg.errors import UsageError
from envcfg.lint.facts import is_helper
from envcfg.lint.model import Command
from envcfg.lint.program import find_agent


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
    path = script.source.path
    for is_wanted in (_is_step, _is_container, _is_agent):
        found: dict[tuple[int, int], list[tuple[Stood, Command]]] = {}
        for each in script.model.commands:
            above = script.model.ancestors(each)
            if not is_wanted(each, script) or each.substitution:
                continue
            stood = _inmost(script, each)
            if stood and not any(is_wanted(other, script) for other in above):
                found.setdefault((stood.start, stood.end), []).append((stood, each))
        lines = ", ".join(str(script.line(start)) for start, _ in found)
        hint = "make a script of each, or write envcfg_run for each: docs/wrap.md"
        if len(found) > 1:
            msg = f"{path} starts programs in lines {lines}, and --from takes one step"
            raise UsageError(msg, hint=hint)
        for several in found.values():
            first = several[0][0]
            words = {tuple(w.shown for w in c.words) for s, c in several if s != first}
            own = {tuple(w.shown for w in c.words) for s, c in several if s == first}
            if words - own:
                msg = f"{path} runs line {lines} several times, with other words"
                raise UsageError(msg, hint=hint)
            if first.reads:
                msg = f"{path}: the step in line {lines} reads a part of the script"
                hint = "put it into a file, which the program reads"
                raise UsageError(msg, hint=hint)
            mine = [command for stood, command in several if stood == first]
            longest = max(mine, key=lambda c: (len(c.words), -c.variant))
            if longest.is_step and ":" in {each.literal for each in longest.words}:
                msg = f"{path}: line {lines} starts several programs side by side"
                raise UsageError(msg, hint=hint)
            return first, longest
    msg = f"{path} starts no program that envcfg could: no srun, container, torchrun"
    raise UsageError(msg, hint="is it a job script? envcfg wrap --help has examples")


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
