"""From a request and a step to the text of the job script; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from envcfg import __version__
from envcfg.bash.host import BEGINNING, default_lines, render_inline
from envcfg.bash.modules import has_template, render_module, template, title
from envcfg.bash.quoting import quote, quote_directive, quote_word
from envcfg.launch.plan import Plan
from envcfg.profile.words import quote_comment
from envcfg.provenance import marked
from envcfg.request.request import Request
from envcfg.schedulers import SCHEDULERS
from envcfg.schedulers.model import Directive, JobNames

_WIDTH = 88


class Script(NamedTuple):
    """What a job script is made of.

    Attributes:
        wrap: the command line of ``envcfg wrap``, without the command; none: the first
            node runs the command itself.
        command: as it was given; the plan's is without what names a launcher.
        inline: the step's bash is written out, so that the job needs no envcfg.
        signal: by which the job is warned to save and start again; None: it is not.
        restarts: how often the job may start again where its step fails.
        made_by: the command line of this script.
    """

    plan: Plan
    request: Request
    wrap: tuple[str, ...]
    command: tuple[str, ...]
    inline: bool
    signal: str | None
    restarts: int
    made_by: tuple[str, ...]


def render_job(script: Script) -> str:
    """Return the job script, with a line that says whose it is and shows later edits."""
    scheduler = script.request.scheduler
    parts = [
        "\n".join(_header(script)),
        "\n".join(_directives(script)),
        *map(render_module, BEGINNING if script.inline else BEGINNING[:1]),
        template(f"{scheduler}/begin") if has_template(f"{scheduler}/begin") else "",
        "\n".join(_repeats(script.request)),
        _start(script),
    ]
    if script.signal and has_template(f"{scheduler}/requeue"):
        parts.append(template(f"{scheduler}/requeue"))
        command = f"envcfg_run {_words(script.plan.command)}"
        start = command if script.inline else "envcfg_start"
        start = f"envcfg_job {script.signal} {start}"
        if script.restarts:
            parts.append(template(f"{scheduler}/restart"))
            start = f"envcfg_restart {script.restarts} {start}"
        parts.append(start)
    body = "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
    return marked("job", body)


def _words(words: Sequence[str]) -> str:
    return " ".join(quote(word) for word in words)


def _header(script: Script) -> Iterator[str]:
    name, digest = quote_comment(script.plan.profile), script.plan.profile_hash[:16]
    submit = SCHEDULERS[script.request.scheduler].submit
    yield "# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034 # as meant"
    yield f"# envcfg {__version__}, profile {name} (sha256 {digest})"
    yield f"# made by: {quote_comment(_words(script.made_by))}"
    if not script.inline:  # else the step says it
        yield from default_lines(script.plan).splitlines()
    yield f"# Submit it by: {submit} FILE"
    show = f"envcfg profiles show {quote(name)}"
    yield f"# Who says so, and since when: {show}"


def _directives(script: Script) -> Iterator[str]:
    request = script.request
    yield title("What is asked for, and why")
    name = next(each.value for each in request.lines if each.option == "--job-name")
    asked = [
        (line.option, line.value and quote_directive(line.option, line.value))
        for line in request.lines
    ]
    spell = SCHEDULERS[request.scheduler].spell
    spelled = spell(asked, JobNames(str(name), request.seconds))
    for why, directives in groupby(spelled, lambda each: _whys(request, each)):
        yield from ("", *(line for each in why for line in _comment(each)))
        yield from (each.text for each in directives)


def _whys(request: Request, directive: Directive) -> tuple[str, ...]:
    """Return the reasons for a line, each once."""
    return tuple(dict.fromkeys(request.lines[each].why for each in directive.of))


def _repeats(request: Request) -> Iterator[str]:
    if request.repeats:
        yield title("What srun must be told again")
    for why, repeats in groupby(request.repeats, lambda each: each.why):
        yield from ("", *_comment(why))
        for each in repeats:
            yield f"export {each.name}={quote_word(each.value, each.name)}"


def _start(script: Script) -> str:
    """Return the bash that starts the step, or that defines what starts it."""
    words = (*script.wrap, "--", *script.command)
    if script.inline:
        plan = script.plan._replace(command=()) if script.signal else script.plan
        return render_inline(plan, words)
    lines = [
        "# shellcheck disable=SC1090 # envcfg writes it",
        f"source <({_words(words)} || echo exit $?)",
    ]
    if not script.wrap:
        lines = [_words(script.command)]
    if script.signal:
        lines = ["envcfg_start() {", *(f"  {line}" for line in lines), "}"]
    return "\n".join(
        [
            title("The step"),
            "",
            template("job/has_envcfg").rstrip("\n"),
            *lines,
        ]
    )


def _comment(text: str, indent: str = "") -> Iterator[str]:
    from textwrap import wrap

    width = _WIDTH - len(indent) - 2
    for line in wrap(quote_comment(text), width, break_long_words=False):
        yield f"{indent}# {line}"
