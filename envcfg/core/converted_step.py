"""The step of a launch line, planned when the script is converted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from envcfg.common.findings import Finding
from envcfg.core.step import make_step, plan_step
from envcfg.job.plan.plan import Plan
from envcfg.job.plan.script_files import MachineryPlace
from envcfg.job.script.host_part import (
    launch_lines,
    render_loader,
    render_step,
)
from envcfg.job.script.launch_line import added_options
from envcfg.lint.conversion.line_shape import LINE, MARK, REST, LineShape
from envcfg.profile.words import quote_comment

# The functions that run in a task.
_TEXT = re.compile(
    r"^envcfg_(?:rank|task)_settings\(\) \{.*?^\}$", re.DOTALL | re.MULTILINE
)


class ConvertedStep(NamedTuple):
    """The bash of one launch line."""

    body: str  # the lines that start the step, with the launch line in `$@`
    machinery: str  # the text of the file that *body* reads; empty without a file
    modules: str  # the machinery in *body* itself; empty with a file
    added: tuple[str, ...]  # options of the starter that the line does not have
    notes: tuple[Finding, ...]  # what the conversion leaves out


def convert_step(
    shape: LineShape, values: Mapping[str, Any], place: MachineryPlace | None
) -> ConvertedStep | None:
    """Return the step of a launch line; None if its text needs a value from the job.

    Raises:
        UsageError: ``wrap`` refuses the line.
    """
    # The image is read now, but the job starts the image of its own launch line.
    mark = f"ENVCFG-WORD-{shape.image_part}-"
    words = [
        shape.image if shape.image and word == mark else word for word in shape.words
    ]
    plan = plan_step(make_step(values, words, "", is_line=True))
    if plan.container and shape.image_part is not None:
        plan = plan._replace(container=plan.container._replace(image=mark))
    files = render_step(plan, place or MachineryPlace("", ""))
    body, _, _ = files.script.rstrip("\n").rpartition("\n")
    modules = ""
    if place is None:
        modules = files.machinery
        body = body.replace(
            render_loader(modules, MachineryPlace("", "")).rstrip(), modules
        )
    marked = _filled(body, shape)
    if marked is None:
        return None
    machinery = files.machinery if place else ""
    text = _whole(marked, shape, plan)
    notes = tuple(note for note in plan.notes if note.rule == "network-left-open")
    return ConvertedStep(text, machinery, modules, added_options(plan), notes)


def _whole(body: str, shape: LineShape, plan: Plan) -> str:
    body = _inserted(body, shape, plan)
    count = f"{len(shape.parts) + 1}"
    if shape.rest is not None:
        count += f" + ${{#{REST}[@]}}"
    comment = "".join(
        f"{MARK.sub(lambda mark: quote_comment(shape.parts[int(mark[1])].shown), line)}\n"
        for line in launch_lines(plan).splitlines()
    )
    return f'{comment}\n{body}\nenvcfg_run "${{@:{count}}}"\n'


def _inserted(body: str, shape: LineShape, plan: Plan) -> str:
    """Return the lines with the unknown parts of the launch line."""
    binds = "".join(
        f"  envcfg_argument {_word(shape, number)}\n" for number in shape.binds
    )
    body = body.replace("envcfg_mounts() {\n", f"envcfg_mounts() {{\n{binds}", 1)
    if shape.rest is not None:
        own = f"ENVCFG_{plan.starter.name.upper()}"
        before, function, after = body.rpartition("\nenvcfg_settings() {\n")
        body = f'{before}{function}  {own}+=("${{{REST}[@]}}")\n{after}'
    if plan.container and plan.container.is_file and shape.image is None:
        test = "if [[ ! -e $ENVCFG_IMAGE ]]; then ENVCFG_IMAGE_IS_FILE=''; fi\n"
        title, line, after = body.partition("\nENVCFG_IMAGE_IS_FILE='yes'")
        comment, end, after = after.partition("\n")
        body = f"{title}{line}{comment}{end}{test if line else ''}{after}"
    return body


def _word(shape: LineShape, number: int) -> str:
    part = shape.parts[number]
    if part.is_fixed:
        return part.before
    return f'{part.before}"${{{LINE}[{number}]}}"{part.after}'


def _filled(body: str, shape: LineShape) -> str | None:
    """Return the lines with the job's values in place of the marks.

    The functions of a task run in another shell, which has no access to them.
    """
    if any(map(MARK.search, (text[0] for text in _TEXT.finditer(body)))):
        return None
    filled, quote, start = "", "", 0
    for match in MARK.finditer(body):
        line = body[body.rfind("\n", 0, match.start()) + 1 : match.start()]
        quote = _quote_of(line)
        value = f"${{{LINE}[{match[1]}]}}"
        if line.lstrip().startswith("#"):
            value = quote_comment(shape.parts[int(match[1])].shown)
        elif quote == "'":
            value = f"'\"{value}\"'"
        elif not quote:
            value = f'"{value}"'
        filled += body[start : match.start()] + value
        start = match.end()
    # A quote that holds nothing else is left out.
    return re.sub(r"''(\"\$\{\w+\[\d+\]\}\")''", r"\1", filled + body[start:])


def _quote_of(line: str) -> str:
    """Return the quote that is open at the end of a part of a line."""
    quote = ""
    for sign in line:
        if quote == sign:
            quote = ""
        elif not quote and sign in "'\"":
            quote = sign
    return quote
