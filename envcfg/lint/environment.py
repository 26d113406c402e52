"""The environment of programs: the variables that they get from their shell."""

from __future__ import annotations

from fnmatch import fnmatchcase

from envcfg.lint.program_starts import StartedProgram
from envcfg.lint.script_model import Command, text_of
from envcfg.lint.shell_state import Keeps, State
from envcfg.lint.traced_text import literal

# Options that pass a variable on by its name, that remove it, or that remove all.
_PASSES = frozenset({"env", "container-env"})
_REMOVES = frozenset({"unset", "unset-env", "env-remove"})
_CLEAN = frozenset("cleanenv containall clearenv ignore-environment".split())
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
    given, options = found.options_in_order, dict(found.options_in_order)
    names = [word.shown for option, word in given if option in _PASSES]
    removed = [word.shown for option, word in given if option in _REMOVES]
    is_clean = found.shell or not _CLEAN.isdisjoint(options)
    if found.scope == "container" and not found.inherits:
        is_clean = "env-host" not in options
    if command.is_image:
        switches = (_text_of(name, state) or "" for name in _CLEANING)
        is_clean |= any(text.lower() not in _NO for text in switches)
    if command.is_srun:
        export = _text_of("SLURM_EXPORT_ENV", state)
        if "export" in options:
            export = options["export"].literal
        names += [*(export or "ALL").split(","), "SLURM_*"]
        is_clean |= "ALL" not in names

    def keeps(name: str) -> bool:
        if f"-{name}" in names or any(fnmatchcase(name, glob) for glob in removed):
            return False
        return not is_clean or any(fnmatchcase(name, pattern) for pattern in names)

    return keeps


def _text_of(name: str, state: State) -> str | None:
    """Return the value of a variable; None: it has none, or an unknown one."""
    variable = state.find(name)
    return literal(text_of(variable.values[0])) if variable else None
