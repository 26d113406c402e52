"""The system: requests that its scheduler rejects, and rules of its profile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import whole_number
from envcfg.common.errors import is_slip
from envcfg.common.findings import Finding, Severity
from envcfg.job.plan.downloads import PROXIES, download_of
from envcfg.job.request.admission import GivenOption, by_rule_names
from envcfg.job.request.amounts import mebibytes, seconds, size_text
from envcfg.job.request.charge import free_shares
from envcfg.job.request.queue_limits import (
    JobSize,
    default_partition,
    exceeded,
    is_closed,
)
from envcfg.job.request.queues import beyond_limits, chosen_queues
from envcfg.job.request.request_rules import check_rules
from envcfg.job.request.scheduler_options import option_table
from envcfg.job.request.shape import gpus_beyond
from envcfg.lint.lint_rule import (
    Edit,
    Fault,
    ScriptJob,
    detects,
    known_values,
    known_words,
)
from envcfg.lint.resource_facts import ResourceShape, step_shape, steps
from envcfg.lint.system_recognition import (
    asked_partition,
    directives,
    is_gpu_job,
    most_cores,
    most_memory,
)
from envcfg.profile.evidence import by_users
from envcfg.profile.node_kinds import all_kinds
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import Billing, Partition

# With these options a CPU of Slurm is a thread or a part of a core: counts do not compare.
_THREADS = frozenset("threads-per-core hint core-spec ntasks-per-core".split())
_GIB = 1024
_HOURS = re.compile(r"(?:--time[= ]|-t *)((\d+)h)(?!\S)")
_OPEN = re.compile(r"[\x01$<{]")  # in a value that a template or variable fills in
_GPU_TYPE = re.compile(r"([A-Za-z][\w.-]*)(?:[:=,]|$)")
_Options = Mapping[str, tuple[str | None, int]]  # values and places, by long name
_GPUS = ("gpus-per-node", "gres", "gpus", "gpus-per-task")
_PROXY = re.compile("(?i)proxy|internet")  # in the name of a module or file
_MANY = 100_000  # cores; a larger number is a misread value, because no node has it
# Rules about the acceptance of a job, which every command applies to a script.
_BOOKED = frozenset({"--account", "account"})
ADMISSION = ("EC628", "EC647", "EC644", "EC645", "EC646")


@detects("EC628")
def over_limit(job: ScriptJob) -> Iterator[Fault]:
    """More cores, memory, time or nodes than the system gives."""
    requested = directives(job)
    if job.profile is None or not requested:
        return
    if job.profile.kind and (conflict := job.profile.kind.conflict):
        yield _fault(requested[conflict.subject[2:]].offset, conflict, job)
    if "partition" in requested and not (is_gpu_job(job) or _is_for_gpus(job)):
        return  # the profile does not describe these nodes
    of_job = job.shape, {n: (o.value, o.offset) for n, o in requested.items()}
    faults = list(_beyond_node(job, *of_job))
    for step in steps(job.model):
        if step.is_srun and "jobid" not in step.options:
            own = {n: (word.literal, word.offset) for n, word in step.options.items()}
            # A step may repeat the job's request, which is a fault of the job alone.
            faults += [
                fault._replace(severity="warning" if step.context.is_chosen else None)
                for fault in _beyond_node(job, step_shape(step, job.shape), own)
                if fault.words not in [known.words for known in faults]
            ]
    yield from faults
    yield from _gpu_types(job.profile, requested)
    yield from _queues(job, requested)


def _gpu_types(profile: Profile, requested: dict[str, GivenOption]) -> Iterator[Fault]:
    """Yield types of GPUs that no kind of node has; systems without types are skipped."""
    schedulers = [kind.request for kind in all_kinds(profile) if kind.request]
    types = {scheduler.gpu_type or "" for scheduler in schedulers} - {""}
    types.update(*(kind.gres or () for kind in profile.nodes.values() if kind))
    for name in _GPUS:
        value = (requested[name].value or "") if name in requested else ""
        match = _GPU_TYPE.match(value.partition("gpu:")[2] if name == "gres" else value)
        kind = match[1] if match else ""
        # A type can have a longer and a shorter name.
        if kind and types and not any(kind in one or one in kind for one in types):
            words = {
                "type": kind,
                "name": profile.name,
                "known": ", ".join(sorted(types)),
            }
            yield Fault(requested[name].offset, words, "type")


def _beyond_node(
    job: ScriptJob, shape: ResourceShape, options: _Options
) -> Iterator[Fault]:
    """Yield GPUs, cores and memory that no node has, requested by a job or a step."""
    node, tasks = job.profile.node if job.profile else None, shape.per_node or 1
    if job.profile is None or node is None:
        return
    each = whole_number(options.get("gpus-per-task", ("",))[0]) or 0
    if beyond := gpus_beyond(node, max(shape.gpus_per_node or 0, each * tasks)):
        for name in [name for name in _GPUS if name in options][:1]:
            # The fault is shown at the option that set the number, whichever it was.
            yield _fault(options[name][1], beyond, job)
    words = {"name": job.profile.name}
    cores, cpus = most_cores(job.profile), shape.cpus or 0
    is_counted = "cpus-per-task" in options and cpus <= _MANY
    if not is_counted or _THREADS & {*directives(job), *options}:
        cores = None
    # The limit is that of one node, so the tasks of a node count together.
    if cores and cpus * tasks > cores:
        words |= {"request": f"{cpus * tasks} cores", "limit": f"{cores}"}
        words["instead"] = f"--cpus-per-task={cores // tasks or 1}"
        words["name"] += by_users((job.profile.cpu_masks or node).reason.cited)
        yield Fault(options["cpus-per-task"][1], words, "above")
    yield from _memory(job.profile, shape, options)


def _memory(
    profile: Profile, shape: ResourceShape, options: _Options
) -> Iterator[Fault]:
    memory, refused = most_memory(profile)
    if not refused or profile.node is None:
        return
    for name, times in (
        ("mem", 1),
        ("mem-per-gpu", min(shape.gpus_per_node or 1, profile.node.gpus)),
        ("mem-per-cpu", (shape.cpus or 1) * (shape.per_node or 1)),
    ):
        text, offset = options.get(name, (None, -1))
        size = (amount(mebibytes, text) or 0) * times
        if size >= refused:
            source = by_users(profile.node.reason.cited)
            words = {
                "request": f"{size_text(size)} of memory",
                "name": profile.name + source,
                "limit": size_text(memory),
                "instead": f"--{name}={size_text(memory // times)}",
            }
            yield Fault(offset, words, "above", "warning" if source else None)


def _queues(job: ScriptJob, requested: dict[str, GivenOption]) -> Iterator[Fault]:
    """Yield unknown names of a partition and a QOS, and requests above their limits."""
    profile, names, told = job.profile, dict[str, str](), list[Finding]()
    if profile is None:
        return
    gone = known_values("EC628", "gone").get(profile.name, "").split()
    for name in [name for name in ("partition", "qos") if name in requested]:
        option = requested[name]
        value = names[f"--{name}"] = option.value or ""
        # A name with a variable cannot be compared with the profile.
        if not re.fullmatch(r"[\w.-]+", value):
            return
        if value in gone:
            words = {"partition": value, "name": profile.name}
            yield Fault(option.offset, words, "gone")
            return
        # Only a list of the scheduler itself certainly has all names.
        lists = profile if profile.seen else profile._replace(closed=None)
        _, _, refusals, notes = chosen_queues(lists, names)
        for finding in [f for f in (*refusals, *notes) if f not in told]:
            told.append(finding)
            # A new QOS is no fault, and a new partition has other nodes.
            is_new = name == "partition" and finding.rule == "queue-unknown"
            if finding.severity != "note" or is_new:
                yield _fault(option.offset, finding, job, finding.severity)
    value = names.get("--partition", "")
    partition = profile.partitions.get(value) or profile.seen.get(value)
    if partition or "partition" not in requested:
        # Without a partition the scheduler uses its default one.
        yield from _limits(job, requested, partition or default_partition(profile))


def _limits(
    job: ScriptJob, requested: dict[str, GivenOption], partition: Partition | None
) -> Iterator[Fault]:
    """Yield requests above the limits of the partition and QOS."""
    if job.profile is None or "reservation" in requested:
        return  # a reservation may have its own limits
    qos_name = requested["qos"].value if "qos" in requested else None
    qos = job.profile.qos.get(qos_name or "")
    if "qos" in requested and qos is None:
        # An unknown QOS may raise every limit of the partition.
        return
    shape = job.shape
    all_gpus = (shape.nodes or 0) * (shape.gpus_per_node or 0)
    time = amount(seconds, _asked(job, "time"))
    requirements = JobSize(nodes=shape.nodes, gpus=all_gpus or None, seconds=time)
    if partition is None and "partition" not in requested and is_gpu_job(job):
        # Sites route such jobs by size: only the most generous partition is a bound.
        partition = _widest(job.profile, requirements)
    for limit_name, finding in beyond_limits(job.profile, requirements, partition, qos):
        offset = _place(requested, _GPUS if limit_name == "gpus" else (limit_name,))
        # A limit without an option in the script is left to the command line.
        if offset >= 0:
            yield _fault(offset, finding, job, finding.severity)


def _widest(profile: Profile, requirements: JobSize) -> Partition | None:
    """Return the partition with the fewest refusals; None if one has none or is unknown."""
    if not is_closed(profile, "--partition"):
        return None
    partitions = [partition for partition in profile.partitions.values() if partition]
    by_refusals = {
        partition.name: len(list(exceeded(requirements, partition, None)))
        for partition in partitions
    }
    best = min(by_refusals, key=lambda name: by_refusals[name], default="")
    return profile.partitions[best] if by_refusals.get(best) else None


def _fault(
    offset: int, finding: Finding, job: ScriptJob, severity: Severity | None = None
) -> Fault:
    """Return a finding of ``envcfg job`` on the same request as a fault.

    A rule that only users vouch for may be wrong, so the message names its source.
    """
    said = finding.message + by_users(finding.source or "")
    words = {"said": said, "instead": finding.fix}
    # Without its own line the fault is shown at the first directive.
    line = next((option.offset for option in job.model.given), -1)
    return Fault(offset if offset >= 0 else line, words, "said", severity or "error")


@detects("EC646")
def site_rules(job: ScriptJob) -> Iterator[Fault]:
    """The system's rules for each job: required and rejected options.

    Scripts for another scheduler or without GPUs are skipped. Options in the script are
    judged one by one; missing options form one finding, because one line adds them. The
    severity depends on the evidence: an error needs a source for the refusal, and a script
    that is certainly for this system.
    """
    profile, table = job.profile, option_table(job.model.scheduler)
    if profile is None or not profile.request or not _is_for_gpus(job):
        return
    if profile.request.scheduler != job.model.scheduler:
        return
    requested = by_rule_names(table, job.model.given)
    # A recognised script may be for a similar system, so doubts are only notes.
    doubtful: Severity = "note" if job.model.is_recognised else "warning"
    missing: dict[str, Finding] = {}
    values = {name: option.value for name, option in requested.items()}
    for option, finding in check_rules(profile, values):
        rule = profile.rules[option]
        if option not in requested:
            if _variable(option, job) not in (job.known.environment or ()):
                missing[option] = finding
        elif rule and rule.rule == "must" and option in _BOOKED and not rule.refused:
            continue  # the site may accept an account without the usual ending
        elif not _OPEN.search(requested[option].value or ""):
            # "must not" without a value forbids the option itself, often as advice only.
            is_advice = rule and rule.rule == "must not" and not rule.value
            is_sure = not is_advice or (rule and rule.refused)
            yield _fault(
                requested[option].offset, finding, job, "error" if is_sure else doubtful
            )
    if missing:
        message = "; ".join(finding.message for finding in missing.values())
        mark = SCHEDULERS[job.model.scheduler].mark
        fixes = [
            re.sub("one of: ", f"{mark} {option}=NAME, one of: ", finding.fix or "")
            for option, finding in missing.items()
        ]
        own = re.compile("give (your own, as in )?(?:--request-arg=)?(?=--)")
        fix = own.sub(rf"give \1{mark} ", "; ".join(fixes))
        first = next(iter(missing.values()))._replace(message=message, fix=fix)
        # The command line or a variable may add an option, unless the job is submitted now.
        is_sure = job.known.environment is not None and not job.model.is_recognised
        rules = filter(None, map(profile.rules.get, missing))
        is_error = is_sure and any(rule.refused for rule in rules)
        yield _fault(-1, first, job, "error" if is_error else doubtful)


def _variable(option: str, job: ScriptJob) -> str:
    """Return the variable that replaces a missing *option*; empty: there is none."""
    prefix = SCHEDULERS[job.model.scheduler].option_prefix
    return prefix and f"{prefix}{option.strip('-').upper().replace('-', '_')}"


def _is_for_gpus(job: ScriptJob) -> bool:
    """Return whether a script certainly uses the GPU nodes that the profile describes."""
    requested = directives(job)
    if not requested:  # directives of another scheduler: its nodes are all equal
        return bool(job.model.given)
    partitions = job.profile.partitions if job.profile else {}
    # A partition of the profile is a GPU partition; another one has unknown nodes.
    partition_name = requested["partition"].value if "partition" in requested else None
    return is_gpu_job(job) if partition_name is None else partition_name in partitions


def _place(requested: Mapping[str, GivenOption], names: Sequence[str]) -> int:
    """Return the offset of the first of several options that is given; else -1."""
    return next((requested[name].offset for name in names if name in requested), -1)


def amount(reader: Callable[[str], int | None], text: str | None) -> int | None:
    """Return an amount; None if it is missing, unlimited or no amount."""
    try:
        return reader(text or "")
    except ValueError:
        return None


def _asked(job: ScriptJob, name: str) -> str | None:
    """Return the value of a directive."""
    option = directives(job).get(name)
    return option and option.value


@detects("EC630")
def billing(job: ScriptJob) -> Iterator[Fault]:
    """Resources that are billed but not used."""
    profile, name = job.profile, asked_partition(job)
    if profile is None or profile.billing is None or profile.node is None:
        return
    gpus = job.shape.gpus_per_node
    # Without a partition or GPUs the billed share is unknown.
    if name is None or not gpus:
        return
    if name in profile.billing.whole_nodes:
        yield from _part_of_node(job, gpus, profile.node.gpus)
    elif name in profile.partitions and not job.shape.is_exclusive:
        yield from _shares(job, gpus, profile, profile.billing)


def _part_of_node(job: ScriptJob, gpus: int, most: int) -> Iterator[Fault]:
    """Yield requests for a part of nodes that are billed as a whole."""
    requested, name = directives(job), asked_partition(job)
    memory = amount(mebibytes, _asked(job, "mem"))
    all_memory, _ = most_memory(job.profile)
    if gpus < most and not job.shape.is_exclusive:
        words = {"partition": name, "gpus": gpus, "limit": most}
        yield Fault(_place(requested, _GPUS), words)
    # Less than half of the memory of a node that is billed as a whole is a mistake.
    elif memory and all_memory and memory * 2 < all_memory:
        words = {"partition": name, "memory": memory // _GIB}
        yield Fault(requested["mem"].offset, words, "part-of-memory")


def _shares(
    job: ScriptJob, gpus: int, profile: Profile, bill: Billing
) -> Iterator[Fault]:
    """Yield a fault for cores or memory that are billed as more GPUs than the job has."""
    # Other ways of charging sum resources up, so that no single one is wasted.
    if bill.charge != "largest share":
        return
    requested, shape = directives(job), job.shape
    cores = (shape.cpus or 0) * (shape.per_node or 1)
    memory = amount(mebibytes, _asked(job, "mem"))
    free = free_shares(profile, bill, gpus)
    for resource, unit, number, option in (
        ("cores", "cores", cores, "cpus-per-task"),
        ("memory", "GiB", (memory or 0) // _GIB, "mem"),
    ):
        if resource in free and number > free[resource].billed and option in requested:
            words = {
                "number": number, "what": unit, "gpus": gpus,
                # Rounded up, because systems bill whole GPUs.
                "shares": -(-number * gpus // free[resource].billed),
                **free[resource]._asdict(),
            }  # fmt: skip
            is_same = free[resource].usable == free[resource].billed
            yield Fault(
                requested[option].offset, words, "shares" if is_same else "usable"
            )


def _of_kind(job: ScriptJob, kind: str) -> Iterator[Fault]:
    """Yield the faults of one kind from the reader of the directives."""
    for problem in job.model.problems:
        if problem.kind == kind:
            words = {"said": problem.message, "instead": problem.fix}
            edit = _right_spelling(problem.offset, problem.fix or "", job)
            yield Fault(problem.offset, words, "said", problem.severity, edit)


def _right_spelling(offset: int, fix: str, job: ScriptJob) -> Edit | None:
    """Return the edit of an option with one right spelling; else None."""
    text = job.behind(offset) if offset >= 0 else ""
    if hours := _HOURS.match(text):
        return Edit(offset + hours.start(1), offset + hours.end(1), f"{hours[2]}:00:00")
    name, right = (
        re.match(r"--[\w-]+", text),
        re.fullmatch(r"did you mean (--[\w-]+)\?", fix),
    )
    if not (name and right and is_slip(name[0], right[1])) or right[1][
        2:
    ] in directives(job):
        return None
    return Edit(offset, offset + name.end(), right[1])


# One reader of directives finds all of these, so each rule only selects its kind.
for _rule, _kind in {
    "EC647": "refused",
    "EC644": "unread",
    "EC645": "overridden",
}.items():
    detects(_rule)(partial(_of_kind, kind=_kind))


@detects("EC759")
def needs_internet(job: ScriptJob) -> Iterator[Fault]:
    """Downloads in a job, on a system with compute nodes without internet."""
    internet = job.profile.internet if job.profile else None
    names = job.model.set_names
    if internet is None or not _is_for_gpus(job):
        return
    # With a proxy downloads work.
    sources = (opaque.description for opaque in job.model.opaque)
    if not PROXIES.isdisjoint(names) or any(map(_PROXY.search, sources)):
        return
    unless = job.unless("sets a proxy")
    for command in job.model.commands:
        # A test may look whether the file is there, or for another system.
        if command.context.is_aside:
            continue
        texts = [word.literal or "" for word in command.words]
        if job.model.children(command):  # the program has a command of its own
            texts = [] if command.is_step else [t for t in texts if "://" in t]
        if subject := download_of(texts, names):
            words = {"subject": subject, "proxy": internet.proxy}
            form = "proxy" if internet.proxy else ""
            yield Fault(command.offset, words, form, unless=unless)
    if "WANDB_MODE" not in names:
        for assignment in job.model.assignments:
            if assignment.name in known_words("EC759", "wandb"):
                words = {"name": assignment.name}
                yield Fault(assignment.offset, words, "wandb", unless=unless)
                return
