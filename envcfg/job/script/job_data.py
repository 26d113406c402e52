"""The lines for one job, in bash: data, modules, mounts, settings; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from envcfg.job.plan.kept_caches import IDENTITY, kept_kinds
from envcfg.job.plan.plan import Container, Options, Plan
from envcfg.job.script import quoting, settings
from envcfg.job.script.diagnostic_lines import planned_lines, setup_text, taken_names
from envcfg.job.script.module_choice import (
    components,
    masks_of,
    programs,
    shell_of,
)
from envcfg.job.script.modules import module
from envcfg.job.script.rank_part import contract_names
from envcfg.profile.profile_model import Scratch

_NOTHING = "  :\n"


def render_functions(plan: Plan) -> str:
    """Return the functions that load modules, mount and set, each with its reasons."""
    text = _settings(plan)
    # The functions are in the order of the calls: modules, mounts, settings. Each
    # text is put before the last.
    if plan.container:
        text = f"{_mounts(plan.container)}\n{text}"
    if plan.modules:
        text = f"{_modules(plan)}\n{text}"
    if plan.preflight:
        words = map(quoting.quote, plan.preflight)
        text += _program("envcfg_run_preflight", words)
    if plan.options.is_watched:
        words = map(quoting.quote, _watcher(plan))
        text += _program("envcfg_run_watcher", [*words, '"$@"'])
    if plan.options.report_environment:
        text += f"\n{planned_lines(plan.settings, plan.bundles)}"
    return text


def _program(name: str, words: Iterable[str]) -> str:
    """Return a bash function that replaces its shell with a program (``exec``)."""
    return f"\n{name}() {{\n  exec {' '.join(words)}\n}}\n"


def render_data(plan: Plan, names: Sequence[str]) -> str:
    """Return the data of this job.

    Args:
        names: the modules; data that none of them reads is left out.
    """
    # Only used data is written, which keeps the script short enough to be read.
    referred = {read for name in names for read in module(name).declared("reads")}
    rows = [
        (f"ENVCFG_{name}={quoting.quote_always(str(value))}", about)
        for name, value, about in _data(plan)
        if value and f"ENVCFG_{name}" in referred
    ]
    lines = [settings.commented(rows, "")]
    # Masks are computed here, because bash arithmetic cannot hold masks of 128
    # cores.
    if known := masks_of(plan):
        lines.append(settings.reason_lines(known.reason, ""))
        masks = known.masks
        lines.append(f"ENVCFG_CPU_MASKS={','.join(masks)}\n")
        union = quoting.union_of(masks)
        lines.append(f"ENVCFG_CPU_MASKS_UNION={union} # cores of all of them\n")
        cpus = ":".join(map(quoting.cpu_ranges, masks))
        lines.append(f"ENVCFG_CPU_LISTS={cpus}\n")
    if "ENVCFG_TAKEN" in referred:
        lines.append(f"ENVCFG_TAKEN='{' '.join(taken_names(plan))}'\n")
    if plan.scratch:
        # The folder is expanded when the script is sourced. An error message there
        # could end the job's shell.
        root = quoting.quote_word(
            quoting.with_defaults(plan.scratch.root), "scratch.root"
        )
        lines.append(settings.reason_lines(plan.scratch.reason, ""))
        lines.append(f"ENVCFG_SCRATCH={root} # for node-local caches\n")
        lines.append(_disk(plan.scratch))
        if plan.options.stage:
            lines += _stage(plan.options.stage, plan.scratch)
    text = "\n" + "".join(lines)
    # An empty value hides a variable of this name in the job's environment.
    empty = [f"{name}=''" for name in sorted(referred) if f"\n{name}=" not in text]
    return f"{text[1:]}\n# Not used by this job.\n{' '.join(empty)}\n"


def _watcher(plan: Plan) -> Iterator[str]:
    """Yield the words of the step's watcher, except values known only in the job."""
    options, expect = plan.options, plan.profile.expect
    yield from ("envcfg", "check-log", "--no-default", "all")
    # --no-default ignores the user's files, because the watcher must act only on
    # this plan.
    yield from ("--watch-step", options.verify or "off")
    if options.verify and options.verify_after is not None:
        after = options.verify_after
        yield f"--verify-after={f'{after}s' if after else 'never'}"
    if options.on_silence:
        yield "--on-silence={}s={}".format(*options.on_silence)
    # Without expectations in the profile, verification still reports the network
    # but cannot fail it.
    if options.verify and expect:
        yield from (f"--expect-network={network}" for network in expect.networks)
        if expect.provider:
            yield f"--expect-provider={expect.provider}"
        if expect.gdr:
            yield "--require-gdr"


def _disk(scratch: Scratch) -> str:
    """Return the line that uses the job's local disk; empty if the profile has none."""
    if scratch.disk is None:
        return ""
    disk = quoting.quote_word(quoting.with_defaults(scratch.disk), "scratch.disk")
    # The disk counts only if it exists and is writable; otherwise the memory folder
    # stays in use.
    names = quoting.needed_names(scratch.disk)
    tests = [f'[ -n "${{{name}-}}" ]' for name in names]
    tests += [f"[ -d {disk} ]", f"[ -w {disk} ]"]
    return f"if {' && '.join(tests)}; then ENVCFG_SCRATCH={disk}; fi\n"


def _stage(parts: Sequence[str], scratch: Scratch) -> Iterator[str]:
    """Yield the parts to copy to the nodes, and the request for a local disk."""
    env = next((part for part in parts if part != "image"), "")
    disk_request = [f"{name}={value}" for name, value in scratch.disk_request.items()]
    memory = quoting.quote_word(quoting.with_defaults(scratch.root), "scratch.root")
    path = env.removeprefix("env=")
    if path != env and not path.startswith("/"):
        path = f"./{path}"  # even if the folder is named env
    hint = " ".join(disk_request) or "see the pages of the system"
    yield f"ENVCFG_STAGES_IMAGE={'yes' if 'image' in parts else ''}\n"
    yield f"ENVCFG_STAGES_ENV={quoting.quote(path) if path else ''}\n"
    yield f"ENVCFG_DISK_ASKED={quoting.quote(hint) if scratch.in_memory else ''}\n"
    yield f"ENVCFG_MEMORY={memory}\n"


def _data(plan: Plan) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and comment of the job's data; a missing part has no value."""
    nodes, container = plan.facts.get("nodes"), plan.container
    options, profile = plan.options, plan.profile
    modules = (f"module {module.action} {module.name}" for module in plan.known_modules)
    keeps, is_file = options.keeps_launch_line, container and container.is_file
    ends = "nccl_debug_remove" in options.switches
    yield "NODES_STATED", nodes and nodes.value, "by --fact nodes=N"
    yield "COMPONENTS", components(plan), "parts of a heterogeneous job"
    yield "RANKS", plan.ranks, "on each node"
    yield "AS_SAID", keeps and "yes", "the launch line stays as it is"
    yield "GPUS", profile.gpus, "on each node"
    if (node := profile.node) and node.cores_per_gpu:
        yield "NODE_CORES", node.cores_per_gpu * node.gpus, "of a node, for jobs"
    if container:
        names = " ".join(programs(container))
        yield "IMAGE", container.image, ""
        yield "IMAGE_IS_FILE", is_file and "yes", "the job must be able to read it"
        yield "RUNTIMES", names, "the first that is on PATH enters the container"
        yield "RUNTIME_COMMAND", container.verb, "by this command of the runtime"
    yield "RUNTIME_MODULES", "; ".join(modules), "to load if no runtime is on PATH"
    yield "RANK_SHELL", shell_of(plan), "starts the program in each rank"
    yield "LOG_ENDS", ends and "yes", "of a step that succeeds"
    yield "LOG_STAYS", options.nccl_debug and "yes", "by --nccl-debug"
    if meeting := profile.rendezvous:
        about = "of the first node, where ranks meet"
        yield "INTERFACE", meeting.interface, about
        yield "SUFFIX", meeting.suffix, "follows a node's name in its address"
    yield "PROFILE", profile.name, "for the report of the environment"
    reported = " ".join(map(str, options.report_environment))
    yield "REPORTED", reported, "ranks that report their environment"
    if profile.detect:
        yield "CLUSTERS", " ".join(profile.detect.clusters), "where this job may run"
    yield "ALLOWED", " ".join(options.allowed), "by --allow"
    yield "SETUP", setup_text(options.setup), "by --setup"
    if options.keep_caches is not None:
        versions = [
            f"{name}={plan.facts[name].value}"
            for name in IDENTITY
            if name in plan.facts
        ]
        about = "caches, their folders, and MiB at most"
        yield "KINDS", " ".join(kept_kinds(plan.settings)), about
        yield "VERSIONS", " ".join(versions), "of the software"


def _modules(plan: Plan) -> str:
    """Return the functions that load modules, before anything is searched or counted."""
    text = ""
    for name, is_tested in (("envcfg_modules", False), ("envcfg_tested_modules", True)):
        modules = [module for module in plan.modules if bool(module.when) is is_tested]
        if modules or not is_tested:
            body = settings.module_lines(modules)
            about = "for the number of nodes" if is_tested else "for the step"
            text += f"# Modules {about}.\n{name}() {{\n{body or _NOTHING}}}\n\n"
    return text.rstrip("\n") + "\n"


def _mounts(container: Container) -> str:
    body = settings.container_lines(container)
    return (
        "# Binds; envcfg_bind_if: only if the node has the path.\nenvcfg_mounts() {\n"
        f"{body or _NOTHING}}}\n"
    )


def _settings(plan: Plan) -> str:
    """Return the function that fills ENVCFG_ARGS, the rank part's arguments.

    Later lines win: the profile's settings, then values that the job has set and that
    stay, then the values that envcfg adds for the features of this step.
    """
    # Settings of the host scope are set outside; the others travel to the rank
    # part.
    host = [setting for setting in plan.settings if setting.scope == "host"]
    body = settings.setting_lines(host, is_host=True)
    body += "".join(_preset_lines(plan))
    if plan.handed_on:
        body += f"  envcfg_pass {' '.join(plan.handed_on)}\n"
    if plan.scratch and (needed := quoting.needed_names(plan.scratch.root)):
        body += f"  envcfg_needed scratch.root {' '.join(needed)} || :\n"
    body += "".join(_folder_lines(plan.options))
    body += settings.option_lines(plan.starter_options)
    for bundle in plan.bundles:
        body += settings.bundle_lines(bundle, plan.starter.bundled[0])
    return (
        "# Variables; envcfg_set: unless the job exports its own.\nenvcfg_settings() {\n"
        f"{body or _NOTHING}}}\n"
    )


def _folder_lines(options: Options) -> Iterator[str]:
    """Yield the lines that set the folders of a step's files.

    The step sets them when it starts, because values with PWD must agree with them.
    """
    for name, option, folder in (
        ("ENVCFG_LOG", "--nccl-debug", options.log_folder),
        ("ENVCFG_FLIGHT", "--flight-recorder", options.flight_recorder),
        ("ENVCFG_KEPT", "--keep-caches", options.keep_caches),
    ):
        if folder is not None:
            word = quoting.quote_word(quoting.with_defaults(folder), option)
            yield f"  {name}={word}\n"


def _preset_lines(plan: Plan) -> Iterator[str]:
    """Yield the lines that keep the job's own values, because they override settings."""
    starter = plan.starter
    inside = {setting.name for setting in plan.settings if setting.scope != "host"}
    # A forced setting overrides the job's value, so there is no value to keep.
    own = [
        setting.name
        for setting in plan.settings
        if setting.name in inside and not setting.force
    ]
    if own:
        yield "  # A value that the job exports itself wins over the profile's.\n"
        yield f"  envcfg_keep_exported 'profile: set in each task' {' '.join(own)}\n"
    preset: list[str] = []
    meeting = ("MASTER_ADDR", "MASTER_PORT") if starter.spans_nodes else ()
    for name in (*meeting, *contract_names(plan)):
        if all(setting.name != name for setting in plan.settings):
            # The scheduler's variables describe the job. The user did not set them
            # for this step.
            is_identity = starter.names.prefix and name.startswith(starter.names.prefix)
            if name == "MASTER_ADDR":
                yield "  # Also keep the job's own node and port where ranks meet.\n"
                default = "default: the step's first node"
                yield f'  envcfg_keep_exported "{default}" MASTER_ADDR\n'
            elif not is_identity:
                preset.append(name)
        elif name not in inside:
            yield "  # Ranks keep the value that is set above.\n"
            yield f"  ENVCFG_PRESET+='{name} '\n"
    if preset:
        yield f"  envcfg_keep_exported quietly {' '.join(preset)}\n"
    if plan.visibility and plan.visibility.numbers:
        names = {setting.name for setting in plan.settings}
        if masks := [mask for mask in plan.visibility.inner if mask not in names]:
            yield f"  envcfg_own_masks {' '.join(masks)}\n"
