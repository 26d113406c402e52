"""A launch line behind ``--``, as the options of a step that does what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envcfg.core.values import read_binds, read_setting
from envcfg.errors import UsageError
from envcfg.launch.line import read_line
from envcfg.starters import STARTERS


def take_line(
    values: Mapping[str, Any], words: Sequence[str]
) -> tuple[dict[str, Any], tuple[str, ...], Mapping[str, str]]:
    """Return the values of ``STEP`` with what the line says, its command, and exports.

    Raises:
        UsageError: the line cannot be read, or says otherwise than an option.
    """
    line = read_line(words)
    for option, given, said in (
        ("--container", values["container"] not in {None, "none"}, line.container),
        ("--launcher", values["launcher"] not in {None, line.launcher}, line.launcher),
        ("--ranks", values["ranks"] is not None, "the tasks"),
    ):
        if given and said:
            msg = f"{option} is given, and the launch line says it, too"
            raise UsageError(msg, hint=f"leave out {option}")
    try:
        binds = [read_binds(each) for each in line.binds if each]
        settings = [
            read_setting(f"{name}={value.replace('$', '$$')}")
            for name, value in line.settings.items()
        ]
    except ValueError as err:
        msg = f"the launch line: {err}"
        raise UsageError(msg, hint="correct it there") from err
    own = STARTERS[line.launcher].own
    taken = {
        **values,
        "container": line.container or values["container"] or "none",
        "runtime": line.runtime or values["runtime"],
        "runtime_arg": (*line.arguments, *values["runtime_arg"]),
        "bind": (*binds, *values["bind"]),
        "launcher": line.launcher,
        "ranks": None if own else 1,
        "changes": (*settings, *values["changes"]),
    }
    if own:
        taken[f"{own}_arg"] = (*line.options, *values[f"{own}_arg"])
    else:  # it starts one program, where the script runs
        taken["allowed"] = (*values["allowed"], "nodes")
    return taken, line.command, line.exports
