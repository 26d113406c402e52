"""The new script: the old one, line by line, with with_envcfg before its launch lines."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from textwrap import indent
from typing import NamedTuple

from envcfg.job.script.modules import template
from envcfg.lint.conversion.launch_lines import LaunchLine
from envcfg.lint.conversion.line_shape import LINE, REST, LineShape
from envcfg.lint.lint_rule import Edit
from envcfg.profile.words import quote_comment

STEP = "with_envcfg"
_CALL = """\
  if envcfg_fits_{0} "$@"; then
    envcfg_line_{0} "$@" || return $?
    return 0
  fi
"""


class ConvertedLine(NamedTuple):
    """A launch line that the script starts without envcfg."""

    shape: LineShape
    body: str  # the lines that start it
    modules: str  # the machinery; empty if it is in a file that *body* reads
    line: int  # its line number in the old script


def edits(lines: Sequence[LaunchLine], body: int, functions: str) -> list[Edit]:
    """Return the changes of a script.

    Args:
        lines: its launch lines.
        body: offset of the first command.
        functions: the text that defines ``with_envcfg``.
    """
    changes = [Edit(body, body, f"{functions}\n")]
    for line in lines:
        changes += _line_edits(line)
    return changes


def render_functions(
    lines: Sequence[LaunchLine],
    converted: Sequence[ConvertedLine],
    wrap: Sequence[str],
    *,
    needs_envcfg: bool,
) -> str:
    """Return the functions that start the launch lines.

    Args:
        lines: the launch lines.
        converted: the lines that need no envcfg in the job.
        wrap: the command line of ``envcfg wrap`` for other lines.
        needs_envcfg: True if there is another line.
    """
    text = f"{template('job/has_envcfg_here').rstrip()}\n" if needs_envcfg else ""
    names, steps = [STEP], ""
    modules = list(dict.fromkeys(line.modules for line in converted if line.modules))
    for number, line in enumerate(converted, 1):
        body = line.body
        if line.modules:
            body = body.replace(
                line.modules, f"envcfg_modules_{modules.index(line.modules) + 1}\n"
            )
        text += f"{_test(line.shape, number, line.line)}\n"
        text += f"envcfg_line_{number}() {{\n{body}}}\n\n"
        names += [f"envcfg_fits_{number}", f"envcfg_line_{number}"]
        steps += _CALL.format(number)
    for number, machinery in enumerate(modules, 1):
        text += f"envcfg_modules_{number}() {{\n{machinery}}}\n\n"
        names.append(f"envcfg_modules_{number}")
    if converted and not needs_envcfg:
        steps += indent(template("job/converted_step"), "  ")
    command = " ".join(map(quote, wrap))
    function = template(f"job/{STEP}").replace("ENVCFG_WRAP", command)
    text += function.replace("  source", f"{steps}  source", 1)
    is_run = any(launch_line.written.is_run for launch_line in lines)
    # Scripts get only the functions that they use, because users read them.
    if is_run or any("exec" in launch_line.written.before for launch_line in lines):
        text += template(f"job/exec_{STEP}")
    if is_run:
        run = template(f"job/run_{STEP}")
        text += run.replace(f"-f {STEP} ", f"-f {' '.join(names)} ")
    return text


def _test(shape: LineShape, number: int, line: int) -> str:
    """Return the function that compares a launch line with its shape.

    It keeps the values that the job decides in ``ENVCFG_LINE``. Options that only the job
    knows are taken out, one by one, until the other words fit.
    """
    tests, values, trimmed = [f"$# -gt {len(shape.parts)}"], "", ""
    for place, part in enumerate(shape.parts):
        word = f"${{{place + 1}}}"
        if part.is_fixed:
            tests.append(f"{word} == {quote(part.text(place))}")
            continue
        if place == shape.image_part and part.value is not None:
            tests.append(f"{word} == {quote(part.value)}")
        elif part.before or part.after:
            ends = [quote(end) if end else "" for end in (part.before, part.after)]
            tests.append(f"{word} == {'*'.join(ends)}")
        start = f"#{quote(part.before)}" if part.before else ""
        values += f' [{place}]="${{{place + 1}{start}}}"'
        if part.after:
            value = f"{LINE}[{place}]"
            trimmed += f'  {value}="${{{value}%{quote(part.after)}}}"\n'
    if shape.program is not None:
        tests.append(f"${{{len(shape.parts) + 1}}} == {quote(shape.program)}")
    test = f"[[ {' && '.join(tests)} ]]"
    text = (
        f"envcfg_fits_{number}() {{ # LAUNCH LINE: whether it is that of line {line}\n"
    )
    if shape.rest is None:
        text += f"  {test} || return 1\n"
    else:
        cut = shape.rest + 1
        text += (
            f"  {REST}=()\n"
            f"  until {test}; do\n"
            f"    if (($# <= {len(shape.parts)})); then return 1; fi\n"
            f"    case ${{{cut}}} in {'|'.join(_refused(shape))}) return 1 ;; esac\n"
            f'    {REST}+=("${{{cut}}}")\n'
            f'    set -- "${{@:1:{cut - 1}}}" "${{@:{cut + 1}}}"\n'
            "  done\n"
            f"  if [[ -n ${{{REST}-}} && ${{{REST}-}} != -* ]]; then return 1; fi\n"
        )
    return f"{text}  {LINE}=({values.strip()})\n{trimmed}}}\n"


def _refused(shape: LineShape) -> list[str]:
    """Return patterns of options that would change the plan."""
    return [f"{quote(option)}*" for option in shape.refused]


def _line_edits(line: LaunchLine) -> list[Edit]:
    """Insert the function before the line, in place of the words that it replaces."""
    written = line.written
    offset = written.spans[written.first or 0][0]
    # A program such as timeout knows no functions, so a new shell defines them.
    if written.is_run:
        return [Edit(offset, offset, f'bash -c "$run_{STEP}" {STEP} ')]
    step = f"exec_{STEP}" if "exec" in written.before else STEP
    return [
        *(
            Edit(written.spans[number][0], written.spans[number + 1][0], "")
            for number, word in enumerate(written.before)
            if word in {"exec", "command"}
        ),
        Edit(offset, offset, f"{step} "),
    ]


def apply_edits(chars: str, changes: Sequence[Edit]) -> str:
    """Return *chars* with all changes applied; changes do not overlap."""
    parts, position = [], 0
    for start, end, text in sorted(changes, key=lambda edit: edit[:2]):
        parts += [chars[position:start], text]
        position = end
    return "".join([*parts, chars[position:]])


def head_line(made_by: Sequence[str]) -> str:
    """Return the comment that shows how the script was made."""
    return f"# made by: {quote_comment(' '.join(map(quote, made_by)))}\n"


def line_text(line: LaunchLine, chars: str) -> str:
    """Return the text of a launch line in the new script."""
    start, end = line.written.start, line.written.end
    moved = [
        Edit(edit.start - start, edit.end - start, edit.text)
        for edit in _line_edits(line)
    ]
    return apply_edits(chars[start:end], moved)
