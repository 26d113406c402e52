"""A launch line behind ``--``, as the options of a step that does what it says."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.core.step_options import StepOptions
from envcfg.core.values import read_binds, read_setting
from envcfg.errors import UsageError
from envcfg.launch.line import read_line
from envcfg.starters import OWN


def take_line(
    options: StepOptions, words: Sequence[str]
) -> tuple[StepOptions, tuple[str, ...]]:
    """Return the options with what the line says, and its command.

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
    is_local = line.launcher not in OWN
    taken = options._replace(
        container=line.container or options.container or "none",
        runtime=line.runtime or options.runtime,
        runtime_arg=(*line.arguments, *options.runtime_arg),
        bind=(*binds, *options.bind),
        launcher=line.launcher,
        ranks=1 if is_local else None,
        srun_arg=(*line.srun, *options.srun_arg),
        changes=(*settings, *options.changes),
        # Without srun it starts one program, where the script runs.
        allowed=(*options.allowed, "nodes") if is_local else options.allowed,
    )
    return taken, line.command
