"""Write the bash of a plan, in reading order; pure.

The part particular to the job comes first, then the guard and the modules, which are
the same in every script, and last the line that starts it. The same plan gives the same
text, for any number of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from envcfg import __version__
from envcfg.common.provenance import marked
from envcfg.job.plan.plan import Plan
from envcfg.job.plan.script_files import Files, MachineryPlace
from envcfg.job.script.job_data import render_data, render_functions
from envcfg.job.script.launch_line import launch_words, wrapped
from envcfg.job.script.module_choice import chosen_modules, render_lists
from envcfg.job.script.modules import render_module, template, title
from envcfg.job.script.quoting import quote, quote_always
from envcfg.job.script.rank_comments import rank_comments
from envcfg.job.script.rank_part import render_rank_part
from envcfg.profile.words import quote_comment

_SHELLCHECK = (
    "# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant\n"
)
_WIDTH = 88
_MACHINERY = """\
# shellcheck shell=bash disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
# Job scripts of envcfg run this text, by its hash: keep it as long as any of them is used.

"""
BEGINNING = ("guard", "begin")  # the modules after the job's part
# Any shell reads the job's part, before the guard refuses shells other than bash.
_ALIASES = """\
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \\builtin shopt -u expand_aliases # for all that follows

"""


def render_script(plan: Plan, command_line: Sequence[str]) -> str:
    """Return *plan* as a single text; *command_line* is the command that made it.

    Raises:
        UsageError: a part of the text is too long to be started.
    """
    return render_files(plan, command_line, None).script


def render_files(
    plan: Plan, command_line: Sequence[str], place: MachineryPlace | None
) -> Files:
    """Return *plan* as a script and its machinery, or as a single text without *place*.

    Raises:
        UsageError: as for ``render_script``.
    """
    step = render_step(plan, place)
    text = f"{_SHELLCHECK}{_header(plan, command_line)}\n{step.script}"
    return step._replace(script=marked("script", text))


def render_step(plan: Plan, place: MachineryPlace | None) -> Files:
    """Return *plan* as bash for a script that has its own first lines."""
    job, names = _job_part(plan)
    parts = [job, *map(render_module, BEGINNING)]
    if place is None:
        parts += [render_lists(names), *map(render_module, names), _last(plan)]
        return Files(_joined(parts), "")
    modules = "\n".join([render_lists(names), *map(render_module, names)])
    text = f"{_MACHINERY}{modules}"
    return Files(_joined([*parts, render_loader(text, place), _last(plan)]), text)


def render_loader(text: str, place: MachineryPlace) -> str:
    """Return the bash that finds, checks and runs the file with this *text*."""
    path = quote(f"{place.folder}/{Files('', text).name}")
    data = f"ENVCFG_FILE={path}\nENVCFG_AGAIN={quote_always(place.again)}\n"
    heading, _, body = template("loader").partition("\n\n")
    return f"{heading}\n{data}{body}"


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(f"{part.rstrip()}\n" for part in parts)


def render_job_part(plan: Plan, command_line: Sequence[str]) -> str:
    """Return the lines for this job and the last line, without the modules."""
    job, names = _job_part(plan)
    listed = ", ".join([*BEGINNING, *names])
    parts = [_header(plan, command_line), job, f"# modules: {listed}", _last(plan)]
    return _joined(parts)


def _header(plan: Plan, command_line: Sequence[str]) -> str:
    return (
        f"{origin_lines(plan, command_line)}"
        "# You can source it in a batch script, evaluate it, run it, or submit it.\n"
        "# Compute nodes need bash 4.4, and neither envcfg nor Python.\n"
        f"{launch_lines(plan)}"
        f"{rank_comments(plan)}"
    )


def origin_lines(plan: Plan, command_line: Sequence[str]) -> str:
    """Return comments with the profile, the kind of node, the command line and the
    options from files."""
    profile = plan.profile
    lines = [
        f"envcfg {__version__}, profile {profile.name} (sha256 {plan.profile_hash[:16]})",
        *([f"kind of node: {profile.kind}"] if profile.kind else []),
        f"made by: {' '.join(quote(word) for word in command_line)}",
        *(f"default: {default}" for default in plan.options.defaults),
    ]
    return "".join(f"# {quote_comment(line)}\n" for line in lines)


def launch_lines(plan: Plan) -> str:
    """Return comments with the launch line, wrapped."""
    words = [quote_comment(word) for word in launch_words(plan)]
    line = "".join(f"#   {name}\n" for name in wrapped(words, _WIDTH - 6))
    read = "".join(f"# {quote_comment(str(one))}\n" for one in plan.options.statements)
    return f"{read}# It starts the ranks by:\n{line}"


def _job_part(plan: Plan) -> tuple[str, list[str]]:
    """Return the lines for this job, and the names of the modules after them."""
    functions, rank_part = render_functions(plan), render_rank_part(plan)
    names = chosen_modules(plan, f"{functions}{rank_part}")
    data = f"{title('What this job needs')}\n{_ALIASES}{render_data(plan, names)}"
    return _joined([data, functions, rank_part]), names


def _last(plan: Plan) -> str:
    if not plan.options.command:
        return 'envcfg_begin "$@"\n'
    # A word that looks like an assignment would be one under "set -k", unless it is
    # quoted.
    words = (quote_always(w) if "=" in w else quote(w) for w in plan.options.command)
    return f"envcfg_run {' '.join(words)}\n"
