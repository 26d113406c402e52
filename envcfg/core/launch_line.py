"""A launch line behind ``--``, as the options of a step that does what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envcfg.core.step_options import StepOptions
from envcfg.core.values import read_binds, read_setting
from envcfg.errors import UsageError
from envcfg.launch.line import read_line
from envcfg.starters import STARTERS


def take_line(
    options: StepOptions, words: Sequence[str]
) -> tuple[StepOptions, tuple[str, ...], Mapping[str, str]]:
    """Return the options with what the line says, its command, and what its options set.

    Raises:
        UsageError: the line cannot be read, or says otherwise than an option.
    """
    line = read_line(words)
    for option, given, said in (
        ("--container", options.container not in {None, "none"}, line.container),
        ("--launcher", options.launcher not in {None, line.launcher}, line.launcher),
        ("--ranks", options.ranks is not None, "the tasks"),
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
    more: dict[str, Any] = {}
    if own:
        more = {f"{own}_arg": (*line.options, *getattr(options, f"{own}_arg"))}
    taken = options._replace(
        container=line.container or options.container or "none",
        runtime=line.runtime or options.runtime,
        runtime_arg=(*line.arguments, *options.runtime_arg),
        bind=(*binds, *options.bind),
        launcher=line.launcher,
        ranks=None if own else 1,
        changes=(*settings, *options.changes),
        # Without srun it starts one program, where the script runs.
        allowed=options.allowed if own else (*options.allowed, "nodes"),
        **more,
    )
    return taken, line.command, line.exports
