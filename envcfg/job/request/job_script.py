"""Write the text of the job script from a request and a step; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.backends.schedulers.scheduler import Directive, JobNames
from envcfg.common.provenance import marked
from envcfg.job.plan.plan import Plan
from envcfg.job.plan.script_files import Files, MachineryPlace
from envcfg.job.request.request import Request
from envcfg.job.request.shape import UserRequest
from envcfg.job.script.host_part import (
    launch_lines,
    origin_lines,
    render_step,
)
from envcfg.job.script.modules import has_template, render_module, template, title
from envcfg.job.script.quoting import quote, quote_directive, quote_word
from envcfg.job.script.rank_comments import rank_comments
from envcfg.job.script.settings import comment_lines
from envcfg.profile.words import quote_comment, with_kind


class Script(NamedTuple):
    """The parts of a job script."""

    plan: Plan
    request: Request
    asked: UserRequest  # what the user asked for
    command: tuple[str, ...]  # the user's command; the plan's has no launcher
    is_direct: bool  # the first node runs *command* itself
    # The place of the machinery's file; None: the script is a single text.
    place: MachineryPlace | None
    made_by: tuple[str, ...]  # the command line of this script


def render_job(script: Script) -> Files:
    """Return the job script, with a mark that shows later edits, and its machinery."""
    scheduler, step = script.request.scheduler, _start(script)
    asked = script.asked
    parts = [
        "\n".join(_header(script)),
        "\n".join(_directives(script)),
        render_module("guard") if script.is_direct else "",
        template(f"{scheduler}/begin") if has_template(f"{scheduler}/begin") else "",
        "\n".join(_repeats(script.request)),
        step.script,
    ]
    if asked.signal and asked.requeue and has_template(f"{scheduler}/requeue"):
        parts.append(template(f"{scheduler}/requeue"))
        start = f"envcfg_run {_words(script.plan.options.command)}"
        start = f"envcfg_job {asked.signal.name} {start}"
        if asked.restarts:
            parts.append(template(f"{scheduler}/restart"))
            bad_nodes = quote(asked.excluded_by or "")
            start = f"envcfg_restart {asked.restarts} {bad_nodes} {start}"
        parts.append(start)
    body = "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
    return step._replace(script=marked("job", body))


def _words(words: Sequence[str]) -> str:
    return " ".join(quote(word) for word in words)


def _header(script: Script) -> Iterator[str]:
    plan, profile = script.plan, script.plan.profile
    name = with_kind(quote_comment(profile.name), profile.kind_name)
    submit = SCHEDULERS[script.request.scheduler].submit
    yield "# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant"
    yield origin_lines(plan, script.made_by).rstrip()
    yield f"# Submit it by: {submit} FILE"
    yield f"# Source and date of each value: envcfg profiles show {quote(name)}"
    if not script.is_direct:
        yield f"{launch_lines(plan)}{rank_comments(plan)}".rstrip()


def _directives(script: Script) -> Iterator[str]:
    request = script.request
    yield title("What is asked for, and why")
    name = next(line.value for line in request.lines if line.option == "--job-name")
    entries = [
        (line.option, line.value and quote_directive(line.option, line.value))
        for line in request.lines
    ]
    scheduler = SCHEDULERS[request.scheduler]
    spelled = scheduler.spell(entries, JobNames(str(name), request.seconds))
    for why, directives in groupby(
        spelled, lambda directive: _whys(request, directive)
    ):
        yield "\n" + "".join(comment_lines(reason, "") for reason in why).rstrip()
        yield from (f"{scheduler.mark} {directive.text}" for directive in directives)


def _whys(request: Request, directive: Directive) -> tuple[str, ...]:
    """Return the reasons for a line, without repetitions."""
    return tuple(dict.fromkeys(request.lines[number].why for number in directive.of))


def _repeats(request: Request) -> Iterator[str]:
    if request.repeats:
        yield title("What srun must be told again")
    for why, repeats in groupby(request.repeats, lambda repeat: repeat.why):
        yield f"\n{comment_lines(why, '').rstrip()}"
        for repeat in repeats:
            yield f"export {repeat.name}={quote_word(repeat.value, repeat.name)}"


def _start(script: Script) -> Files:
    """Return the bash that starts the step, or that defines the function that does."""
    if not script.is_direct:
        plan = script.plan
        if script.asked.requeue:
            plan = plan._replace(options=plan.options._replace(command=()))
        return render_step(plan, script.place)
    parts = [title("The step"), "", template("job/has_envcfg_here").rstrip("\n")]
    return Files("\n".join([*parts, _words(script.command)]), "")
