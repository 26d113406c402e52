"""From a plan to the bash that does it: host part, rank part, launch line; pure.

Same plan, same text. The size does not depend on the number of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from envcfg import __version__
from envcfg.bash.limits import checked_part
from envcfg.bash.pieces import assemble, heredoc, template
from envcfg.bash.quoting import (
    quote,
    quote_always,
    quote_word,
    with_defaults,
)
from envcfg.bash.rank import flux_blocks, rank_text, worker_text
from envcfg.bash.settings import (
    bundle_lines,
    mount_lines,
    option_lines,
    setting_lines,
)
from envcfg.launch.launchers import KINDS
from envcfg.launch.plan import Container, Plan
from envcfg.mark import marked
from envcfg.profile.words import quote_comment

_SHELLCHECK = (
    "# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand\n"
)
_FOR_USERS = ("envcfg_run", "envcfg_end")


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


def render_exec_line(plan: Plan) -> str:
    """Return the launch line; what only the job can fill in stands as a variable."""
    words = []
    if plan.starter == "flux":
        words += ["flux", "run", "--exclusive", '"${ENVCFG_FLUX[@]}"']
    elif plan.starter == "srun":
        words += ["srun", "--kill-on-bad-exit=1", "--export=ALL", '"${ENVCFG_SRUN[@]}"']
        words += [quote(each.spec) for each in plan.srun]
        words += [
            f"--network={value}" for each in plan.bundles for value in each.network
        ]
        words += [quote(option) for each in plan.bundles for option in each.srun]
    if plan.container:
        words += [plan.container.runtimes[0], plan.container.verb]
        words += [quote(each.spec) for each in plan.container.arguments]
        for bind in plan.container.binds:
            words += ["--bind", quote(bind.spec)]
        words.append(quote(plan.container.image))
    words += [
        _shell(plan),
        "-c",
        '"$ENVCFG_RANK"',
        "envcfg-rank",
        '"${ENVCFG_ARGS[@]}"',
    ]
    return " ".join((*words, "--", *(quote(word) for word in plan.command)))


def _header(plan: Plan, command_line: Sequence[str]) -> str:
    made_by = quote_comment(" ".join(quote(word) for word in command_line))
    return (
        f"# envcfg {__version__}, profile {quote_comment(plan.profile)} "
        f"(sha256 {plan.profile_hash[:16]})\n"
        f"# made by: {made_by}\n"
        "# Source it in a batch script, evaluate it, run it, submit it: all the same.\n"
        "# It needs bash 4.4 and, on the compute nodes, neither envcfg nor Python.\n"
    )


def _body(plan: Plan) -> list[str]:
    pieces = [template("head_aliases"), _job(plan), _rank_parts(plan)]
    return [*pieces, *_host_functions(plan), *_tail(plan)]


def _job(plan: Plan) -> str:
    """Return what is particular to this job: data, settings, mounts."""
    kind = KINDS[plan.launcher]
    lines = ["# --- What this job needs " + "-" * 59 + "\n\n"]
    data = {
        "ENVCFG_NODES_STATED": plan.facts["nodes"].value
        if "nodes" in plan.facts
        else "",
        "ENVCFG_RANKS": "" if plan.ranks is None else str(plan.ranks),
    }
    asked = plan.diagnostics
    data["ENVCFG_SHELL"] = _shell(plan)
    by_gpus = plan.starter == "flux" or kind.is_agent or asked.smoke_test
    if plan.starter != "local" and by_gpus:
        data["ENVCFG_GPUS"] = str(plan.gpus or "")
    if plan.container:
        data["ENVCFG_IMAGE"] = plan.container.image
        data["ENVCFG_IMAGE_IS_FILE"] = "yes" if plan.container.is_file else ""
        data["ENVCFG_VERB"] = plan.container.verb
    if plan.masks:
        data["ENVCFG_MASKS"] = ",".join(plan.masks.masks)
        data["ENVCFG_MASKS_UNION"] = _union(plan.masks.masks)
    if plan.rendezvous and plan.rendezvous.interface:
        data["ENVCFG_INTERFACE"] = plan.rendezvous.interface
    lines += [f"{name}={quote_always(value)}\n" for name, value in data.items()]
    if plan.container:
        names = " ".join(quote(name) for name in plan.container.runtimes)
        lines.append(f"ENVCFG_RUNTIMES=({names}) # the first that is on PATH\n")
        lines.append(f"\n{_mounts(plan.container)}")
    lines.append(f"\n{_settings(plan)}")
    if asked.nccl_log is not None:
        folder = quote_word(with_defaults(asked.nccl_log), "--nccl-debug")
        lines.append(f"\nENVCFG_LOG={folder} # for NCCL's log, a file per process\n")
    if plan.scratch:
        # Read when the script is sourced: a message there could end the job's shell.
        root = quote_word(with_defaults(plan.scratch.root), "scratch.root")
        lines.append(f"\nENVCFG_SCRATCH={root} # for node-local caches\n")
    return "".join(lines)


def _mounts(container: Container) -> str:
    arguments = mount_lines("envcfg_argument", container.arguments, "  ")
    binds = mount_lines("envcfg_bind", container.binds, "  ")
    return f"envcfg_mounts() {{\n{arguments}{binds}  :\n}}\n"


def _settings(plan: Plan) -> str:
    """Return the function that fills ENVCFG_ARGS, the rank part's arguments."""
    asked = plan.diagnostics
    body = "  envcfg_name_job\n" if asked.profiled or asked.nccl_log else ""
    body += setting_lines(
        [each for each in plan.settings if each.scope == "host"], "  "
    )
    inside = {each.name for each in plan.settings if each.scope != "host"}
    preset = [
        each.name for each in plan.settings if each.name in inside and not each.force
    ]
    meeting = () if plan.starter == "local" else ("MASTER_ADDR", "MASTER_PORT")
    for name in (*meeting, *plan.contract):
        if all(each.name != name for each in plan.settings):
            # Slurm's own words on the job are nobody's wish for this step.
            preset += [] if name.startswith("SLURM_") else [name]
        elif name not in inside:
            body += f"  ENVCFG_PRESET+='{name} ' # as set above\n"
    if preset:
        body += f"  envcfg_preset {' '.join(preset)}\n"
    if plan.handed_on:
        body += f"  envcfg_pass {' '.join(plan.handed_on)}\n"
    if plan.scratch:
        body += '  ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE")\n'
    if plan.rendezvous and plan.rendezvous.interface and plan.starter != "local":
        body += "  envcfg_master\n"
    if plan.diagnostics.nccl_log is not None:
        body += "  envcfg_log\n"
    if plan.diagnostics.profiled:
        body += '  ENVCFG_ARGS+=("ENVCFG_JOB=$ENVCFG_JOB")\n'
    body += option_lines(plan.srun, "  ")
    if any(bundle.network for bundle in plan.bundles):
        body += "  ENVCFG_NETWORK=${SLURM_NETWORK-}\n"
    body += "".join(bundle_lines(each, "  ") for each in plan.bundles)
    tested = [branch.tests for each in plan.settings for branch in each.branches]
    if any((*tested, *(option.tests for option in plan.agent))):
        body += '  ENVCFG_ARGS+=("ENVCFG_NODES=$ENVCFG_NODES")\n'
    return f"envcfg_settings() {{\n{body}  :\n}}\n"


def _rank_parts(plan: Plan) -> str:
    parts = [
        "# --- What each rank does first, inside the container " + "-" * 31 + "\n\n",
        heredoc("ENVCFG_RANK", checked_part(rank_text(plan))),
    ]
    if KINDS[plan.launcher].is_agent:
        worker = checked_part(worker_text(plan), "ENVCFG_WORKER")
        parts.append(f"\n{heredoc('ENVCFG_WORKER', worker)}")
    if plan.starter != "local":
        parts.append(f"\n{heredoc('ENVCFG_TASK', _task(plan))}")
    if plan.diagnostics.smoke_test:
        parts.append(f"\n{heredoc('ENVCFG_SMOKE', template('smoke_node'))}")
    return "".join(parts)


def _task(plan: Plan) -> str:
    return template("task", flux_blocks(plan, "names"))


def _host_functions(plan: Plan) -> list[str]:
    asked = plan.diagnostics
    core = {
        name: ""
        for name, needed in (
            ("end", plan.scratch),
            ("smoke", asked.smoke_test),
            ("log", asked.removes_log),
            ("size", not plan.command),
            ("shrink", not plan.command),
        )
        if not needed
    }
    names = ["container" if plan.container else "bare"]
    by_interface = plan.rendezvous is not None and plan.rendezvous.interface
    is_agent = KINDS[plan.launcher].is_agent
    if plan.starter == "local":
        names += ["local", "local_agent" if is_agent else "local_ranks"]
    elif plan.starter == "flux":
        names += ["flux", "is_clean"]
        names += ["flux_interface"] if by_interface else []
    else:
        names += ["slurm", "is_clean", "srun_agent" if is_agent else "srun"]
        names.append("pin" if plan.masks else "unpinned")
        names += ["first_node", "interface"] if by_interface else []
    pieces: list[str] = [
        template("core", core),
        template("signals"),
        *(template(name, core) for name in names),
    ]
    if asked.smoke_test:
        pieces.append(template("smoke"))
    if asked.nccl_log is not None:
        pieces.append(template("nccl_log"))
    if plan.scratch:
        pieces.append(template("clean", flux_blocks(plan, "remove")))
    return pieces


def _tail(plan: Plan) -> list[str]:
    pieces = ["# --- Now do it " + "-" * 69 + "\n", template("tail_aliases")]
    if plan.scratch:
        pieces.append(template("session", flux_blocks(plan, "job")))
    if plan.command:
        # What looks like an assignment would be one under "set -k", but not in quotes.
        words = (quote_always(w) if "=" in w else quote(w) for w in plan.command)
        return [*pieces, f"envcfg_main {' '.join(words)}\n"]
    return [*pieces, template("tail_trap" if plan.scratch else "tail_steps")]


def _shell(plan: Plan) -> str:
    """Return the shell of the rank part; what --setup gives may be written for bash."""
    return "bash" if plan.diagnostics.setup else "/bin/sh"


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
