"""What is particular to one job, in bash: data, modules, mounts, settings; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from envcfg.bash.choice import components, is_by_interface, programs, shell_of
from envcfg.bash.diagnosis import planned_lines, taken_names
from envcfg.bash.pieces import heredoc, title
from envcfg.bash.quoting import (
    needed_names,
    quote,
    quote_always,
    quote_word,
    with_defaults,
)
from envcfg.bash.rank_part import contract_names
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
from envcfg.profile.model import Scratch
from envcfg.starters import STARTERS

_NOTHING = "  :\n"


def render_functions(plan: Plan) -> str:
    """Return the functions that load modules, mount and set: each with its reasons."""
    text = _settings(plan)
    if plan.container:
        text = f"{_mounts(plan.container)}\n{text}"
    if plan.modules:
        text = f"{_modules(plan)}\n{text}"
    return text


def render_needs(plan: Plan, functions: str, inside: str, rest: str) -> str:
    """Return the section of what this job needs.

    Args:
        plan: of the job.
        functions: of ``render_functions``.
        inside: what stands before the rank part.
        rest: all that comes behind; data that neither it nor *functions* uses is left out.
    """
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
        "ENVCFG_COMPONENTS": components(plan),
        "ENVCFG_RANKS": "" if plan.ranks is None else str(plan.ranks),
        "ENVCFG_GPUS": str(plan.gpus or ""),
        "ENVCFG_GROUPS": "" if STARTERS[plan.starter].spans_nodes else "yes",
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
        "ENVCFG_PROFILE": plan.profile,
        "ENVCFG_REPORTED": " ".join(map(str, plan.diagnostics.reported)),
        "ENVCFG_CLUSTERS": " ".join(plan.place.clusters),
        "ENVCFG_ALLOWED": " ".join(plan.place.allowed),
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
    own = [
        each.name for each in plan.settings if each.name in inside and not each.force
    ]
    if own:
        body += f"  envcfg_preset_settings {' '.join(own)}\n"
    preset: list[str] = []
    meeting = () if starter.meets_outside else ("MASTER_ADDR", "MASTER_PORT")
    for name in (*meeting, *contract_names(plan)):
        if all(each.name != name for each in plan.settings):
            # The scheduler's own words on the job are nobody's wish for this step.
            told = starter.prefix and name.startswith(starter.prefix)
            if name == "MASTER_ADDR":
                body += "  envcfg_preset_meeting\n"
            elif not told:
                preset.append(name)
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
