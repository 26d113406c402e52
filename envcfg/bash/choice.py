"""Which modules a plan needs; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg import runtimes
from envcfg.bash.diagnosis import rank_modules
from envcfg.bash.modules import has_module, module
from envcfg.launch.plan import Container, Plan
from envcfg.launchers import LAUNCHERS
from envcfg.runtimes.model import Runtime
from envcfg.starters import STARTERS

_NAME = re.compile(r"envcfg_\w+")
_WIDE = 7  # characters of a range of components, of which Slurm has 128 at most
# Taken where something calls a function of theirs, behind the core.
_ASKED = (
    *("place", "per_node", "image", "binds", "srun/network", "srun/alone", "bundles"),
    "references",  # of which binds asks, too
)


def chosen_modules(plan: Plan, job_part: str) -> list[str]:
    """Return the names of the modules behind the job's part, in their order.

    Args:
        plan: of the job.
        job_part: what is particular to it, which calls functions of modules.
    """
    names = list(_modules(plan))
    called = set(_NAME.findall(job_part))
    called.update(*(_NAME.findall(module(name).text) for name in names))
    asked: list[str] = []
    for name in _ASKED:
        if not called.isdisjoint(module(name).functions):
            called.update(_NAME.findall(module(name).text))
            asked.insert(0, name)
    return ["core", *asked, *names, "end"]


def _modules(plan: Plan) -> Iterator[str]:
    """Yield the modules between core and end, each asked for by one thing of the plan.

    The order is that of the reader and of bash: first what every step has (signals, where
    it may run), then the starter, as modules of features use its functions; the container
    and the launcher come late, as they put together what the others have prepared. Where
    two modules add to one list of the core, the list is worked through in this order.
    """
    starter, asked = plan.starter, plan.diagnostics
    yield from ("signals", "where", "inherited")
    yield from rank_modules(asked, is_setup=True)
    yield from ("arguments", starter)
    if "nodes" in plan.facts:
        yield "stated"
    if components(plan):
        yield "srun/components"
    if ends_at_colon(plan):
        yield "colons"
    if not plan.command:
        yield "steps"
        if has_module(f"{starter}/steps"):
            yield f"{starter}/steps"
        elif "envcfg_chosen" not in module(starter).functions:
            yield "hosts"  # the starter's module has the job's nodes in ENVCFG_HOSTS
    if is_by_interface(plan):
        yield f"{starter}/interface"
    if plan.modules:
        yield "modules"
    if plan.scratch or any(each.directory for each in plan.settings):
        yield "folders"
    if plan.scratch:
        yield "caches"
    if plan.masks and "cpu_masks" in STARTERS[starter].sections:
        yield "masks"
        if has_module(f"{starter}/masks"):
            yield f"{starter}/masks"
    yield from _entering(plan)
    if asked.smoke_test:
        yield "smoke"
    if plan.preflight or asked.reported:
        yield "share"
    if plan.preflight:
        yield "preflight"
    if asked.stage:
        yield "stage"
    if asked.nccl_log is not None:
        yield "nccl_log"
    if asked.watched:
        yield "verify"
    if asked.flight is not None:
        yield "flight"
    yield from _launching(plan)
    if plan.local_rank_at is not None:
        yield "local_rank"
    yield from rank_modules(asked)
    if plan.container and plan.container.prefix:
        yield "prefix"


def _entering(plan: Plan) -> Iterator[str]:
    if runtime := runtime_of(plan):
        yield "container"
        if runtime.option:
            yield f"{plan.starter}/plugin"
    yield "given"
    if has_module(f"{plan.starter}/task"):
        yield f"{plan.starter}/task"
    yield runtime_module(plan)


def _launching(plan: Plan) -> Iterator[str]:
    """Yield what starts the ranks, and what the launcher's library reads."""
    yield launch_module(plan)
    if has_module(f"{plan.starter}/step"):
        yield f"{plan.starter}/step"
    known = LAUNCHERS[plan.launcher]
    if (known.is_agent or plan.contract) and has_module(launcher_module(plan)):
        yield launcher_module(plan)
    if known.is_agent:
        yield "worker"


def launcher_module(plan: Plan) -> str:
    """Return the name of the module of the launcher, which may be the starter's own."""
    own = f"{plan.starter}/{plan.launcher}"
    return own if has_module(own) else f"launchers/{plan.launcher}"


def launch_module(plan: Plan) -> str:
    """Return the module with the line that starts the tasks, or what calls it."""
    known, starter = LAUNCHERS[plan.launcher], plan.starter
    kind = "agent" if known.is_agent else "whole" if known.is_whole else "ranks"
    if has_module(f"{starter}/{kind}"):
        return f"{starter}/{kind}"
    return f"{starter}/ranks"


def launch_texts(plan: Plan) -> Iterator[str]:
    """Yield the texts of which one has the launch line."""
    yield from (module(launch_module(plan)).text, module(plan.starter).text)


def shell_of(plan: Plan) -> str:
    """Return the shell of the rank part; what --setup gives may be written for bash."""
    return "bash" if plan.diagnostics.setup else "/bin/sh"


def is_by_interface(plan: Plan) -> bool:
    """Tell whether ranks meet at an interface's address, which the starter must ask for."""
    wanted = plan.rendezvous is not None and plan.rendezvous.interface is not None
    return wanted and has_module(f"{plan.starter}/interface")


def runtime_module(plan: Plan) -> str:
    """Return the module that enters the container; there is one for none, too."""
    known = runtime_of(plan)
    return f"runtimes/{known.template if known else 'none'}"


def runtime_of(plan: Plan) -> Runtime | None:
    """Return the first of the job's runtimes, which are of one kind; None without one."""
    return plan.container and runtimes.runtime(plan.container.runtimes[0])


def programs(container: Container) -> list[str]:
    """Return the runtimes' names on PATH, in the order in which they are tried, if any."""
    known = (runtimes.runtime(name) for name in container.runtimes)
    return [each.program for each in known if each.program]


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
