"""The rank part: what each task runs before its program; POSIX shell, pure text.

What is particular to the job stands in a function of its own, ``envcfg_inside``, which
comes first; the rest is the same for all jobs of a starter and a launcher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envcfg.bash.choice import ends_at_colon, is_by_interface
from envcfg.bash.diagnosis import ending_pieces, setup_pieces
from envcfg.bash.pieces import (
    assemble,
    blocks_of,
    functions_in,
    has_template,
    template,
)
from envcfg.bash.quoting import quote, quote_always, rename
from envcfg.bash.settings import agent_lines, folder_lines, setting_lines
from envcfg.launch.plan import Plan, Planned
from envcfg.launchers import LAUNCHERS
from envcfg.starters import STARTERS

_SETS = r"\benvcfg_in_set ([A-Z]\w*)"
# What a starter's rank.sh says to who wants it.
_WANTED = ("nodes", "id", "address")
_OPTIONS = "# envcfg:options\n"  # where a template takes them


def inside_text(plan: Plan) -> str:
    """Return the function that sets what a task sets; empty if there is nothing."""
    here = _here(plan)
    outside = [each for each in plan.settings if each.scope == "host"]
    return _function(here, [*outside, *here], _masking(plan))


def rank_text(plan: Plan, inside: str) -> str:
    """Return what each task that a starter starts runs first, behind ``inside_text``."""
    pieces = [template("rank/core"), *setup_pieces(plan.diagnostics)]
    pieces += [template("rank/arguments"), *_identity(plan), template("rank/folders")]
    if ends_at_colon(plan):
        pieces.append(template("rank/colons"))
    if plan.scratch:
        pieces.append(template("rank/cache", {"host": _words(plan)["host"]}))
    if inside:
        pieces.append("envcfg_inside\n")
    is_agent = LAUNCHERS[plan.launcher].is_agent
    pieces += _agent(plan) if is_agent else [*_contract(plan), *_program(plan)]
    return assemble(pieces, functions_in(inside))


def worker_text(plan: Plan) -> str:
    """Return what each rank runs first that an agent has started."""
    ranked = [each for each in _inside(plan) if each.scope == "rank"]
    inside = _function(ranked, ranked)
    pieces = [inside, template("rank/core"), template("rank/worker")]
    pieces.append(template("rank/folders"))
    if inside:
        pieces.append("envcfg_inside\n")
    return assemble([*pieces, *_program(plan)])


def contract_names(plan: Plan) -> tuple[str, ...]:
    """Return the variables that the launcher's template gives to a rank, if it does."""
    if not plan.contract:
        return ()
    return tuple(dict.fromkeys(re.findall(_SETS, _launcher(plan))))


def _masking(plan: Plan) -> str:
    """Return the lines that leave one layer of GPU masking, once for each task."""
    own, layer = {each.name for each in plan.settings}, plan.visibility
    names = [name for name in (layer.clear if layer else ()) if name not in own]
    if not (layer and names):
        return ""
    comment = f"  # One layer of GPU masking: {layer.variable}.\n"
    return f"{comment}  unset -v {' '.join(names)}\n"


def _function(
    settings: Sequence[Planned], folders: Sequence[Planned], first: str = ""
) -> str:
    """Return the function that sets *settings* and makes *folders*; empty without any."""
    body = first + setting_lines(settings, "  ", "envcfg_in")
    body += folder_lines(folders, "  ")
    if not body:
        return ""
    return (
        f"envcfg_inside() {{ # what is set in each task, in the container\n{body}}}\n"
    )


def _is_agent(plan: Plan) -> bool:
    return LAUNCHERS[plan.launcher].is_agent


def _here(plan: Plan) -> list[Planned]:
    """Return the settings that a task makes itself, before it starts anything."""
    scopes = ("node",) if _is_agent(plan) else ("node", "rank")
    return [each for each in _inside(plan) if each.scope in scopes]


def _inside(plan: Plan) -> Iterator[Planned]:
    """Yield the settings made inside; what they need of the job goes by other names."""
    names = _handed_on(plan)
    for setting in plan.settings:
        if setting.scope != "host":
            branches = tuple(
                branch._replace(value=branch.value and rename(branch.value, names))
                for branch in setting.branches
            )
            yield setting._replace(branches=branches)


def _program(plan: Plan) -> Iterator[str]:
    """Yield the end of a rank part: own variables go, the program comes."""
    if plan.local_rank_at is not None:
        yield (
            f"envcfg_at={plan.local_rank_at}\n"
            f"envcfg_option={quote(plan.local_rank_option)}\n"
        )
        yield template("rank/local_rank")
    yield from ending_pieces(plan.diagnostics)  # a profiler's words move the program's
    if plan.container and plan.container.prefix:
        words = " ".join(map(quote_always, plan.container.prefix))
        yield f'set -- {words} "$@" # what the system wants before each command\n'
    if plan.handed_on:
        yield f"unset -v {' '.join(_handed_on(plan).values())}\n"
    yield template("rank/exec")


def _handed_on(plan: Plan) -> dict[str, str]:
    """Return the names under which envcfg_pass hands on variables of the job."""
    return {name: f"ENVCFG_REF_{name}" for name in plan.handed_on}


def _words(plan: Plan) -> dict[str, str]:
    """Return in what the templates of others differ by the starter."""
    return blocks_of(f"{plan.starter}/words")


def _identity(plan: Plan) -> Iterator[str]:
    """Yield the pieces that say who a task is."""
    starter = plan.starter
    wanted = _launcher(plan) if LAUNCHERS[plan.launcher].has_template else ""
    blocks = {name: "" for name in _WANTED if f"envcfg_{name}" not in wanted}
    if is_by_interface(plan) and has_template(f"{starter}/rank_interface"):
        blocks = blocks_of(f"{starter}/rank_interface") | blocks
    if has_template(f"{starter}/first_node"):
        yield template(f"{starter}/first_node")
    suffix = plan.rendezvous.suffix if plan.rendezvous else ""
    if not STARTERS[starter].meets_outside:
        yield f"envcfg_suffix={quote(suffix)} # behind a node's name, in its address\n"
    yield template(f"{starter}/rank", blocks)
    if not _is_agent(plan) and has_template(f"{starter}/rank_one"):
        yield template(f"{starter}/rank_one")


def _launcher(plan: Plan) -> str:
    """Return the launcher's template, with the words of the starter."""
    blocks = {**_words(plan), **({"mode": ""} if plan.has_mode else {})}
    return template(f"launchers/{plan.launcher}", blocks)


def _agent(plan: Plan) -> Iterator[str]:
    """Yield what starts the ranks of a node, with its options, which hold values."""
    head, tail = _launcher(plan).split(_OPTIONS)
    yield head
    yield agent_lines(plan.agent)
    yield tail


def _contract(plan: Plan) -> Iterator[str]:
    """Yield the pieces that tell a rank's library what it reads; settings win."""
    names = contract_names(plan)
    given = [each.name for each in _inside(plan) if each.name in names]
    if given:
        text = " ".join(given)
        yield f"ENVCFG_PRESET=\"$ENVCFG_PRESET\"'{text} ' # as set above\n"
    if plan.contract:
        yield _launcher(plan)
