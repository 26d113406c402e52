"""The lines of a request, each with its reason from the profile; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg import runtimes
from envcfg.launch.plan import Plan
from envcfg.profile.facts import Reason
from envcfg.profile.model import Profile
from envcfg.profile.scheduler import UNASKED, Asking
from envcfg.profile.words import Ref, Word
from envcfg.request.amounts import size_text, time_text
from envcfg.request.limits import known_queues
from envcfg.request.rules import Line, option_in
from envcfg.request.shape import Asked, Shape
from envcfg.schedulers import SCHEDULERS

_CORES = "--cpus-per-task"  # told again even where a job may not ask for it


class Repeat(NamedTuple):
    """A variable by which srun is told again what it does not take over."""

    name: str
    value: Word
    why: str


def request_lines(
    profile: Profile, plan: Plan, scheduler: Asking, asked: Asked, shape: Shape
) -> Iterator[Line]:
    """Yield the lines of the request, in the order in which people read them."""
    named, by = asked.named, SCHEDULERS[scheduler.scheduler]
    yield Line("--job-name", named.get("--job-name"), "its name in the queue")
    yield from _named(
        profile, named, "--account", "--partition", "--qos", "--constraint"
    )
    yield from _image(plan, scheduler)
    size = f"{shape.gpus} GPU{'s' * (shape.gpus != 1)} on each node"
    yield Line("--nodes", str(shape.nodes), _why(profile, "--nodes", size))
    yield from _segment(profile, scheduler, asked, shape)
    if asked.exclusive:
        why = "given for this job"
        if plan.masks:
            why = f"binding ranks to cores needs whole nodes; {plan.masks.reason.why}"
        yield Line("--exclusive", None, _why(profile, "--exclusive", why))
    if by.asks_amounts:
        yield from _amounts(profile, plan, scheduler, shape)
    yield from _named(profile, named, *by.resources)
    if asked.seconds is not None:
        why = _why(
            profile, "--time", "the job is ended after it; the shorter, the sooner"
        )
        yield Line("--time", time_text(asked.seconds), why)
    array = "--array" in named
    yield from _named(profile, named, "--array")
    output = named.get("--output") or (by.output and by.output[array])
    which = "job and number" if array else "name and number of the job"
    yield Line("--output", output, f"stdout and stderr, by {which}")
    if asked.signal:
        batch = "B:" if asked.requeue else ""
        signal = f"{batch}{asked.signal.name}@{asked.signal.seconds}"
        to = "this script, which hands it on" if asked.requeue else "every rank"
        yield Line(
            "--signal", signal, f"so long before the end, to {to}: save and stop"
        )
    if asked.requeue:
        yield Line("--requeue", None, "the job may start again, as at the end below")
        yield Line("--open-mode", "append", "each start adds to the same output")
    for word in asked.extra:
        option, equals, value = word.partition("=")
        rule = profile.rules.get(option)
        yield Line(
            option, value if equals else None, rule.reason.why if rule else "given"
        )


def _amounts(
    profile: Profile, plan: Plan, scheduler: Asking, shape: Shape
) -> Iterator[Line]:
    option = scheduler.gpus or SCHEDULERS[scheduler.scheduler].gpus
    reason = scheduler.reason
    kind = f"{scheduler.gpu_type}:" if scheduler.gpu_type else ""
    if option == "--gres":
        disk = f",nvme:{shape.nvme}" if shape.nvme else ""
        yield _said(option, f"gpu:{kind}{shape.gpus}{disk}", reason)
    elif option and option != UNASKED:
        yield _said(option, f"{kind}{shape.gpus}", reason)
    if shape.asks_tasks:
        one = f"one task, in which {plan.launcher} starts the ranks"
        each = "one task for each rank" if plan.ranks else "one task for each GPU"
        yield Line(
            "--ntasks-per-node", str(shape.tasks), one if shape.tasks == 1 else each
        )
    node = profile.node
    why = node.reason.why if node else "given for this job"
    source = node.reason.cited if node else ""
    if shape.asks_cores and shape.cores_per_task:
        yield Line("--cpus-per-task", str(shape.cores_per_task), why, source)
    if shape.asks_memory and shape.memory:
        each = size_text(shape.memory // shape.gpus)
        yield Line("--mem", size_text(shape.memory), f"{each} for each GPU", source)


def _image(plan: Plan, scheduler: Asking) -> Iterator[Line]:
    if plan.container:
        known = runtimes.runtime(plan.container.runtimes[0])
        if option := known.directives.get(scheduler.scheduler):
            why = f"{known.name} mounts it once on each node, not for each task"
            yield Line(option, plan.container.image, why)


def _segment(
    profile: Profile, scheduler: Asking, asked: Asked, shape: Shape
) -> Iterator[Line]:
    """Yield the parts of the job that must each lie in one NVLink domain.

    Slurm wants a number that divides the nodes; the largest leaves most ranks NVLink.
    """
    domain = profile.nvlink
    option = SCHEDULERS[scheduler.scheduler].segment
    if domain is None or not domain.segment or option is None:
        return
    if any(word.partition("=")[0] == option for word in asked.extra):
        return
    most = min(shape.nodes, domain.nodes)
    part = next(size for size in range(most, 0, -1) if shape.nodes % size == 0)
    if part > 1:
        yield _said(option, str(part), domain.reason)


def _named(profile: Profile, named: Mapping[str, str], *options: str) -> Iterator[Line]:
    for option in options:
        if option in named:
            value = named[option]
            queue = known_queues(profile, option).get(value)
            rule = profile.rules.get(option_in(profile, option))
            disk = profile.scratch.disk_request if profile.scratch else {}
            if queue:
                yield _said(option, value, queue.reason)
            elif profile.scratch and disk.get(option) == value:
                yield _said(option, value, profile.scratch.reason)
            elif rule:
                yield _said(option, value, rule.reason)
            else:
                yield Line(option, value, "given for this job")


def _said(option: str, value: str | None, reason: Reason) -> Line:
    return Line(option, value, reason.why, reason.cited)


def _why(profile: Profile, option: str, otherwise: str) -> str:
    rule = profile.rules.get(option)
    return rule.reason.why if rule and rule.rule != "repeat" else otherwise


def repeats(profile: Profile, shape: Shape, lines: Sequence[Line]) -> Iterator[Repeat]:
    """Yield what srun must be told again, by the variables that it reads."""
    if profile.request is None:
        return
    told_by = SCHEDULERS[profile.request.scheduler].told_by
    values = {line.option: line.value for line in lines}
    for option, rule in profile.rules.items():
        if not rule or rule.rule != "repeat" or option not in values:
            continue
        if option in told_by and option != _CORES:
            known, told = told_by[option]
            yield Repeat(told, (Ref(known, str(values[option])),), rule.reason.why)
    rule = profile.rules.get(_CORES)
    again = rule and rule.rule in {"repeat", "must not"} and shape.cores_per_task
    if rule and again and _CORES in told_by:
        known, told = told_by[_CORES]
        value = (Ref(known, str(shape.cores_per_task)),)
        yield Repeat(told, value, rule.reason.why)
