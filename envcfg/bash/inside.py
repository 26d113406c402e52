"""What is particular to a job in the rank part: POSIX shell, pure text.

The modules call ``envcfg_inside`` where settings count that each task makes itself. Where
an agent starts the ranks, there is one for the agent and one for its ranks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from envcfg.bash.choice import launcher_module
from envcfg.bash.diagnosis import profiler_lines, rank_data, setup_lines
from envcfg.bash.modules import has_module, module
from envcfg.bash.quoting import heredoc, quote, quote_always, rename
from envcfg.bash.settings import agent_lines, folder_lines, setting_lines
from envcfg.errors import UsageError
from envcfg.launch.plan import Plan, Planned
from envcfg.launchers import LAUNCHERS

# MAX_ARG_STRLEN of execve(2), 32 pages of 4096 bytes, less the zero at the end.
MOST_BYTES = 32 * 4096 - 1
_SETS = r"\benvcfg_in_set ([A-Z]\w*)"
_NOTHING = "  :\n"
_TEXT = re.compile(
    r"<<'ENVCFG_TEXT'[^\n]*\n(.*?)^ENVCFG_TEXT$", re.DOTALL | re.MULTILINE
)


def inside_texts(plan: Plan) -> dict[str, str]:
    """Return variables of bash, and the shell that each holds."""
    return dict(_texts(plan))


def render_inside(texts: Mapping[str, str], names: Sequence[str]) -> str:
    """Return the bash that holds *texts* for the modules of these *names*.

    Raises:
        UsageError: together with the modules they are longer than an argument can be.
    """
    parts = [match for name in names for match in _TEXT.findall(module(name).text)]
    # The job finds the rest (envcfg_lengths in the module core): values that refer to its
    # variables are known there only.
    size = len(os.fsencode("".join([*texts.values(), *parts])))
    if size > MOST_BYTES:
        msg = (
            "what each rank does first, with the settings that are made there, has "
            f"{size} bytes, and an argument can have {MOST_BYTES}"
        )
        raise UsageError(msg, hint="put long texts into a file that the program reads")
    return "\n".join(heredoc(name, text) for name, text in texts.items())


def contract_names(plan: Plan) -> tuple[str, ...]:
    """Return the variables that the launcher's module gives to a rank, if it does."""
    if not (plan.contract and has_module(launcher_module(plan))):
        return ()
    text = module(launcher_module(plan)).text
    return tuple(dict.fromkeys(re.findall(_SETS, text)))


def _texts(plan: Plan) -> Iterator[tuple[str, str]]:
    suffix = plan.rendezvous.suffix if plan.rendezvous else ""
    named = (
        f"# What follows a node's name in its address.\nENVCFG_SUFFIX={quote(suffix)}\n"
    )
    first = f"{named if suffix else ''}{setup_lines(plan.diagnostics)}"
    data, inside = rank_data(plan.diagnostics), list(_inside(plan))
    if plan.local_rank_at is not None:
        data += f"envcfg_at={plan.local_rank_at}\n"
        data += f"envcfg_option={quote(plan.local_rank_option)}\n"
    if not LAUNCHERS[plan.launcher].is_agent:
        outside = [each for each in plan.settings if each.scope == "host"]
        text = _function(plan, inside, [*outside, *inside], is_last=True)
        yield "ENVCFG_INSIDE", f"{first}{data}{text}"
    else:
        here = [each for each in inside if each.scope == "node"]
        outside = [each for each in plan.settings if each.scope == "host"]
        mode = f"envcfg_has_mode={'yes' if plan.has_mode else ''}\n"
        text = _function(plan, here, [*outside, *here], is_last=False)
        yield "ENVCFG_INSIDE", f"{first}{mode}{text}"
        ranked = [each for each in inside if each.scope == "rank"]
        text = _function(plan, ranked, ranked, is_last=True, is_worker=True)
        yield "ENVCFG_INSIDE_RANK", f"{data}{text}"
        yield "ENVCFG_OPTIONS", agent_lines(plan.agent)
    if plan.diagnostics.profiled:
        yield "ENVCFG_PROFILER", profiler_lines(plan.diagnostics)
    if plan.container and plan.container.prefix:
        words = " ".join(map(quote_always, plan.container.prefix))
        yield "ENVCFG_PREFIX", f'set -- {words} "$@"\n'


def _function(
    plan: Plan,
    settings: Sequence[Planned],
    folders: Sequence[Planned],
    *,
    is_last: bool,
    is_worker: bool = False,
) -> str:
    """Return the function that sets *settings* and makes *folders*."""
    body = "" if is_worker else _masking(plan)
    body += setting_lines(settings, "envcfg_in") + folder_lines(folders)
    names = [each.name for each in settings if each.name in contract_names(plan)]
    if names:
        text = " ".join(names)
        body += f"  ENVCFG_PRESET=\"$ENVCFG_PRESET\"'{text} ' # as set above\n"
    if is_last and plan.handed_on:
        body += f"  unset -v {' '.join(_handed_on(plan).values())}\n"
    about = "in each rank" if is_worker else "in each task, in the container"
    return f"envcfg_inside() {{ # what is set {about}\n{body or _NOTHING}}}\n"


def _masking(plan: Plan) -> str:
    """Return the lines that leave one layer of GPU masking, once for each task."""
    own, layer = {each.name for each in plan.settings}, plan.visibility
    names = [name for name in (layer.clear if layer else ()) if name not in own]
    if not (layer and names):
        return ""
    comment = f"  # One layer of GPU masking: {layer.variable}.\n"
    return f"{comment}  unset -v {' '.join(names)}\n"


def _inside(plan: Plan) -> Iterator[Planned]:
    """Yield the settings made inside; what they need of the job goes by other names."""
    names = _handed_on(plan)
    for setting in plan.settings:
        if setting.scope != "host":
            cases = tuple(
                case._replace(value=case.value and rename(case.value, names))
                for case in setting.cases
            )
            yield setting._replace(cases=cases)


def _handed_on(plan: Plan) -> dict[str, str]:
    """Return the names under which envcfg_pass hands on variables of the job."""
    return {name: f"ENVCFG_REF_{name}" for name in plan.handed_on}
