"""A job: its request to the scheduler, its cost, and the script of its step."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding, finding_in
from envcfg.core.bad_nodes import excluded
from envcfg.core.request_options import REQUEST, asked_for
from envcfg.core.step import Step, complete, resolve_step
from envcfg.job.plan.plan import Plan
from envcfg.job.plan.script_files import Files, MachineryPlace
from envcfg.job.request.billing import Cost
from envcfg.job.request.charge import charge
from envcfg.job.request.job_script import Script, render_job
from envcfg.job.request.request import Request, make_request, scheduler_of
from envcfg.job.request.shape import UserRequest, nodes_and_gpus, shape_of
from envcfg.profile.node_kinds import check_reached, read_signs
from envcfg.profile.profile_model import Profile
from envcfg.site.current_limits import as_of_today

# Options that programs rarely have.
_OF_SLURM = ("--account", "--partition", "--gpus-per-node", "--qos")


class Job(NamedTuple):
    """A job script and its parts."""

    plan: Plan
    request: Request
    cost: Cost | None  # None if the profile does not know the prices of its system
    findings: list[Finding]  # notes and warnings on plan, request and cost
    files: Files  # the text of the script, and of the file that it needs, if any

    @property
    def script(self) -> str:
        """The text of the script."""
        return self.files.script


def make_job(
    step: Step,
    values: Mapping[str, Any],
    command: Sequence[str],
    *,
    place: MachineryPlace | None,
    made_by: Sequence[str],
    is_direct: bool = False,
) -> Job:
    """Return the job that runs *step*.

    Args:
        values: the values of the options ``REQUEST``, by name.
        place: the place of the machinery's file; None: the script is a single text.
        made_by: the command line that repeats it, for the header.
        is_direct: the first node runs *command*, which starts steps itself.

    Raises:
        UsageError: options contradict each other; ``RequestError``: the system would
            refuse.
    """
    profile = as_of_today(step.profile)
    asked, cores = asked_for(values, command), values["cpus_per_task"]
    scheduler_of(profile)  # without one, an error about GPUs would not help
    # A number of ranks in the command is compared with that of the job.
    nodes, gpus = nodes_and_gpus(profile, asked)
    step = step._replace(options=step.options._replace(nodes=nodes, gpus=gpus))
    # The plan comes first, because the request depends on its launcher and scratch.
    plan, step = _resolved(step, is_watched=not (is_direct or values["no_verify"]))
    if cores is not None:
        asked = _with_cores(asked, cores, profile, plan)
    asked, notes = _without_bad_nodes(asked, values["exclude_from"])
    request = make_request(profile, plan, asked)
    if profile.kind:
        signs = read_signs((line.option, line.value) for line in request.lines)
        check_reached(profile, signs)
    # The request knows the ranks of a node, which the starter may be unable to
    # learn.
    if request.ranks is not None:
        step = step._replace(options=step.options._replace(ranks=request.ranks))
        plan = plan._replace(ranks=request.ranks)
    plan = complete(plan, step, request.shape.nodes)
    if asked.excluded_by and plan.preflight:
        words = ("--exclude-from", asked.excluded_by)
        plan = plan._replace(preflight=(*plan.preflight, *words))
    cost, charge_findings = charge(profile, request)
    script = Script(
        plan=plan,
        request=request,
        command=tuple(command),
        is_direct=is_direct,
        place=place,
        asked=asked,
        made_by=tuple(made_by),
    )
    findings = [
        *plan.notes,
        *notes,
        *_option_notes(values, command),
        *request.findings,
        *charge_findings,
    ]
    return Job(plan, request, cost, findings, render_job(script))


def _option_notes(
    values: Mapping[str, Any], command: Sequence[str]
) -> Iterator[Finding]:
    """Yield notes on a time of few minutes, and on options that the program gets."""
    if match := re.fullmatch(r"0?(\d|1\d|2[0-4]):(\d\d)", values["time"] or ""):
        minutes, seconds = match.groups()
        words = {"minutes": minutes, "seconds": seconds}
        yield finding_in("job/request", "time-of-minutes", "", **words)
    rows = {row.flag: row.name for row in chain(*REQUEST.values())}
    for word in command[1:]:
        option = word.partition("=")[0]
        if option in _OF_SLURM and values[rows[option]] is None:
            words = {"option": option}
            yield finding_in("job/request", "option-of-program", option, **words)


def _without_bad_nodes(
    request: UserRequest, path: str | None
) -> tuple[UserRequest, list[Finding]]:
    """Return *request* without the nodes of the list *path*, and notes on these nodes.

    Raises:
        OutputError: the list cannot be read.
    """
    if path is None:
        return request, []
    # The user's own --exclude would replace the line of the list.
    flag = "--exclude="
    own = next((arg for arg in request.extra if arg.startswith(flag)), "")
    nodes, notes = excluded(path, own.removeprefix(flag))
    # The job may run in another folder.
    request = request._replace(excluded=nodes, excluded_by=os.path.abspath(path))
    if nodes and own:
        extra = tuple(arg for arg in request.extra if arg != own)
        request = request._replace(extra=extra)
    return request, notes


def _resolved(step: Step, *, is_watched: bool) -> tuple[Plan, Step]:
    """Return the plan of *step*, and the step: watched, unless this is impossible.

    Raises:
        UsageError: options contradict each other, or the profile.
    """
    options = step.options
    if options.verify and not is_watched:
        msg = "--verify and --no-verify exclude each other"
        hint = "leave out one of them, or what envcfg.toml says: --no-default verify"
        raise UsageError(msg, hint=hint)
    # An explicit choice is never changed.
    if options.verify or not is_watched:
        return resolve_step(step), step
    watched = step._replace(
        option_values={**step.option_values, "verify": "warn"},
        options=options._replace(verify="warn"),
    )
    try:
        # Watching is a default, so its failure is a note and not an error.
        return resolve_step(watched), watched
    except UsageError as err:
        plan = resolve_step(step)
        why = f"the job does not check its own network: {err.message}"
    finding = Finding("verify-off", "note", "--verify", why)
    return plan, step._replace(findings=(*step.findings, finding))


def _with_cores(
    request: UserRequest, cores: int, profile: Profile, plan: Plan
) -> UserRequest:
    """Return *request* with ``--cpus-per-task`` converted to cores per GPU.

    Raises:
        UsageError: both options are given, or the cores do not divide evenly.
    """
    if request.cpus_per_gpu is not None:
        msg = "--cpus-per-task and --cpus-per-gpu both say how many cores there are"
        raise UsageError(msg, hint="leave one out")
    shape, _ = shape_of(profile, plan, request)
    if cores * shape.tasks % shape.gpus:
        msg = (
            f"{cores} cores for each of {shape.tasks} tasks are no whole number for "
            f"each of {shape.gpus} GPUs"
        )
        raise UsageError(msg, hint="--cpus-per-gpu N says how many for each GPU")
    return request._replace(cpus_per_gpu=cores * shape.tasks // shape.gpus)
