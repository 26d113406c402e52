"""Choose the modules of bash that a plan needs; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcfg.backends.launchers import LAUNCHERS, ONCE
from envcfg.backends.runtimes.runtime import Runtime
from envcfg.job.plan.diagnostics import is_path
from envcfg.job.plan.plan import Container, Plan
from envcfg.job.script.modules import has_module, module
from envcfg.profile.profile_model import Masks

_WIDE = 7  # characters of a range of components; Slurm allows 128 components at most
# Modules for functions of the job's part.
_ON_CALL = (
    "force",
    "exports",
    "references",
    "bundles",
    "srun/network",
    "binds",
    "image",
    "gpu_numbers",
)
# The lists of functions that a step calls, in their order in the core.
_LISTS = ("BEFORE", "SHAPE", "SET", "WORDS", "READY", "AFTER", "END")


def chosen_modules(plan: Plan, job_part: str) -> list[str]:
    """Return the names of the modules after the job's part, in their order.

    Args:
        job_part: the text particular to the job, which calls functions of modules.
    """
    # A job's part that calls a function needs the module which defines it.
    names = [
        name
        for name in _ON_CALL
        if any(
            f"{function} " in job_part for function in module(name).declared("defines")
        )
    ]
    chosen = ["core"]
    for name in (*names, *plan_modules(plan), "end"):
        _add(name, chosen)
    return chosen


def _add(name: str, chosen: list[str]) -> None:
    """Add a module to *chosen*, after the modules that it needs."""
    for needed in module(name).declared("needs"):
        _add(needed, chosen)
    if name not in chosen:
        chosen.append(name)


def render_lists(names: Sequence[str]) -> str:
    """Return the line that sets the lists of functions that a step calls."""
    entries = [entry for name in names for entry in module(name).declared("adds")]
    pairs = [entry.split("=") for entry in entries]
    lists = {key: " ".join(call for own, call in pairs if own == key) for key in _LISTS}
    return " ".join(f"ENVCFG_{key}='{calls}'" for key, calls in lists.items()) + "\n"


def plan_modules(plan: Plan) -> Iterator[str]:
    """Yield the modules between core and end; one part of the plan needs each.

    The order serves the reader and bash: first the parts of every step (signals,
    place), then the starter, because modules of features use its functions. The
    container and the launcher come late, because they combine the work of the
    others. If two modules add to one list of the core, the list keeps this order.
    """
    starter, options = plan.starter.name, plan.options
    yield from ("signals", "where", "inherited")
    if options.setup:
        yield "setup_file" if is_path(options.setup) else "setup"
    yield from ("arguments", starter)
    if "nodes" in plan.facts:
        yield "stated"
    if components(plan):
        yield "srun/components"
    if ends_at_colon(plan):
        yield "colons"
    if not options.command:
        yield from _several_steps(starter)
    if is_by_interface(plan):
        yield f"{starter}/interface"
    if plan.modules:
        # Conditions on the number of nodes need a count, which needs the modules
        # without conditions.
        is_tested = any(entry.when for entry in plan.modules)
        yield "tested_modules" if is_tested else "modules"
    # A setting may name a folder even if the profile has no scratch.
    if plan.scratch or any(setting.directory for setting in plan.settings):
        yield "folders"
    if plan.scratch:
        yield "caches"
    if masks_of(plan):
        yield "masks"
        if has_module(f"{starter}/masks"):
            yield f"{starter}/masks"
    if finds_cores(plan):
        yield f"{starter}/cores"
    # The container comes after the caches and masks, because it mounts and passes
    # both.
    yield from _entering(plan)
    own = [name for name in options.switches.values() if name]
    yield from (name for name in own if not module(name).is_for_ranks)
    if options.report_environment:
        yield "share"
    # The key of caches must not contain the paths of staged copies, which differ from
    # job to job.
    if options.stage:
        yield "stage"
    if options.keep_caches is not None:
        yield "keep_caches"
    # nccl_log comes before verify: the watcher reads the files that nccl_log
    # creates.
    if options.nccl_debug:
        yield "nccl_log"
    if options.is_watched:
        yield "verify"
    if options.flight_recorder is not None:
        yield "flight"
    yield from _launching(plan)
    # The option must follow the launcher, which knows the local rank.
    if options.local_rank_at is not None:
        yield "local_rank"
    yield from (name for name in own if module(name).is_for_ranks)
    if options.report_environment:
        yield "report"
    if options.profile_rank:
        yield "profiler"
    if plan.container and plan.container.prefix:
        yield "prefix"
    # The program would take the variables of its task for those of a rank.
    if _counts_ranks(plan) or LAUNCHERS[plan.launcher].is_once:
        yield "unranked"
    if options.keeps_launch_line:
        yield "as_said"


def _entering(plan: Plan) -> Iterator[str]:
    if runtime := runtime_of(plan):
        # A plug-in of the starter adds to the container's options, so it comes
        # after the container.
        yield "container"
        if runtime.option:
            yield f"{plan.starter.name}/plugin"
    task = f"{plan.starter.name}/task"
    if module(runtime_module(plan)).declared("hides") and has_module(task):
        yield task
    yield runtime_module(plan)


def _several_steps(starter: str) -> Iterator[str]:
    """Yield the modules of a script that defines ``envcfg_run`` for several steps."""
    yield "steps"
    if has_module(f"{starter}/steps"):
        yield f"{starter}/steps"
    # A starter with its own choice of hosts must not get a second one.
    elif "envcfg_chosen" not in module(starter).declared("defines"):
        yield "hosts"  # the starter's module has the job's nodes in ENVCFG_HOSTS


def _launching(plan: Plan) -> Iterator[str]:
    """Yield the modules that start the ranks and set the launcher's variables."""
    yield launch_module(plan)
    if has_module(f"{plan.starter.name}/step"):
        yield f"{plan.starter.name}/step"
    launcher = LAUNCHERS[plan.launcher]
    # Agents are started by any starter, but a contract exists only if the launcher
    # has a template.
    if (launcher.is_agent or plan.contract) and has_module(launcher_module(plan)):
        yield launcher_module(plan)
    if launcher.is_agent:
        yield "worker"
        if finds_cores(plan) or masks_of(plan):
            yield "worker_cores"
    if plan.options.program:
        yield "program"
        if plan.options.program.port:
            yield "served"
    if launcher.is_once:
        yield plan.launcher


def finds_cores(plan: Plan) -> bool:
    """Return whether the job reads the cores next to its GPUs on its first node."""
    return has_module(f"{plan.starter.name}/cores") and _binds(plan)


def masks_of(plan: Plan) -> Masks | None:
    """Return the profile's masks if the starter, or ranks of an agent, use them."""
    # Masks of the profile need all their cores. What the node shows is right for a
    # part of it, too.
    is_agent = LAUNCHERS[plan.launcher].is_agent
    if "cpu_masks" not in plan.starter.sections:
        return None
    if is_agent and _binds(plan) and not finds_cores(plan):
        return plan.profile.cpu_masks
    return plan.masks


def _binds(plan: Plan) -> bool:
    """Return whether each rank, or process of a program, has its own GPU and cores."""
    return (
        plan.profile.gpus != 0
        and plan.launcher != ONCE
        # Launch lines of users, and this option of torchrun, bind by themselves.
        and not plan.options.keeps_launch_line
        and not any(each.word.startswith("--numa-binding") for each in plan.agent)
    )


def launcher_module(plan: Plan) -> str:
    """Return the name of the module of the launcher, which may be the starter's own."""
    # A starter may replace the launcher's module, for example to read its own
    # variables.
    own = f"{plan.starter.name}/{plan.launcher}"
    return own if has_module(own) else f"launchers/{plan.launcher}"


def launch_module(plan: Plan) -> str:
    """Return the module with the line that starts the tasks, or with its call."""
    launcher, starter = LAUNCHERS[plan.launcher], plan.starter.name
    is_agent = launcher.is_agent or _counts_ranks(plan)
    kind = "agent" if is_agent else "whole" if launcher.is_whole else "ranks"
    if has_module(f"{starter}/{kind}"):
        return f"{starter}/{kind}"
    return f"{starter}/ranks"


def _counts_ranks(plan: Plan) -> bool:
    """Return whether the program gets a number of ranks and starts them itself."""
    program = plan.options.program
    return program is not None and program.counts_ranks


def shell_of(plan: Plan) -> str:
    """Return the shell of the rank part; commands of --setup may need bash."""
    # /bin/sh exists in every image; bash is missing in the smallest ones.
    return "bash" if plan.options.setup else "/bin/sh"


def is_by_interface(plan: Plan) -> bool:
    """Return whether ranks meet at an interface's address, which the starter asks for."""
    meeting = plan.profile.rendezvous
    by_interface = meeting is not None and meeting.interface is not None
    return by_interface and has_module(f"{plan.starter.name}/interface")


def runtime_module(plan: Plan) -> str:
    """Return the module that enters the container, or that of a job without a container."""
    runtime = runtime_of(plan)
    return f"runtimes/{runtime.template if runtime else 'none'}"


def runtime_of(plan: Plan) -> Runtime | None:
    """Return the first of the job's runtimes, which are of one kind; None without one."""
    return plan.container and plan.container.runtimes[0]


def programs(container: Container) -> list[str]:
    """Return the runtimes' names on PATH, in the order in which they are tried, if any."""
    return [runtime.program for runtime in container.runtimes if runtime.program]


def components(plan: Plan) -> str:
    """Return the numbers of the job's components in which its steps are to run: ``0,1``.

    Empty where no option names any, or in a way that its program will refuse.
    """
    text = ""
    for argument in plan.starter_options:
        option, _, value = argument.word.partition("=")
        # The last option wins, as in srun.
        if option in plan.starter.component_options:
            text = value
    numbers: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.partition("-")
        # The length limit keeps a typing error from creating a list of a billion
        # numbers.
        if not (first.isdecimal() and (last or first).isdecimal()) or len(part) > _WIDE:
            return ""
        numbers |= dict.fromkeys(range(int(first), int(last or first) + 1))
    return ",".join(map(str, numbers))


def ends_at_colon(plan: Plan) -> bool:
    """Return whether a word of only colons would end the command."""
    words = plan.options.command or (":",)  # the words of later steps are unknown
    # srun and mpiexec treat a lone colon as the end of the program. Steps may hold
    # any words.
    return plan.starter.ends_at_colon and any(
        word and not word.strip(":") for word in words
    )
