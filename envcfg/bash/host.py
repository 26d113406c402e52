"""From a plan to the bash that does it, in the order in which people read it; pure.

What this job needs; how it is started; what each rank does first; machinery, the same in
every script; and last the call. Same plan, same text, whatever the number of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from envcfg import __version__
from envcfg.bash.choice import (
    ends_at_colon,
    is_by_interface,
    launch_templates,
    machine_templates,
    programs,
    runtime_blocks,
    runtime_of,
    shell_of,
)
from envcfg.bash.diagnosis import planned_lines, taken_names
from envcfg.bash.launch_line import launch_words, wrapped
from envcfg.bash.limits import checked_part
from envcfg.bash.pieces import (
    assemble,
    blocks_of,
    functions_in,
    has_template,
    heredoc,
    template,
    title,
)
from envcfg.bash.quoting import (
    needed_names,
    quote,
    quote_always,
    quote_word,
    with_defaults,
)
from envcfg.bash.rank_part import contract_names, inside_text, rank_text, worker_text
from envcfg.bash.settings import (
    argument_lines,
    bundle_lines,
    export_lines,
    module_lines,
    mount_lines,
    option_lines,
    setting_lines,
)
from envcfg.launch.plan import Container, Plan
from envcfg.launchers import LAUNCHERS
from envcfg.mark import marked
from envcfg.profile.model import Scratch
from envcfg.profile.words import quote_comment
from envcfg.starters import STARTERS

_SHELLCHECK = (
    "# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand\n"
)
_FOR_USERS = ("envcfg_run", "envcfg_end")
_WIDTH = 88
_NOTHING = "  :\n"


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
    functions = _settings(plan)
    if plan.container:
        functions = f"{_mounts(plan.container)}\n{functions}"
    if plan.modules:
        functions = f"{_modules(plan)}\n{functions}"
    rest = assemble(
        [
            *_started(plan, blocks),
            *_rank_parts(plan, inside),
            *_machinery(plan, blocks),
            *_tail(plan),
        ],
        (*_FOR_USERS, *functions_in(functions)),
    )
    needs = _needs(plan, functions, inside, rest)
    return [template("head_aliases"), needs, rest]


def _needs(plan: Plan, functions: str, inside: str, rest: str) -> str:
    """Return what is particular to this job: data, mounts, settings."""
    lines = [f"{title('What this job needs')}\n\n"]
    referred = set(re.findall(r"\$\{?(ENVCFG_\w+)", functions + rest))
    lines += [
        f"{name}={quote_always(value)}\n"
        for name, value in _data(plan).items()
        if name in referred
    ]
    if plan.container and (known := programs(plan.container)):
        names = " ".join(map(quote, known))
        lines.append(f"ENVCFG_RUNTIMES=({names}) # the first that is on PATH\n")
    if plan.preflight or plan.diagnostics.reported:
        lines.append(f"\nENVCFG_TAKEN=({' '.join(taken_names(plan))})\n")
    if plan.diagnostics.reported:
        lines.append(f"\n{planned_lines(plan.settings, plan.bundles)}")
    lines.append(f"\n{functions}")
    if plan.preflight:
        asked = " ".join(map(quote, plan.preflight))
        lines.append(f"\nENVCFG_PREFLIGHT=({asked})\n")
    if plan.diagnostics.nccl_log is not None:
        folder = quote_word(with_defaults(plan.diagnostics.nccl_log), "--nccl-debug")
        lines.append(f"\nENVCFG_LOG={folder} # for NCCL's log, a file per process\n")
    if plan.diagnostics.flight is not None:
        folder = quote_word(with_defaults(plan.diagnostics.flight), "--flight-recorder")
        lines.append(f"\nENVCFG_FLIGHT={folder} # for Flight Recorder\n")
    if plan.scratch:
        # Read when the script is sourced: a message there could end the job's shell.
        root = quote_word(with_defaults(plan.scratch.root), "scratch.root")
        lines.append(f"\nENVCFG_SCRATCH={root} # for node-local caches\n")
        lines.append(_disk(plan.scratch))
    if inside:
        lines.append(f"\n{heredoc('ENVCFG_INSIDE', inside)}")
    return "".join(lines)


def _disk(scratch: Scratch) -> str:
    """Return the line that takes the disk of a job that has asked for it; maybe none."""
    if scratch.disk is None:
        return ""
    disk = quote_word(with_defaults(scratch.disk), "scratch.disk")
    tests = [f"-n ${{{name}-}}" for name in needed_names(scratch.disk)]
    tests += [f"-d {disk}", f"-w {disk}"]
    return f"if [[ {' && '.join(tests)} ]]; then ENVCFG_SCRATCH={disk}; fi\n"


def _data(plan: Plan) -> Mapping[str, str]:
    nodes = plan.facts.get("nodes")
    container, masks = plan.container, plan.masks.masks if plan.masks else ()
    meeting = plan.rendezvous.interface if plan.rendezvous else None
    return {
        "ENVCFG_NODES_STATED": nodes.value if nodes else "",
        "ENVCFG_RANKS": "" if plan.ranks is None else str(plan.ranks),
        "ENVCFG_GPUS": str(plan.gpus or ""),
        "ENVCFG_IMAGE": container.image if container else "",
        "ENVCFG_IMAGE_READ": container.stamp if container else "",
        "ENVCFG_KNOWN": "; ".join(
            f"module {each.action} {each.name}" for each in plan.known_modules
        ),
        "ENVCFG_VERB": container.verb if container else "",
        "ENVCFG_SHELL": shell_of(plan),
        "ENVCFG_MASKS": ",".join(masks),
        "ENVCFG_MASKS_UNION": _union(masks),
        "ENVCFG_CPUS": ":".join(map(_ranges, masks)),
        "ENVCFG_INTERFACE": meeting or "",
        "ENVCFG_EDF": "",
        "ENVCFG_PROFILE": plan.profile,
        "ENVCFG_REPORTED": " ".join(map(str, plan.diagnostics.reported)),
    }


def _modules(plan: Plan) -> str:
    """Return the functions that load modules: before anything is looked for, or counted."""
    text = ""
    for name, is_tested in (("envcfg_modules", False), ("envcfg_tested_modules", True)):
        chosen = [each for each in plan.modules if bool(each.tests) is is_tested]
        if chosen:
            body = module_lines(chosen, "  ")
            text += f"{name}() {{\n{body}  envcfg_unloaded\n}}\n\n"
    return text.rstrip("\n") + "\n"


def _mounts(container: Container) -> str:
    body = export_lines(container.exports, "  ")
    body += argument_lines(container.arguments, "  ")
    body += mount_lines(container.binds, "  ")
    return f"envcfg_mounts() {{\n{body or _NOTHING}}}\n"


def _settings(plan: Plan) -> str:
    """Return the function that fills ENVCFG_ARGS, the rank part's arguments."""
    asked, starter = plan.diagnostics, STARTERS[plan.starter]
    names_job = asked.profiled or asked.nccl_log or asked.flight or asked.reported
    body = "  envcfg_name_job\n" if names_job else ""
    body += setting_lines(
        [each for each in plan.settings if each.scope == "host"], "  ", "envcfg"
    )
    inside = {each.name for each in plan.settings if each.scope != "host"}
    preset = [
        each.name for each in plan.settings if each.name in inside and not each.force
    ]
    meeting = () if starter.meets_outside else ("MASTER_ADDR", "MASTER_PORT")
    for name in (*meeting, *contract_names(plan)):
        if all(each.name != name for each in plan.settings):
            # The scheduler's own words on the job are nobody's wish for this step.
            own = starter.prefix and name.startswith(starter.prefix)
            preset += [] if own else [name]
        elif name not in inside:
            body += f"  ENVCFG_PRESET+='{name} ' # as set above\n"
    if preset:
        body += f"  envcfg_preset {' '.join(preset)}\n"
    if plan.handed_on:
        body += f"  envcfg_pass {' '.join(plan.handed_on)}\n"
    if plan.scratch:
        needed = needed_names(plan.scratch.root)
        if needed:
            body += f"  envcfg_needed scratch.root {' '.join(needed)} || :\n"
        body += '  ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE")\n'
    if is_by_interface(plan):
        body += "  envcfg_master\n"
    if asked.nccl_log is not None:
        body += "  envcfg_log\n"
    if asked.flight is not None:
        body += "  envcfg_flight\n"
    if asked.reported:
        body += "  envcfg_report\n"
    if asked.profiled:
        body += '  ENVCFG_ARGS+=("ENVCFG_JOB=$ENVCFG_JOB")\n'
    body += option_lines(starter.own, plan.started, "  ")
    body += "".join(
        bundle_lines(each, "  ", starter.bundled[0]) for each in plan.bundles
    )
    tested = [branch.tests for each in plan.settings for branch in each.branches]
    if any((*tested, *(option.tests for option in plan.agent))):
        body += '  ENVCFG_ARGS+=("ENVCFG_NODES=$ENVCFG_NODES")\n'
    return f"envcfg_settings() {{\n{body or _NOTHING}}}\n"


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
        blocks["end"] = 'envcfg_end "$ENVCFG_CACHE_BASE"\n'
    return blocks | {"host": blocks_of(f"{plan.starter}/words")["host"]}


def _machinery(plan: Plan, blocks: Mapping[str, str]) -> Iterator[str]:
    asked = plan.diagnostics
    for name in machine_templates(plan):
        yield template(name, blocks)
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
        yield f"envcfg_main {' '.join(words)}\n"
    else:
        yield template("tail_trap" if plan.scratch else "tail_steps")


def _ranges(mask: str) -> str:
    """Return the CPUs of a mask as a list of ranges: ``8-15,40-47``."""
    bits = f"{int(mask, 16):b}"[::-1]
    return ",".join(
        f"{match.start()}-{match.end() - 1}" for match in re.finditer("1+", bits)
    )


def _union(masks: Sequence[str]) -> str:
    """Return all masks together, in groups of 32 bits, as /proc/self/status writes them."""
    union = 0
    for mask in masks:
        union |= int(mask, 16)
    groups = []
    while union:
        groups.append(f"{union & 0xFFFFFFFF:08x}")
        union >>= 32
    return ",".join(reversed(groups))
