"""The environment of programs: the variables that pass from a shell to what it starts."""

from __future__ import annotations

from fnmatch import fnmatchcase

from envcfg.lint.program_starts import StartedProgram
from envcfg.lint.script_model import Command, text_of
from envcfg.lint.shell_state import Keeps, State
from envcfg.lint.traced_text import literal, shown

# Options that pass a variable on by its name, that remove it, or that remove all.
_PASSES = frozenset({"env", "container-env"})
_REMOVES = frozenset({"unset", "unset-env", "env-remove"})
_CLEAN = frozenset({"cleanenv", "containall", "clearenv", "ignore-environment"})
_CLEANING = [
    f"{prefix}_{option}"
    for prefix in ("APPTAINER", "SINGULARITY")
    for option in ("CLEANENV", "CONTAINALL")
]
_NO = frozenset({"", "0", "false", "no", "off"})


def kept_names(command: Command, found: StartedProgram, state: State) -> Keeps:
    """Return the function that says whether a started program gets a variable.

    Args:
        command: the starter, such as srun, env or a container runtime.
        found: its options.
        state: its shell.
    """
    given = found.options_in_order
    names = [word.shown for option, word in given if option in _PASSES]
    removed = [word.shown for option, word in given if option in _REMOVES]
    removed += [name[1:] for name in names if name[:1] == "-"]
    options = {option for option, _ in given}
    is_clean = found.shell or not _CLEAN.isdisjoint(options)
    if found.scope == "container" and not found.inherits:
        is_clean = "env-host" not in options
    if command.is_image:
        switches = (_text_of(name, state) for name in _CLEANING)
        is_clean |= any((text or "").lower() not in _NO for text in switches)
    if command.is_srun:
        export = _text_of("SLURM_EXPORT_ENV", state)
        for option, word in given:
            export = (
                (shown(word.text) if word.literal else None)
                if option == "export"
                else export
            )
        names += (export or "ALL").split(",")
        is_clean |= "ALL" not in names
        names.append("SLURM_*")

    def keeps(name: str) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in removed):
            return False
        return not is_clean or any(fnmatchcase(name, pattern) for pattern in names)

    return keeps


def _text_of(name: str, state: State) -> str | None:
    """Return the certain value of a variable that programs get."""
    variable = state.find(name)
    is_one = variable is not None and variable.exported and len(variable.values) == 1
    return literal(text_of(variable.values[0])) if variable and is_one else None
