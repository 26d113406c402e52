"""A launch line after ``--``, as the options of an equivalent step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envcfg.backends.starters import STARTERS
from envcfg.common.errors import UsageError
from envcfg.core.option_values import read_binds, read_setting
from envcfg.job.plan.launch_line import read_line


def take_line(
    values: Mapping[str, Any], words: Sequence[str]
) -> tuple[dict[str, Any], tuple[str, ...], Mapping[str, str]]:
    """Return the values of ``STEP`` with those of the line, its command, and its
    exports.

    Raises:
        UsageError: the line cannot be parsed, or contradicts an option.
    """
    line = read_line(words)
    for option, is_given, text in (
        ("--container", values["container"] not in {None, "none"}, line.container),
        ("--launcher", values["launcher"] not in {None, line.launcher}, line.launcher),
        ("--ranks", values["ranks"] is not None, "the tasks"),
    ):
        if is_given and text:
            msg = f"{option} is given, and the launch line says it, too"
            raise UsageError(msg, hint=f"leave out {option}")
    try:
        binds = [read_binds(bind) for bind in line.binds if bind]
        settings = [
            read_setting(f"{name}={value.replace('$', '$$')}")
            for name, value in line.settings.items()
        ]
    except ValueError as err:
        msg = f"the launch line: {err}"
        raise UsageError(msg, hint="correct it there") from err
    own = STARTERS[line.launcher].own
    names = {
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
        names[f"{own}_arg"] = (*line.options, *values[f"{own}_arg"])
    else:  # the line starts one program on the script's node
        names["allowed"] = (*values["allowed"], "nodes")
    return names, line.command, line.exports
