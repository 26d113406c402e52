"""From a plan to the bash that does it, in the order in which people read it; pure.

What is particular to the job comes first; then modules, the same in every script that has
them; and last the line that starts it. Same plan, same text, whatever the number of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from envcfg import __version__
from envcfg.bash.choice import chosen_modules
from envcfg.bash.inside import inside_texts, render_inside
from envcfg.bash.launch_line import launch_words, wrapped
from envcfg.bash.modules import render_module, title
from envcfg.bash.needs import render_data, render_functions
from envcfg.bash.quoting import quote, quote_always
from envcfg.launch.plan import Plan
from envcfg.profile.words import quote_comment
from envcfg.provenance import marked

_SHELLCHECK = "# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034 # as meant\n"
_WIDTH = 88
BEGINNING = ("guard", "begin")  # the modules before the job's part


def render_script(plan: Plan, command_line: Sequence[str]) -> str:
    """Return the whole text for *plan*; *command_line* says how to make it again.

    Raises:
        UsageError: if a part of it is too long to be started.
    """
    beginning = map(render_module, BEGINNING)
    parts = [_header(plan, command_line), *beginning, *_parts(plan)]
    return marked("script", f"{_SHELLCHECK}{_joined(parts)}")


def render_inline(plan: Plan, command_line: Sequence[str]) -> str:
    """Return the same for a script that has its own first lines, and ``BEGINNING``."""
    return _joined([_header(plan, command_line), *_parts(plan)])


def _parts(plan: Plan) -> list[str]:
    job, names = _job_part(plan)
    return [job, *map(render_module, names), _last(plan)]


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(f"{part.rstrip()}\n" for part in parts)


def render_job_part(plan: Plan, command_line: Sequence[str]) -> str:
    """Return what is particular to the job, and the last line, without the modules."""
    job, names = _job_part(plan)
    listed = ", ".join([*BEGINNING, *names])
    parts = [_header(plan, command_line), job, f"# modules: {listed}", _last(plan)]
    return _joined(parts)


def _header(plan: Plan, command_line: Sequence[str]) -> str:
    made_by = quote_comment(" ".join(quote(word) for word in command_line))
    words = [quote_comment(word) for word in launch_words(plan)]
    line = "".join(f"#   {each}\n" for each in wrapped(words, _WIDTH - 6))
    return (
        f"# envcfg {__version__}, profile {quote_comment(plan.profile)} "
        f"(sha256 {plan.profile_hash[:16]})\n"
        f"# made by: {made_by}\n"
        f"{default_lines(plan)}"
        "# Source it in a batch script, evaluate it, run it, submit it: all the same.\n"
        "# Compute nodes need bash 4.4, and neither envcfg nor Python.\n"
        f"# It starts the ranks by:\n{line}"
    )


def default_lines(plan: Plan) -> str:
    """Return comments that name the options of *plan* which come from files."""
    return "".join(f"# default: {quote_comment(each)}\n" for each in plan.defaults)


def _job_part(plan: Plan) -> tuple[str, list[str]]:
    """Return what is particular to the job, and the names of the modules behind it."""
    functions, inside = render_functions(plan), inside_texts(plan)
    names = chosen_modules(plan, "".join([functions, *inside.values()]))
    parts = [title("What this job needs"), render_data(plan, functions, names)]
    parts += [render_inside(inside, names), functions]
    return _joined(parts), names


def _last(plan: Plan) -> str:
    if not plan.command:
        return 'envcfg_begin "$@"\n'
    # What looks like an assignment would be one under "set -k", but not in quotes.
    words = (quote_always(w) if "=" in w else quote(w) for w in plan.command)
    return f"envcfg_run {' '.join(words)}\n"
