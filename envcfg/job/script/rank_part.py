"""The lines for one job in the rank part: POSIX shell, pure text.

The modules call ``envcfg_rank_settings`` in each rank. If an agent starts the ranks,
they call ``envcfg_task_settings`` in the agent's task, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.errors import UsageError
from envcfg.job.plan.plan import Plan
from envcfg.job.script.diagnostic_lines import profiler_lines, rank_data
from envcfg.job.script.module_choice import launcher_module
from envcfg.job.script.modules import has_module, module
from envcfg.job.script.quoting import quote, quote_always, rename
from envcfg.job.script.settings import (
    agent_lines,
    folder_lines,
    program_lines,
    setting_lines,
)
from envcfg.profile.entries import Setting

# MAX_ARG_STRLEN of execve(2): 32 pages of 4096 bytes, minus the final zero byte.
MOST_BYTES = 32 * 4096 - 1
_NOTHING = "  :\n"


def render_rank_part(plan: Plan) -> str:
    """Return the bash with the lines that each task or rank runs.

    Raises:
        UsageError: they exceed the length of an argument.
    """
    return checked_length("\n".join(_texts(plan)))


def checked_length(text: str) -> str:
    """Return *text*; raise ``UsageError`` if it is too long for a program's argument."""
    # The job tests the whole length (envcfg_lengths in the module core), with the
    # modules and with values known only there.
    size = len(os.fsencode(text))
    if size > MOST_BYTES:
        msg = (
            "what each rank does first, with the settings that are made there, has "
            f"{size} bytes, and an argument can have {MOST_BYTES}"
        )
        raise UsageError(msg, hint="put long texts into a file that the program reads")
    return text


def contract_names(plan: Plan) -> tuple[str, ...]:
    """Return the variables that the launcher's module sets in a rank, if any."""
    if not (plan.contract and has_module(launcher_module(plan))):
        return ()
    return tuple(module(launcher_module(plan)).declared("sets"))


def _texts(plan: Plan) -> Iterator[str]:
    options, inside = plan.options, list(_inside(plan))
    data = rank_data(options)
    outside = [setting for setting in plan.settings if setting.scope == "host"]
    if options.local_rank_at is not None:
        data += f"  envcfg_at={options.local_rank_at}\n"
        data += f"  envcfg_option={quote(options.local_rank_option)}\n"
    if LAUNCHERS[plan.launcher].is_agent:
        node_settings = [planned for planned in inside if planned.scope == "node"]
        mode = f"  envcfg_has_mode={'yes' if options.has_mode else ''}\n"
        folders = [*outside, *node_settings]
        body = mode + _settings(plan, node_settings, folders)
        body = _masked(plan, folders, body, is_task=True)
        yield _function("envcfg_task_settings", "of each task, in the container", body)
        inside = [planned for planned in inside if planned.scope == "rank"]
        body = _settings(plan, inside, inside)
        body = _masked(plan, inside, body, is_task=False)
        about = "of each rank that the agent starts"
        yield f"ENVCFG_AGENT_OPTIONS={quote_always(agent_lines(plan.agent))}\n"
    else:
        folders = [*outside, *inside]
        body = _settings(plan, inside, folders)
        body = _masked(plan, folders, body, is_task=True)
        about = "of each rank, in the container"
    if plan.handed_on:
        body += f"  unset -v {' '.join(_handed_on(plan).values())}\n"
    yield _function("envcfg_rank_settings", about, data + body)
    if options.program:
        yield f"ENVCFG_PROGRAM={quote_always(program_lines(plan, options.program))}\n"
    if options.profile_rank:
        yield f"ENVCFG_PROFILER={quote_always(profiler_lines(options))}\n"
    if plan.container and plan.container.prefix:
        words = " ".join(map(quote_always, plan.container.prefix))
        line = f'set -- {words} "$@"\n'
        yield f"ENVCFG_PREFIX={quote_always(line)}\n"


def _function(name: str, about: str, body: str) -> str:
    return f"# Variables {about}.\n{name}() {{\n{body or _NOTHING}}}\n"


def _settings(
    plan: Plan, settings: Sequence[Setting], folders: Sequence[Setting]
) -> str:
    """Return the lines that set *settings* and make *folders*."""
    body = setting_lines(settings, is_host=False) + folder_lines(folders)
    names = {setting.name for setting in settings}
    if own := [name for name in contract_names(plan) if name in names]:
        text = " ".join(own)
        body += "  # The launcher keeps the values that are set above.\n"
        body += f"  ENVCFG_PRESET=\"$ENVCFG_PRESET\"'{text} '\n"
    return body


def _masked(
    plan: Plan, settings: Sequence[Setting], body: str, *, is_task: bool
) -> str:
    """Return *body*, which makes *settings*, with the lines that leave one GPU mask.

    Args:
        is_task: whether the lines run once in each task, not in a rank of an agent.
    """
    layer, own = plan.visibility, {setting.name for setting in settings}
    if layer is None or not (is_task or layer.variable in own):
        return body
    # A mask that an option sets replaces those of the job.
    unset = [
        name
        for name in layer.inner
        if name not in own and (layer.variable in own or not layer.numbers)
    ]
    comment = f"  # One layer of GPU masking: {layer.variable}.\n"
    if unset:
        body = f"{comment}  unset -v {' '.join(unset)}\n{body}"
    if layer.numbers:
        if options := [name for name in layer.inner if name in own]:
            body += f"  ENVCFG_PRESET=\"$ENVCFG_PRESET\"'{' '.join(options)} '\n"
        words = [f'{layer.variable} "${{{layer.variable}--}}"']
        words += [f'{name} "${{{name}-}}"' for name in layer.inner]
        body += f"{comment}  envcfg_number_gpus " + " \\\n    ".join(words) + "\n"
    return body


def _inside(plan: Plan) -> Iterator[Setting]:
    """Yield the settings that each task makes itself.

    They refer to variables of the job by the names of ``_handed_on``.
    """
    names = _handed_on(plan)
    for setting in plan.settings:
        if setting.scope != "host":
            cases = tuple(
                case._replace(value=case.value and rename(case.value, names))
                for case in setting.cases
            )
            yield setting._replace(cases=cases)


def _handed_on(plan: Plan) -> dict[str, str]:
    """Return the names by which envcfg_pass passes on variables of the job."""
    return {name: f"ENVCFG_REF_{name}" for name in plan.handed_on}
