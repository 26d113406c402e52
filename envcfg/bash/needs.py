"""What is particular to one job, in bash: data, modules, mounts, settings; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from envcfg.bash.choice import components, is_by_interface, programs, shell_of
from envcfg.bash.diagnosis import planned_lines, taken_names
from envcfg.bash.inside import contract_names
from envcfg.bash.modules import module
from envcfg.bash.quoting import (
    cpu_ranges,
    needed_names,
    quote,
    quote_always,
    quote_word,
    union_of,
    with_defaults,
)
from envcfg.bash.settings import (
    argument_lines,
    bundle_lines,
    export_lines,
    module_lines,
    mount_lines,
    option_lines,
    reason_lines,
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


def render_data(plan: Plan, functions: str, names: Sequence[str]) -> str:
    """Return the data of this job.

    Args:
        plan: of the job.
        functions: of ``render_functions``.
        names: of the modules; what neither they nor *functions* use is left out.
    """
    text = functions + "".join(module(name).text for name in names)
    referred = set(re.findall(r"\$\{?(ENVCFG_\w+)", text))
    lines = [
        f"{name}={quote_always(value)}\n"
        for name, value in _data(plan).items()
        if value and name in referred
    ]
    if plan.masks and "masks" in names:
        lines.append(reason_lines(plan.masks.reason, ""))
        masks = plan.masks.masks
        lines.append(f"ENVCFG_MASKS={','.join(masks)}\n")
        lines.append(f"ENVCFG_MASKS_UNION={union_of(masks)}\n")
        if "ENVCFG_CPUS" in referred:
            lines.append(f"ENVCFG_CPUS={':'.join(map(cpu_ranges, masks))}\n")
    if plan.container and (known := programs(plan.container)):
        words = " ".join(map(quote, known))
        lines.append(f"ENVCFG_RUNTIMES=({words}) # the first that is on PATH\n")
    if "ENVCFG_TAKEN" in referred:
        lines.append(f"ENVCFG_TAKEN=({' '.join(taken_names(plan))})\n")
    if plan.diagnostics.reported:
        lines.append(planned_lines(plan.settings, plan.bundles))
    if plan.preflight:
        asked = " ".join(map(quote, plan.preflight))
        lines.append(f"ENVCFG_PREFLIGHT=({asked})\n")
    if plan.diagnostics.watched:
        lines.append(f"ENVCFG_WATCHER=({' '.join(map(quote, _watcher(plan)))})\n")
    if (log := plan.diagnostics.log_folder) is not None:
        folder = quote_word(with_defaults(log), "--nccl-debug")
        lines.append(f"ENVCFG_LOG={folder} # for NCCL's log, a file per process\n")
    if plan.diagnostics.flight is not None:
        folder = quote_word(with_defaults(plan.diagnostics.flight), "--flight-recorder")
        lines.append(f"ENVCFG_FLIGHT={folder} # for Flight Recorder\n")
    if plan.scratch:
        # Read when the script is sourced: a message there could end the job's shell.
        root = quote_word(with_defaults(plan.scratch.root), "scratch.root")
        lines.append(reason_lines(plan.scratch.reason, ""))
        lines.append(f"ENVCFG_SCRATCH={root} # for node-local caches\n")
        lines.append(_disk(plan.scratch))
        if plan.diagnostics.stage:
            lines += _stage(plan.diagnostics.stage, plan.scratch)
    return "".join(lines)


def _watcher(plan: Plan) -> Iterator[str]:
    """Yield the words of what watches the step, except what only the job knows."""
    asked, expect = plan.diagnostics, plan.expect
    yield from ("envcfg", "check-log", "--no-default", "all")
    yield from ("--watch-step", asked.verify or "off")
    if asked.silence:
        yield f"--on-silence={asked.silence[0]}s={asked.silence[1]}"
    if asked.verify and expect:
        yield from (f"--expect-network={each}" for each in expect.networks)
        if expect.provider:
            yield f"--expect-provider={expect.provider}"
        if expect.gdr:
            yield "--require-gdr"


def _disk(scratch: Scratch) -> str:
    """Return the line that takes the disk of a job that has asked for it; maybe none."""
    if scratch.disk is None:
        return ""
    disk = quote_word(with_defaults(scratch.disk), "scratch.disk")
    tests = [f"-n ${{{name}-}}" for name in needed_names(scratch.disk)]
    tests += [f"-d {disk}", f"-w {disk}"]
    return f"if [[ {' && '.join(tests)} ]]; then ENVCFG_SCRATCH={disk}; fi\n"


def _stage(asked: Sequence[str], scratch: Scratch) -> Iterator[str]:
    """Yield what is copied to the nodes, and what a job must ask for to have a disk."""
    env = next((each for each in asked if each != "image"), "")
    wanted = [f"{name}={value}" for name, value in scratch.disk_request.items()]
    memory = quote_word(with_defaults(scratch.root), "scratch.root")
    path = env.removeprefix("env=")
    if path != env and not path.startswith("/"):
        path = f"./{path}"  # also where its name is env
    hint = " ".join(wanted) or "see the pages of the system"
    yield f"ENVCFG_STAGES_IMAGE={'yes' if 'image' in asked else ''}\n"
    yield f"ENVCFG_STAGES_ENV={quote(path) if path else ''}\n"
    yield f"ENVCFG_DISK_ASKED={quote(hint) if scratch.in_memory else ''}\n"
    yield f"ENVCFG_MEMORY={memory}\n"


def _data(plan: Plan) -> Mapping[str, str]:
    nodes = plan.facts.get("nodes")
    container = plan.container
    meeting = plan.rendezvous.interface if plan.rendezvous else None
    return {
        "ENVCFG_NODES_STATED": nodes.value if nodes else "",
        "ENVCFG_COMPONENTS": components(plan),
        "ENVCFG_RANKS": "" if plan.ranks is None else str(plan.ranks),
        "ENVCFG_AS_SAID": "yes" if plan.as_said else "",
        "ENVCFG_GPUS": str(plan.gpus or ""),
        "ENVCFG_IMAGE": container.image if container else "",
        "ENVCFG_KNOWN": "; ".join(
            f"module {each.action} {each.name}" for each in plan.known_modules
        ),
        "ENVCFG_VERB": container.verb if container else "",
        "ENVCFG_SHELL": shell_of(plan),
        "ENVCFG_IS_FILE": "yes" if container and container.is_file else "",
        "ENVCFG_TESTED": "yes" if any(each.when for each in plan.modules) else "",
        "ENVCFG_LOG_ENDS": "yes" if plan.diagnostics.removes_log else "",
        "ENVCFG_LOG_STAYS": "yes" if plan.diagnostics.nccl_log else "",
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
        chosen = [each for each in plan.modules if bool(each.when) is is_tested]
        if chosen or not is_tested:
            body = module_lines(chosen)
            text += f"{name}() {{\n{body}  envcfg_unloaded\n}}\n\n"
    return text.rstrip("\n") + "\n"


def _mounts(container: Container) -> str:
    body = export_lines(container.exports)
    body += argument_lines(container.arguments)
    body += mount_lines(container.binds)
    if container.stamp:
        body += f"  envcfg_read_image {container.stamp} # when envcfg read it\n"
    return f"envcfg_mounts() {{\n{body or _NOTHING}}}\n"


def _settings(plan: Plan) -> str:
    """Return the function that fills ENVCFG_ARGS, the rank part's arguments.

    What comes later wins: the profile's settings, then what the job has set already and
    stays, then what envcfg itself adds for the features of this step.
    """
    asked, starter = plan.diagnostics, STARTERS[plan.starter]
    names_job = asked.profiled or asked.log_folder or asked.flight or asked.reported
    body = "  envcfg_name_job\n" if names_job else ""
    host = [each for each in plan.settings if each.scope == "host"]
    body += setting_lines(host, "envcfg")
    body += "".join(_preset_lines(plan))
    if plan.handed_on:
        body += f"  envcfg_pass {' '.join(plan.handed_on)}\n"
    if plan.scratch:
        if needed := needed_names(plan.scratch.root):
            body += f"  envcfg_needed scratch.root {' '.join(needed)} || :\n"
        body += '  ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE")\n'
    for is_wanted, line in (
        (is_by_interface(plan), "envcfg_master"),
        (asked.nccl_log is not None, "envcfg_log"),
        (asked.log_folder != asked.nccl_log, "envcfg_verify_log"),
        (asked.flight is not None, "envcfg_flight"),
        (asked.reported, "envcfg_report"),
        (asked.profiled, 'ENVCFG_ARGS+=("ENVCFG_JOB=$ENVCFG_JOB")'),
    ):
        body += f"  {line}\n" if is_wanted else ""
    body += option_lines(starter.own, plan.started)
    for bundle in plan.bundles:
        body += bundle_lines(bundle, starter.bundled[0])
    tested = [case.when for each in plan.settings for case in each.cases]
    if any((*tested, *(option.when for option in plan.agent))):
        body += '  ENVCFG_ARGS+=("ENVCFG_NODES=$ENVCFG_NODES")\n'
    return f"envcfg_settings() {{\n{body or _NOTHING}}}\n"


def _preset_lines(plan: Plan) -> Iterator[str]:
    """Yield what keeps the job's own values: they win over what each task would set."""
    starter = STARTERS[plan.starter]
    inside = {each.name for each in plan.settings if each.scope != "host"}
    own = [
        each.name for each in plan.settings if each.name in inside and not each.force
    ]
    if own:
        yield f"  envcfg_preset 'profile: set in each task' {' '.join(own)}\n"
    preset: list[str] = []
    meeting = ("MASTER_ADDR", "MASTER_PORT") if starter.spans_nodes else ()
    for name in (*meeting, *contract_names(plan)):
        if all(each.name != name for each in plan.settings):
            # The scheduler's own words on the job are nobody's wish for this step.
            told = starter.names.prefix and name.startswith(starter.names.prefix)
            if name == "MASTER_ADDR":
                yield '  envcfg_preset "default: the step\'s first node" MASTER_ADDR\n'
            elif not told:
                preset.append(name)
        elif name not in inside:
            yield f"  ENVCFG_PRESET+='{name} ' # as set above\n"
    if preset:
        yield f"  envcfg_preset '' {' '.join(preset)}\n"
