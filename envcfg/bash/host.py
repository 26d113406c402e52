"""From a plan to the bash that does it, in the order in which people read it; pure.

What this job needs; how it is started; what each rank does first; machinery, the same in
every script; and last the call. Same plan, same text, whatever the number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envcfg import __version__
from envcfg.bash.choice import (
    components,
    ends_at_colon,
    launch_templates,
    machine_templates,
    runtime_blocks,
    runtime_of,
)
from envcfg.bash.launch_line import launch_words, wrapped
from envcfg.bash.limits import checked_part
from envcfg.bash.needs import render_functions, render_needs
from envcfg.bash.pieces import (
    assemble,
    blocks_of,
    functions_in,
    has_template,
    heredoc,
    template,
    title,
)
from envcfg.bash.quoting import quote, quote_always
from envcfg.bash.rank_part import inside_text, rank_text, worker_text
from envcfg.launch.plan import Plan
from envcfg.launchers import LAUNCHERS
from envcfg.mark import marked
from envcfg.profile.words import quote_comment

_SHELLCHECK = (
    "# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand\n"
)
_FOR_USERS = ("envcfg_run", "envcfg_end")
_WIDTH = 88


def render_script(plan: Plan, command_line: Sequence[str]) -> str:
    """Return the whole text for *plan*; *command_line* says how to make it again.

    Raises:
        UsageError: if a part of it is too long to be started.
    """
    head = f"{_SHELLCHECK}{_header(plan, command_line)}"
    pieces = [head, template("guard"), *_body(plan)]
    return marked("script", assemble(pieces, _FOR_USERS))


def render_inline(plan: Plan, command_line: Sequence[str]) -> str:
    """Return the same for a script that holds it and has its own first lines and guard."""
    return assemble([_header(plan, command_line), *_body(plan)], _FOR_USERS)


def _header(plan: Plan, command_line: Sequence[str]) -> str:
    made_by = quote_comment(" ".join(quote(word) for word in command_line))
    words = [quote_comment(word) for word in launch_words(plan)]
    line = "".join(f"#   {each}\n" for each in wrapped(words, _WIDTH - 6))
    return (
        f"# envcfg {__version__}, profile {quote_comment(plan.profile)} "
        f"(sha256 {plan.profile_hash[:16]})\n"
        f"# made by: {made_by}\n"
        "# Source it in a batch script, evaluate it, run it, submit it: all the same.\n"
        "# It needs bash 4.4 and, on the compute nodes, neither envcfg nor Python.\n"
        f"# It starts the ranks by:\n{line}"
    )


def _body(plan: Plan) -> list[str]:
    """Return the pieces behind the header; data that nothing uses is left out."""
    inside, blocks = inside_text(plan), _blocks(plan)
    functions = render_functions(plan)
    rest = assemble(
        [
            *_started(plan, blocks),
            *_rank_parts(plan, inside),
            *_machinery(plan, blocks),
            *_tail(plan),
        ],
        (*_FOR_USERS, *functions_in(functions)),
    )
    needs = render_needs(plan, functions, inside, rest)
    return [template("head_aliases"), needs, rest]


def _started(plan: Plan, blocks: Mapping[str, str]) -> Iterator[str]:
    """Yield the pieces with the decisions: how ranks are started, how they enter."""
    yield f"{title('How it is started')}\n"
    container = plan.container
    left_out = runtime_blocks(container, container.runtimes if container else ())
    for name in launch_templates(plan):
        yield template(name, {**left_out, **blocks})


def _rank_parts(plan: Plan, inside: str) -> Iterator[str]:
    yield f"{title('What each rank does first, inside the container')}\n"
    text = checked_part(rank_text(plan, inside), more=inside)
    join = "ENVCFG_RANK=$ENVCFG_INSIDE$ENVCFG_RANK\n" if inside else ""
    yield f"{heredoc('ENVCFG_RANK', text)}{join}"
    if LAUNCHERS[plan.launcher].is_agent:
        worker = checked_part(worker_text(plan), "ENVCFG_WORKER")
        # torch's agent puts ranks for names in its arguments, and makes one $ of two.
        yield heredoc("ENVCFG_WORKER", worker.replace("$$", "$$$$"))
    if has_template(f"{plan.starter}/task"):
        task = (template("given"), template(f"{plan.starter}/task"))
        yield heredoc("ENVCFG_TASK", assemble(task))
    if plan.diagnostics.smoke_test:
        yield heredoc("ENVCFG_SMOKE", template("smoke_node"))


def _blocks(plan: Plan) -> dict[str, str]:
    """Return what the blocks hold of which a plain job has no need: nothing."""
    asked = plan.diagnostics
    runtime = runtime_of(plan)
    needed = {
        "end": plan.scratch,
        "smoke": asked.smoke_test,
        "preflight": plan.preflight,
        "log": asked.removes_log,
        "size": not plan.command,
        "colons": ends_at_colon(plan),
        "components": components(plan),
        "here": not components(plan),
        "read": plan.container is not None and plan.container.stamp,
        "modular": plan.modules,
        "modules": not all(each.tests for each in plan.modules),
        "tested-modules": any(each.tests for each in plan.modules),
        "shrink": not plan.command,
        "stated": "nodes" in plan.facts,
        "text": runtime is not None and runtime.is_text,
        "leave": runtime is not None and runtime.outlives,
        "masked": runtime is not None,
        "written": runtime is not None and runtime.writes,
    }
    blocks = {name: "" for name, each in needed.items() if not each}
    if plan.scratch and plan.command:
        end = 'envcfg_end "$ENVCFG_CACHE_BASE"'
        blocks["end"] = f"if ((ENVCFG_FAULTS == 0)); then {end}; fi\n"
    return blocks | {"host": blocks_of(f"{plan.starter}/words")["host"]}


def _machinery(plan: Plan, blocks: Mapping[str, str]) -> Iterator[str]:
    asked, runtime = plan.diagnostics, runtime_of(plan)
    for name in machine_templates(plan):
        yield template(name, blocks)
    writes = runtime is not None and runtime.writes
    if (
        writes
        or asked.reported
        or asked.nccl_log is not None
        or asked.flight is not None
    ):
        yield template("place")
    if asked.smoke_test:
        yield template("smoke")
    if plan.preflight or asked.reported:
        yield template("share")
    if plan.preflight:
        yield template("preflight")
    if asked.nccl_log is not None:
        yield template("nccl_log")
    if asked.flight is not None:
        yield template("flight")
    if asked.reported:
        yield template("told")
        yield template("report")
    if plan.modules:
        yield template("modules")
    if plan.scratch:
        yield template("clean", blocks)


def _tail(plan: Plan) -> Iterator[str]:
    yield f"{title('Now do it')}\n"
    yield template("tail_aliases")
    if plan.scratch:
        yield template("session")
    if plan.command:
        # What looks like an assignment would be one under "set -k", but not in quotes.
        words = (quote_always(w) if "=" in w else quote(w) for w in plan.command)
        yield f"envcfg_run {' '.join(words)}\n"
    else:
        yield template("tail_trap" if plan.scratch else "tail_steps")
