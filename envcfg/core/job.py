"""A job: what is asked of its scheduler, what it costs, and the script of its step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.core.limits import as_of_today
from envcfg.core.request_options import asked_for
from envcfg.core.step import Step, complete, resolve_step, wrap_words
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch.plan import Plan
from envcfg.profile.model import Profile
from envcfg.request.billing import Cost
from envcfg.request.charge import charge
from envcfg.request.request import Request, make_request
from envcfg.request.script import Script, render_job
from envcfg.request.shape import Asked, shape_of


class Job(NamedTuple):
    """A job script, and what it is made of.

    Attributes:
        cost: None where the profile does not say what its system bills.
        findings: what the user should know of plan, request and cost.
        script: its text.
    """

    plan: Plan
    request: Request
    cost: Cost | None
    findings: list[Finding]
    script: str


def make_job(
    step: Step,
    values: Mapping[str, Any],
    command: Sequence[str],
    *,
    inline: bool,
    made_by: Sequence[str],
    is_direct: bool = False,
) -> Job:
    """Return the job that runs *step*.

    Args:
        step: what runs in it.
        values: of the options ``REQUEST``, by name.
        command: the program and its arguments, as they were given.
        inline: the step's bash is written out, so that the job needs no envcfg.
        made_by: the command line that makes it again, for its header.
        is_direct: the first node runs *command*, which starts steps itself.

    Raises:
        UsageError: something cannot be right; ``RequestError``: the system would refuse.
    """
    plan, step = _resolved(step, is_watched=not (is_direct or values["no_verify"]))
    profile = as_of_today(step.profile)
    asked, cores = asked_for(values, command), values["cpus_per_task"]
    if cores is not None:
        asked = _with_cores(asked, cores, profile, plan)
    request = make_request(profile, plan, asked)
    if request.ranks is not None:
        step = step._replace(options=step.options._replace(ranks=request.ranks))
        plan = plan._replace(ranks=request.ranks)
    plan = complete(plan, step, request.shape.nodes)
    cost, words = charge(profile, request)
    script = Script(
        plan=plan,
        request=request,
        wrap=() if is_direct else tuple(wrap_words(step)),
        command=tuple(command),
        inline=inline,
        signal=asked.signal.name if asked.signal and asked.requeue else None,
        restarts=asked.restarts,
        made_by=tuple(made_by),
    )
    found = [*plan.notes, *request.findings, *words]
    return Job(plan, request, cost, found, render_job(script))


def _resolved(step: Step, *, is_watched: bool) -> tuple[Plan, Step]:
    """Return the plan of *step*, and the step: watched, unless that cannot go with it.

    Raises:
        UsageError: something cannot be right.
    """
    asked = step.options.diagnostics
    if asked.verify and not is_watched:
        msg = "--verify and --no-verify exclude each other"
        hint = "leave out one of them, or what envcfg.toml says: --no-default verify"
        raise UsageError(msg, hint=hint)
    if asked.verify or not is_watched:
        return resolve_step(step), step
    watched = step._replace(
        given=step.given._replace(verify="warn"),
        options=step.options._replace(diagnostics=asked._replace(verify="warn")),
    )
    try:
        return resolve_step(watched), watched
    except UsageError as err:
        plan = resolve_step(step)
        why = f"the job does not check its own network: {err.message}"
    said = Finding("verify-off", "note", "--verify", why)
    return plan, step._replace(findings=(*step.findings, said))


def _with_cores(asked: Asked, cores: int, profile: Profile, plan: Plan) -> Asked:
    """Return *asked* with the cores of ``--cpus-per-task``, for each GPU.

    Raises:
        UsageError: both are given, or they are no whole number for each GPU.
    """
    if asked.cpus_per_gpu is not None:
        msg = "--cpus-per-task and --cpus-per-gpu both say how many cores there are"
        raise UsageError(msg, hint="leave one out")
    shape, _ = shape_of(profile, plan, asked)
    if cores * shape.tasks % shape.gpus:
        msg = (
            f"{cores} cores for each of {shape.tasks} tasks are no whole number for "
            f"each of {shape.gpus} GPUs"
        )
        raise UsageError(msg, hint="--cpus-per-gpu N says how many for each GPU")
    return asked._replace(cpus_per_gpu=cores * shape.tasks // shape.gpus)
