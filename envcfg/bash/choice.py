"""Which templates a plan needs; pure."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg import runtimes
from envcfg.bash.pieces import has_template
from envcfg.launch.plan import Container, Plan
from envcfg.launchers import LAUNCHERS
from envcfg.runtimes.model import Runtime
from envcfg.starters import STARTERS

_WIDE = 7  # characters of a range of components, of which Slurm has 128 at most


def shell_of(plan: Plan) -> str:
    """Return the shell of the rank part; what --setup gives may be written for bash."""
    return "bash" if plan.diagnostics.setup else "/bin/sh"


def is_by_interface(plan: Plan) -> bool:
    """Tell whether ranks meet at an interface's address, which the starter must ask for."""
    wanted = plan.rendezvous is not None and plan.rendezvous.interface is not None
    return wanted and has_template(f"{plan.starter}/interface")


def launch_templates(plan: Plan) -> list[str]:
    """Return the templates with the decisions: how ranks are started, how they enter."""
    starter = plan.starter
    names = [_launch_template(plan)]
    names += [name for name in (f"{starter}/step",) if has_template(name)]
    if "cpu_masks" in STARTERS[starter].sections:
        names.append(f"{starter}/{'pin' if plan.masks else 'unpinned'}")
        if plan.masks:
            names.append("covers")
    if runtime := runtime_of(plan):
        names.append("container")
        if runtime.option:
            names.append(f"{starter}/plugin")
    return [*names, runtime_template(plan)]


def _launch_template(plan: Plan) -> str:
    known = LAUNCHERS[plan.launcher]
    if known.is_agent:
        return f"{plan.starter}/agent"
    whole = f"{plan.starter}/whole"
    is_own = known.is_whole and has_template(whole)
    return whole if is_own else f"{plan.starter}/ranks"


def runtime_template(plan: Plan) -> str:
    """Return the template that enters the container; there is one for none, too."""
    known = runtime_of(plan)
    return f"runtimes/{known.template if known else 'none'}"


def runtime_blocks(container: Container | None, names: Sequence[str]) -> dict[str, str]:
    """Return the blocks of a runtime's template that do not concern it, as nothing.

    Args:
        container: whose image may be a file, and may not.
        names: the runtimes that count, as a block may be named for one.
    """
    others = {name: "" for name in runtimes.NAMES if name not in names}
    return others if container is None or container.is_file else {"file": "", **others}


def runtime_of(plan: Plan) -> Runtime | None:
    """Return the first of the job's runtimes, which are of one kind; None without one."""
    return plan.container and runtimes.runtime(plan.container.runtimes[0])


def programs(container: Container) -> list[str]:
    """Return the runtimes' names on PATH, in the order in which they are tried, if any."""
    known = (runtimes.runtime(name) for name in container.runtimes)
    return [each.program for each in known if each.program]


def machine_templates(plan: Plan) -> list[str]:
    """Return the templates that are the same for every job of the starter."""
    names = ["machinery", f"{plan.starter}/host"]
    if STARTERS[plan.starter].keeps_hosts and not plan.command:
        names.append("chosen")
    if runtime_of(plan) and not has_template(f"{plan.starter}/task"):
        names.append("given")
    if is_by_interface(plan):
        names += [f"{plan.starter}/interface"]
        if has_template(f"{plan.starter}/first_node"):
            names.append(f"{plan.starter}/first_node")
    if ends_at_colon(plan):
        names.append("colons")
    if components(plan):
        names.append(f"{plan.starter}/components")
    return [*names, "signals"]


def components(plan: Plan) -> str:
    """Return the numbers of the job's components in which its steps are to run: ``0,1``.

    Empty where no option names any, or in a way that its program will refuse.
    """
    found = ""
    for each in plan.started:
        option, _, value = each.word.partition("=")
        if option in STARTERS[plan.starter].component_options:
            found = value
    numbers: dict[int, None] = {}
    for part in found.split(","):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()) or len(part) > _WIDE:
            return ""
        numbers |= dict.fromkeys(range(int(first), int(last or first) + 1))
    return ",".join(map(str, numbers))


def ends_at_colon(plan: Plan) -> bool:
    """Tell whether a word of the command may be nothing but colons, and end it."""
    words = plan.command or (":",)  # steps may have any
    return STARTERS[plan.starter].ends_at_colon and any(
        word and not word.strip(":") for word in words
    )
