"""The lines of a request, each with its reason from the profile; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.job.plan.plan import Plan
from envcfg.job.request.amounts import size_text, time_text
from envcfg.job.request.queue_limits import known_queues
from envcfg.job.request.request_rules import Line, option_in
from envcfg.job.request.shape import Shape, UserRequest
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import UNASKED, Asking
from envcfg.profile.words import Ref, Word

_CORES = "--cpus-per-task"  # repeated even if the job itself may not request it


class Repeat(NamedTuple):
    """A variable that passes an option of the job on to srun."""

    name: str
    value: Word
    why: str


def request_lines(
    profile: Profile, plan: Plan, scheduler: Asking, request: UserRequest, shape: Shape
) -> Iterator[Line]:
    """Yield the lines of the request, in the usual reading order."""
    named_options, by = request.other_options, SCHEDULERS[scheduler.scheduler]
    yield Line("--job-name", named_options.get("--job-name"), "its name in the queue")
    yield from _option_lines(
        profile, named_options, "--account", "--partition", "--qos", "--constraint"
    )
    yield from _image(plan, scheduler)
    size = f"{shape.gpus} GPU{'s' * (shape.gpus != 1)} on each node"
    yield Line("--nodes", str(shape.nodes), _why(profile, "--nodes", size))
    yield from _segment(profile, scheduler, request, shape)
    if request.excluded:
        yield Line("--exclude", request.excluded, f"nodes of {request.excluded_by}")
    if request.exclusive:
        # If the masks need whole nodes, this reason is more useful than that of the
        # rule.
        why = "given for this job"
        if plan.masks:
            why = f"binding ranks to cores needs whole nodes; {plan.masks.reason.why}"
        yield Line("--exclusive", None, _why(profile, "--exclusive", why))
    if by.asks_amounts:
        typed = scheduler._replace(gpu_type=request.gpu_type or scheduler.gpu_type)
        yield from _amounts(profile, plan, typed, shape)
    yield from _option_lines(profile, named_options, *by.resources)
    if request.seconds is not None:
        why = _why(
            profile,
            "--time",
            "the job ends at this limit; shorter jobs often start sooner",
        )
        yield Line("--time", time_text(request.seconds), why)
    # An array needs the task number in its output file, or all tasks write to one
    # file.
    array = "--array" in named_options
    yield from _option_lines(profile, named_options, "--array")
    output = named_options.get("--output") or (by.output and by.output[array])
    which = "job and number" if array else "name and number of the job"
    yield Line("--output", output, f"stdout and stderr, by {which}")
    if request.signal:
        # "B:" signals the batch shell only, which saves, requeues and hands the
        # signal on.
        batch = "B:" if request.requeue else ""
        signal = f"{batch}{request.signal.name}@{request.signal.seconds}"
        to = "this script, which hands it on" if request.requeue else "every rank"
        yield Line(
            "--signal", signal, f"so long before the end, to {to}: save and stop"
        )
    if request.requeue:
        yield Line("--requeue", None, "the job may start again, as at the end below")
    names = {word.partition("=")[0] for word in request.extra}
    # Slurm itself starts a job again after a node failure, and without append truncates
    # its output. A file of several jobs is truncated by each of them, as usual.
    starts_again = "--requeue" not in by.lacks and "--no-requeue" not in names
    own_file = any(number in (output or "") for number in ("%j", "%A", "%J"))
    if request.requeue or (starts_again and own_file and "--open-mode" not in names):
        yield Line("--open-mode", "append", "each start adds to the same output")
    for word in request.extra:
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
    # A GPU type is written only if the profile names one: several types share one
    # queue.
    kind = f"{scheduler.gpu_type}:" if scheduler.gpu_type else ""
    # --gres lists all generic resources in one option, and a second --gres would
    # override it.
    if option == "--gres":
        disk = f",nvme:{shape.nvme}" if shape.nvme else ""
        yield _line(option, f"gpu:{kind}{shape.gpus}{disk}", reason)
    elif option and option != UNASKED:
        yield _line(option, f"{kind}{shape.gpus}", reason)
    if shape.asks_tasks:
        one_task = f"one task, in which {plan.launcher} starts the ranks"
        tasks_text = "one task for each rank" if plan.ranks else "one task for each GPU"
        yield Line(
            "--ntasks-per-node",
            str(shape.tasks),
            one_task if shape.tasks == 1 else tasks_text,
        )
    node = profile.node
    why = node.reason.why if node else "given for this job"
    source = node.reason.cited if node else ""
    if shape.asks_cores and shape.cores_per_task:
        yield Line("--cpus-per-task", str(shape.cores_per_task), why, source)
    if shape.asks_memory and shape.memory:
        # The per-GPU value is printed in the reason, because users compare it with
        # the node.
        tasks_text = size_text(shape.memory // shape.gpus)
        yield Line(
            "--mem", size_text(shape.memory), f"{tasks_text} for each GPU", source
        )


def _image(plan: Plan, scheduler: Asking) -> Iterator[Line]:
    # Such runtimes need a directive of the job, because the image is mounted before
    # the step.
    if plan.container:
        runtime = plan.container.runtimes[0]
        if option := runtime.directives.get(scheduler.scheduler):
            why = f"{runtime.name} mounts it once on each node, not for each task"
            yield Line(option, plan.container.image, why)


def _segment(
    profile: Profile, scheduler: Asking, request: UserRequest, shape: Shape
) -> Iterator[Line]:
    """Yield the parts of the job that must each lie in one NVLink domain.

    Slurm wants a number that divides the nodes; the largest leaves most ranks NVLink.
    """
    domain = profile.nvlink
    option = SCHEDULERS[scheduler.scheduler].segment
    if domain is None or not domain.segment or option is None:
        return
    # The user's own segment is kept.
    if any(word.partition("=")[0] == option for word in request.extra):
        return
    most = min(shape.nodes, domain.nodes)
    part = next(size for size in range(most, 0, -1) if shape.nodes % size == 0)
    # A part of one node has no effect on placement.
    if part > 1:
        yield _line(option, str(part), domain.reason)


def _option_lines(
    profile: Profile, names: Mapping[str, str], *options: str
) -> Iterator[Line]:
    for option in options:
        if option in names:
            value = names[option]
            queue = known_queues(profile, option).get(value)
            rule = profile.rules.get(option_in(profile, option))
            disk = profile.scratch.disk_request if profile.scratch else {}
            # The reason of a queue is more specific than that of the rule on its
            # option.
            if queue:
                yield _line(option, value, queue.reason)
            elif profile.scratch and disk.get(option) == value:
                yield _line(option, value, profile.scratch.reason)
            elif rule:
                yield _line(option, value, rule.reason)
            else:
                yield Line(option, value, "given for this job")


def _line(option: str, value: str | None, reason: Reason) -> Line:
    return Line(option, value, reason.why, reason.cited)


def _why(profile: Profile, option: str, otherwise: str) -> str:
    # A rule of kind "repeat" concerns the step, so its reason would not explain
    # this line.
    rule = profile.rules.get(option)
    return rule.reason.why if rule and rule.rule != "repeat" else otherwise


def repeats(profile: Profile, shape: Shape, lines: Sequence[Line]) -> Iterator[Repeat]:
    """Yield the variables that pass options on to srun, because srun does not inherit
    them."""
    if profile.request is None:
        return
    told_by = SCHEDULERS[profile.request.scheduler].told_by
    values = {line.option: line.value for line in lines}
    for option, rule in profile.rules.items():
        if not rule or rule.rule != "repeat" or option not in values:
            continue
        # Cores are handled below, because their value must be computed for each
        # task.
        if option in told_by and option != _CORES:
            variable, text = told_by[option]
            yield Repeat(text, (Ref(variable, str(values[option])),), rule.reason.why)
    rule = profile.rules.get(_CORES)
    # If a job may not request cores, srun still needs them, or each task gets one
    # core.
    again = rule and rule.rule in {"repeat", "must not"} and shape.cores_per_task
    if rule and again and _CORES in told_by:
        variable, text = told_by[_CORES]
        value = (Ref(variable, str(shape.cores_per_task)),)
        yield Repeat(text, value, rule.reason.why)
