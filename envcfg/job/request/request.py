"""Turn a profile and the user's options into the request of a job, line by line; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.backends import runtimes
from envcfg.backends.launchers import LAUNCHERS
from envcfg.backends.schedulers import NONE, SCHEDULERS
from envcfg.backends.schedulers.scheduler import TYPED, JobNames, Scheduler
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding, finding_in
from envcfg.job.plan.plan import Plan
from envcfg.job.request.admission import check_options, read_options
from envcfg.job.request.queue_limits import JobSize
from envcfg.job.request.queues import beyond_limits, chosen_queues
from envcfg.job.request.request_lines import Repeat, repeats, request_lines
from envcfg.job.request.request_rules import (
    Line,
    check_extra,
    check_lines,
    taken_from_rules,
    with_disk,
)
from envcfg.job.request.scheduler_options import option_table
from envcfg.job.request.shape import RequestError, Shape, UserRequest, refused, shape_of
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import Asking, Partition


class Request(NamedTuple):
    """The request to the scheduler."""

    scheduler: str  # by its name in `SCHEDULERS`
    shape: Shape
    lines: tuple[Line, ...]  # in order; options by Slurm's names
    partition: str | None
    whole_nodes: bool  # the job gets whole nodes, whatever it requests
    seconds: int | None
    # The ranks per node for `wrap`; None if the starter knows or assumes the number.
    ranks: int | None
    repeats: tuple[Repeat, ...]  # variables that the script exports before the step
    findings: tuple[Finding, ...]


def scheduler_of(profile: Profile) -> Asking:
    """Return the scheduler's part of a profile; ``UsageError`` if there is none."""
    scheduler = profile.request
    if scheduler is None or scheduler.scheduler == NONE:
        msg = f"profile {profile.name} has no scheduler to submit a job to"
        hint = "envcfg wrap -o job.sh ... makes a script that runs as it is"
        raise UsageError(msg, hint=hint)
    return scheduler


def make_request(profile: Profile, plan: Plan, request: UserRequest) -> Request:
    """Return the request for the job of *plan*.

    Raises:
        UsageError: the system has no scheduler; ``RequestError``: the scheduler would
            refuse.
    """
    scheduler = scheduler_of(profile)
    # Rules come before queues: the required partition decides which limits apply.
    from_rules, findings = taken_from_rules(profile, request)
    # The user's values override those of the rules; a wrong one is refused below.
    named_options = with_disk(
        {**from_rules, **request.other_options}, profile, plan, request
    )
    partition, qos, refusals, more = chosen_queues(profile, named_options)
    findings += more
    shape, beyond = shape_of(profile, plan, request)
    # All refusals are collected before the error, so that the user can correct them
    # in one run.
    refusals += beyond
    wants = JobSize(shape.nodes, shape.nodes * shape.gpus, request.seconds)
    for _, finding in beyond_limits(profile, wants, partition, qos):
        (refusals if finding.severity == "error" else findings).append(finding)
    refusals += _lacking(SCHEDULERS[scheduler.scheduler], request)
    refusals += _late(request)
    refusals += _masks(profile, plan, request, shape)
    refusals += _deaf(plan, request)
    refusals += _entering(request)
    findings += _ended_by(plan, request)
    is_whole = _gives_whole_nodes(profile, partition)
    # Whole nodes are requested only if the partition does not already give them.
    exclusive = _is_exclusive(profile, plan, request, shape, is_whole)
    wanted = request._replace(other_options=named_options, exclusive=exclusive)
    lines = list(request_lines(profile, plan, scheduler, wanted, shape))
    # Warnings on the finished lines come last, because they need the final values.
    findings += _apart(profile, lines)
    findings += _few_cores(profile, shape, whole=exclusive or is_whole)
    if request.seconds is None:
        findings.append(finding_in("job/request", "time-not-given", "--time"))
    refusals += check_lines(profile, lines, request)
    findings += check_extra(profile, request, refusals)
    names = JobNames(named_options.get("--job-name") or "", request.seconds)
    findings += _admitted(scheduler.scheduler, lines, names, refusals)
    # Errors are raised at the end so that no partly wrong script is written.
    if refusals:
        raise RequestError(refusals)
    return Request(
        scheduler=scheduler.scheduler,
        shape=shape,
        lines=tuple(lines),
        partition=named_options.get("--partition"),
        whole_nodes=exclusive or is_whole,
        seconds=request.seconds,
        # The step repeats the number of tasks only if the starter cannot learn it
        # from the job.
        ranks=None if _is_told(profile, scheduler.scheduler, shape) else shape.tasks,
        repeats=tuple(repeats(profile, shape, lines)),
        findings=tuple(findings),
    )


def _admitted(
    scheduler: str, lines: Sequence[Line], job: JobNames, refusals: list[Finding]
) -> Iterator[Finding]:
    """Check the spelled lines with the rules of the scheduler's own parser.

    Certain refusals are added to *refusals*; possible ones are yielded.
    """
    table = option_table(scheduler)
    words: list[tuple[str, int]] = []
    spelled = [(line.option, line.value) for line in lines]
    # The number of the line serves as offset, because the lines are not in a file
    # yet.
    for number, line in enumerate(SCHEDULERS[scheduler].spell(spelled, job)):
        # PBS writes the option and its value as two words, Slurm as one.
        is_word = line.text.startswith("--")
        parts = [line.text] if is_word else line.text.split(" ", 1)
        words += [(part, number) for part in parts]
    options_read, problems = read_options(table, words)
    for problem in [*problems, *check_options(table, options_read)]:
        if problem.severity == "error":
            refusals.append(refused("said", message=problem.message, fix=problem.fix))
        else:
            texts = {"message": problem.message, "fix": problem.fix}
            yield finding_in("job/request", "option-unknown", "", **texts)


def _apart(profile: Profile, lines: Sequence[Line]) -> Iterator[Finding]:
    """Yield a note if the nodes of a job may lie in several NVLink domains."""
    domain, values = profile.nvlink, {line.option: line.value for line in lines}
    nodes = int(values.get("--nodes") or 1)
    # The user's own --segment is a decision, so there is nothing to report.
    if domain is None or nodes == 1 or "--segment" in values:
        return
    if domain.segment:
        message = f"{nodes} nodes have no part of 2 to {domain.nodes} that divides them"
        fix = f"take {domain.nodes} nodes, a multiple of them, or an even number"
    else:
        message = f"the nodes may lie in several NVLink domains of {domain.nodes} nodes"
        size = min(nodes, domain.nodes)
        fix = f"--request-arg=--segment={size}, if Slurm here knows the domains"
    yield Finding("segment-unknown", "note", "--segment", message, fix)


def _few_cores(profile: Profile, shape: Shape, *, whole: bool) -> Iterator[Finding]:
    """Yield a note if the request names no cores: the default is one core per task."""
    scheduler = SCHEDULERS[profile.request.scheduler] if profile.request else None
    if (
        # Whole nodes bring all their cores, so the default does not apply.
        shape.cores
        or whole
        or not (scheduler and scheduler.asks_amounts and shape.asks_cores)
    ):
        return
    words = {"profile": profile.name, "scheduler": scheduler.title}
    yield finding_in("job/request", "cores-unknown", "--cpus-per-gpu", **words)


def _entering(request: UserRequest) -> Iterator[Finding]:
    """Yield options that would put the job script itself into a container."""
    # Such an option would run the batch script inside the image, where srun does
    # not exist.
    if not request.extra:
        return
    all_runtimes = map(runtimes.runtime, runtimes.NAMES)
    entered = {
        runtime.option: runtime.name for runtime in all_runtimes if runtime.option
    }
    for word in request.extra:
        option = word.partition("=")[0]
        if option in entered:
            yield refused("container-of-job", option=option, runtime=entered[option])


def _is_told(profile: Profile, scheduler: str, shape: Shape) -> bool:
    """Return whether the starter itself knows the number of tasks per node."""
    if shape.tasks == 1:
        return True
    if "--ntasks-per-node" in SCHEDULERS[scheduler].told_by:
        return shape.asks_tasks
    return profile.node is not None and shape.tasks == profile.node.gpus


def _lacking(scheduler: Scheduler, request: UserRequest) -> Iterator[Finding]:
    """Yield requests without a known form in this scheduler."""
    values = {
        **request.other_options,
        "--signal": request.signal,
        "--requeue": request.requeue,
        "--exclude-from": request.excluded_by,
        "--cpus-per-gpu": request.cpus_per_gpu,
        "--mem-per-gpu": request.mem_per_gpu,
        "--nvme": request.nvme,
        TYPED: request.gpu_type,
    }
    # An option with no counterpart is refused, because leaving it out would change
    # the job.
    for flag in scheduler.lacks:
        if values.get(flag):
            yield refused("of-slurm", flag=flag, scheduler=scheduler.title)
    asking: list[tuple[str, str | None]] = [
        (option, request.other_options[option])
        for option in ("--array", "--output")
        if request.other_options.get(option)
    ]
    for word in request.extra:
        if not word.startswith("--"):  # check_extra judges the long names
            option, equals, text = word.partition("=")
            asking.append((option, text if equals else None))
    for option, value in asking:
        if refusal := scheduler.refuse(option, value):
            message = refusal.why.format(scheduler.title)
            yield refused("said", message=message, fix=refusal.fix)


def _late(request: UserRequest) -> Iterator[Finding]:
    # Slurm would send the signal at once, and the job would stop before any work.
    if request.signal and request.seconds and request.signal.seconds >= request.seconds:
        before = request.signal.seconds
        yield refused("signal-late", before=before, seconds=request.seconds)


def _deaf(plan: Plan, request: UserRequest) -> Iterator[Finding]:
    """Yield the reasons why a job that is to start again could not save its state."""
    # Without a requeue, the end of the job is not a restart, and nothing can be
    # lost twice.
    if not (request.requeue and request.signal):
        return
    # The agent kills its workers on a signal, so they have no time to save.
    if LAUNCHERS[plan.launcher].is_agent:
        yield refused("requeue-agent", launcher=plan.launcher)
    if not request.signal.name.startswith("USR"):
        words = {"signal": request.signal.name, "seconds": request.signal.seconds}
        yield refused("requeue-signal", **words)


def _ended_by(plan: Plan, request: UserRequest) -> Iterator[Finding]:
    agent = LAUNCHERS[plan.launcher].is_agent
    # Agents hand TERM on; any other signal ends them and their ranks.
    if (
        agent
        and request.signal
        and not request.requeue
        and request.signal.name != "TERM"
    ):
        words = {"launcher": plan.launcher, "seconds": request.signal.seconds}
        subject = f"--signal {request.signal.name}"
        yield finding_in("job/request", "agent-ended-by-signal", subject, **words)


def _masks(
    profile: Profile, plan: Plan, request: UserRequest, shape: Shape
) -> Iterator[Finding]:
    node = profile.node
    # The masks describe all cores of the node. A smaller request gives the job only
    # some of them.
    if not (plan.masks and node and shape.gpus == node.gpus and request.cpus_per_gpu):
        return
    if node.cores_per_gpu and request.cpus_per_gpu < node.cores_per_gpu:
        reason = plan.masks.reason
        yield refused(
            "cores-of-masks", reason, cores=request.cpus_per_gpu, why=reason.why
        )


def _gives_whole_nodes(profile: Profile, partition: Partition | None) -> bool:
    """Return whether *partition* gives whole nodes by itself; None: whether all do."""
    # An unknown partition counts as whole only if every partition of the system is
    # whole.
    partitions = [partition for partition in profile.partitions.values() if partition]
    could_be = [partition] if partition else partitions
    return bool(could_be) and all(partition.exclusive is True for partition in could_be)


def _is_exclusive(
    profile: Profile, plan: Plan, request: UserRequest, shape: Shape, whole_anyway: bool
) -> bool:
    """Return whether the job must request whole nodes."""
    # A rule of the site decides before any wish of envcfg.
    rule = profile.rules.get("--exclusive")
    if request.exclusive or (rule and rule.rule == "must"):
        return True
    if not plan.masks or (rule and rule.rule != "must"):
        return False
    is_whole = profile.node is not None and shape.gpus == profile.node.gpus
    # If cores come with the GPUs, a job with all GPUs of a node also has all its
    # cores.
    return is_whole and shape.asks_cores and not whole_anyway
