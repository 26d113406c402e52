"""From a profile and what the user asks for to the request of a job, line by line; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg import runtimes
from envcfg.datafile import finding_in
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.plan import Plan
from envcfg.launchers import LAUNCHERS
from envcfg.profile.model import Profile
from envcfg.profile.scheduler import Partition
from envcfg.request.admission import check_options, read_options
from envcfg.request.limits import Wanted
from envcfg.request.lines import Repeat, repeats, request_lines
from envcfg.request.options import option_table
from envcfg.request.queues import beyond_limits, chosen_queues
from envcfg.request.rules import (
    Line,
    check_extra,
    check_lines,
    taken_from_rules,
    with_disk,
)
from envcfg.request.shape import Asked, RequestError, Shape, refused, shape_of
from envcfg.schedulers import NONE, SCHEDULERS
from envcfg.schedulers.model import JobNames, Scheduler


class Request(NamedTuple):
    """What is asked of the scheduler.

    Attributes:
        scheduler: by its name in ``SCHEDULERS``.
        lines: in order; options by Slurm's names.
        whole: the job gets whole nodes, whatever it asked for.
        ranks: what ``wrap`` must be told of ranks per node; None where the starter
            learns it, or takes it for granted.
        repeats: what the script exports before the step.
        findings: what the user should know.
    """

    scheduler: str
    shape: Shape
    lines: tuple[Line, ...]
    partition: str | None
    whole: bool
    seconds: int | None
    ranks: int | None
    repeats: tuple[Repeat, ...]
    findings: tuple[Finding, ...]


def make_request(profile: Profile, plan: Plan, asked: Asked) -> Request:
    """Return the request for the job of *plan*.

    Raises:
        UsageError: the system has no scheduler; ``RequestError``: it would refuse.
    """
    scheduler = profile.request
    if scheduler is None or scheduler.scheduler == NONE:
        msg = f"profile {profile.name} has no scheduler to submit a job to"
        hint = "envcfg wrap -o job.sh ... makes a script that runs as it is"
        raise UsageError(msg, hint=hint)
    taken, findings = taken_from_rules(profile, asked)
    named = with_disk({**taken, **asked.named}, profile, plan, asked)
    partition, qos, refusals, more = chosen_queues(profile, named)
    findings += more
    shape, beyond = shape_of(profile, plan, asked)
    refusals += beyond
    wants = Wanted(shape.nodes, shape.nodes * shape.gpus, asked.seconds)
    for _, each in beyond_limits(profile, wants, partition, qos):
        (refusals if each.severity == "error" else findings).append(each)
    refusals += _lacking(SCHEDULERS[scheduler.scheduler], asked)
    refusals += _late(asked)
    refusals += _masks(profile, plan, asked, shape)
    refusals += _deaf(plan, asked)
    refusals += _entering(asked)
    findings += _ended_by(plan, asked)
    whole = _gives_whole_nodes(profile, partition)
    exclusive = _is_exclusive(profile, plan, asked, shape, whole)
    wanted = asked._replace(named=named, exclusive=exclusive)
    lines = list(request_lines(profile, plan, scheduler, wanted, shape))
    findings += _apart(profile, lines)
    findings += _few_cores(profile, shape, whole=exclusive or whole)
    if asked.seconds is None:
        findings.append(finding_in("request", "time-not-given", "--time"))
    refusals += check_lines(profile, lines, asked)
    findings += check_extra(profile, asked, refusals)
    names = JobNames(named.get("--job-name") or "", asked.seconds)
    findings += _admitted(scheduler.scheduler, lines, names, refusals)
    if refusals:
        raise RequestError(refusals)
    return Request(
        scheduler=scheduler.scheduler,
        shape=shape,
        lines=tuple(lines),
        partition=named.get("--partition"),
        whole=exclusive or whole,
        seconds=asked.seconds,
        ranks=None if _is_told(profile, scheduler.scheduler, shape) else shape.tasks,
        repeats=tuple(repeats(profile, shape, lines)),
        findings=tuple(findings),
    )


def _admitted(
    scheduler: str, lines: Sequence[Line], job: JobNames, refusals: list[Finding]
) -> Iterator[Finding]:
    """Judge the lines, as they are spelled, as the scheduler's own parser does.

    What it refuses is added to *refusals*; what it may refuse is yielded.
    """
    table = option_table(scheduler)
    words: list[tuple[str, int]] = []
    spelled = [(each.option, each.value) for each in lines]
    for number, line in enumerate(SCHEDULERS[scheduler].spell(spelled, job)):
        said = line.text.partition(" ")[2]
        parts = [said] if said.startswith("--") else said.split(" ", 1)
        words += [(part, number) for part in parts]
    given, problems = read_options(table, words)
    for each in [*problems, *check_options(table, given)]:
        if each.severity == "error":
            refusals.append(refused("said", message=each.message, fix=each.fix))
        else:
            texts = {"message": each.message, "fix": each.fix}
            yield finding_in("request", "option-unknown", "", **texts)


def _apart(profile: Profile, lines: Sequence[Line]) -> Iterator[Finding]:
    """Yield that nothing keeps the nodes of a job in few NVLink domains."""
    domain, said = profile.nvlink, {line.option: line.value for line in lines}
    nodes = int(said.get("--nodes") or 1)
    if domain is None or nodes == 1 or "--segment" in said:
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
    """Yield that nothing says how many cores a task gets: it is one by the default."""
    known = SCHEDULERS[profile.request.scheduler] if profile.request else None
    if shape.cores or whole or not (known and known.asks_amounts and shape.asks_cores):
        return
    words = {"profile": profile.name, "scheduler": known.title}
    yield finding_in("request", "cores-unknown", "--cpus-per-gpu", **words)


def _entering(asked: Asked) -> Iterator[Finding]:
    """Yield options that would put the job script itself into a container."""
    if not asked.extra:
        return
    known = map(runtimes.runtime, runtimes.NAMES)
    entered = {each.option: each.name for each in known if each.option}
    for word in asked.extra:
        option = word.partition("=")[0]
        if option in entered:
            yield refused("container-of-job", option=option, runtime=entered[option])


def _is_told(profile: Profile, scheduler: str, shape: Shape) -> bool:
    """Tell whether the starter knows by itself how many tasks a node is to have."""
    if shape.tasks == 1:
        return True
    if "--ntasks-per-node" in SCHEDULERS[scheduler].told_by:
        return shape.asks_tasks
    return profile.node is not None and shape.tasks == profile.node.gpus


def _lacking(scheduler: Scheduler, asked: Asked) -> Iterator[Finding]:
    """Yield what is asked for and of which no source says how the scheduler takes it."""
    given = {
        **asked.named,
        "--signal": asked.signal,
        "--requeue": asked.requeue,
        "--cpus-per-gpu": asked.cpus_per_gpu,
        "--mem-per-gpu": asked.memory_per_gpu,
        "--nvme": asked.nvme,
    }
    for flag in scheduler.lacks:
        if given.get(flag):
            yield refused("of-slurm", flag=flag, scheduler=scheduler.title)
    asking: list[tuple[str, str | None]] = [
        (option, asked.named[option])
        for option in ("--array", "--output")
        if asked.named.get(option)
    ]
    for word in asked.extra:
        if not word.startswith("--"):  # check_extra looks at those of long names
            option, equals, text = word.partition("=")
            asking.append((option, text if equals else None))
    for option, value in asking:
        if refusal := scheduler.refuse(option, value):
            message = refusal.why.format(scheduler.title)
            yield refused("said", message=message, fix=refusal.fix)


def _late(asked: Asked) -> Iterator[Finding]:
    if asked.signal and asked.seconds and asked.signal.seconds >= asked.seconds:
        before = asked.signal.seconds
        yield refused("signal-late", before=before, seconds=asked.seconds)


def _deaf(plan: Plan, asked: Asked) -> Iterator[Finding]:
    """Yield why a job that is to start again would not save."""
    if not (asked.requeue and asked.signal):
        return
    if LAUNCHERS[plan.launcher].is_agent:
        yield refused("requeue-agent", launcher=plan.launcher)
    if not asked.signal.name.startswith("USR"):
        words = {"signal": asked.signal.name, "seconds": asked.signal.seconds}
        yield refused("requeue-signal", **words)


def _ended_by(plan: Plan, asked: Asked) -> Iterator[Finding]:
    agent = LAUNCHERS[plan.launcher].is_agent
    if agent and asked.signal and not asked.requeue and asked.signal.name != "TERM":
        words = {"launcher": plan.launcher, "seconds": asked.signal.seconds}
        subject = f"--signal {asked.signal.name}"
        yield finding_in("request", "agent-ended-by-signal", subject, **words)


def _masks(
    profile: Profile, plan: Plan, asked: Asked, shape: Shape
) -> Iterator[Finding]:
    node = profile.node
    if not (plan.masks and node and shape.gpus == node.gpus and asked.cpus_per_gpu):
        return
    if node.cores_per_gpu and asked.cpus_per_gpu < node.cores_per_gpu:
        reason = plan.masks.reason
        yield refused(
            "cores-of-masks", reason, cores=asked.cpus_per_gpu, why=reason.why
        )


def _gives_whole_nodes(profile: Profile, partition: Partition | None) -> bool:
    """Tell whether *partition*, or any that it could be, gives whole nodes by itself."""
    known = [each for each in profile.partitions.values() if each]
    could_be = [partition] if partition else known
    return bool(could_be) and all(each.exclusive is True for each in could_be)


def _is_exclusive(
    profile: Profile, plan: Plan, asked: Asked, shape: Shape, whole_anyway: bool
) -> bool:
    """Tell whether the nodes must be asked for whole."""
    rule = profile.rules.get("--exclusive")
    if asked.exclusive or (rule and rule.rule == "must"):
        return True
    if not plan.masks or (rule and rule.rule != "must"):
        return False
    whole = profile.node is not None and shape.gpus == profile.node.gpus
    # Where cores come with the GPUs, all GPUs of a node are all of its cores.
    return whole and shape.asks_cores and not whole_anyway
