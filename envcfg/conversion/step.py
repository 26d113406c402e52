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
    commands = script.model.commands
    path = script.source.path
    for is_wanted in (_is_step, _is_container, _is_agent):
        found: dict[Stood, list[Command]] = {}
        for stood in script.stood:
            for each in commands[stood.first : stood.behind]:
                above = script.model.ancestors(each)
                if (
                    is_wanted(each, script)
                    and not each.substitution
                    and not any(is_wanted(other, script) for other in above)
                ):
                    found.setdefault(_inmost(script, stood, each), []).append(each)
        if len(found) > 1:
            lines = ", ".join(str(script.line(each.start)) for each in found)
            msg = f"{path} starts programs in lines {lines}, and --from takes one step"
            hint = "make a script of each, or write envcfg_run for each: docs/wrap.md"
            raise UsageError(msg, hint=hint)
        for stood, several in found.items():
            return stood, max(several, key=lambda c: (len(c.words), -c.variant))
    msg = f"{path} starts no program that envcfg could: no srun, container, torchrun"
    raise UsageError(msg, hint="is it a job script? envcfg wrap --help has examples")


def _inmost(script: Script, stood: Stood, command: Command) -> Stood:
    """Return the smallest command of the script itself that gave *command*."""
    around = [
        each for each in script.stood if each.first <= command.number < each.behind
    ]
    return min(around, key=lambda each: each.end - each.start, default=stood)


def _is_step(command: Command, script: Script) -> bool:
    is_wide = command.is_step and command.scope != "container"
    return is_wide and not is_helper(command, script.model) and len(command.words) > 1


def _is_container(command: Command, script: Script) -> bool:
    del script
    return command.name in load_table()["containers"] and len(command.words) > 2


def _is_agent(command: Command, script: Script) -> bool:
    del script
    return bool(find_agent(command.name, [w.shown for w in command.arguments]))
