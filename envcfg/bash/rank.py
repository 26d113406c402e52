"""The rank part: what each task runs before its program; POSIX shell, pure text."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.bash.pieces import assemble, block, template
from envcfg.bash.quoting import quote, rename
from envcfg.bash.settings import agent_lines, setting_lines
from envcfg.launch.diagnostics import rank_pieces, setup_text
from envcfg.launch.launchers import KINDS
from envcfg.launch.plan import Plan, Planned


def rank_text(plan: Plan) -> str:
    """Return what each task that srun or envcfg starts runs first."""
    pieces: list[str] = [template("rank_core")]
    pieces.append(setup_text(plan.diagnostics))
    pieces.append(template("rank_arguments"))
    pieces += _identity(plan)
    pieces.append(template("rank_folders"))
    if plan.scratch:
        pieces.append(template("rank_cache", flux_blocks(plan, "node")))
    inside = _inside(plan)
    if KINDS[plan.launcher].is_agent:
        pieces += _made_here(plan, [each for each in inside if each.scope == "node"])
        return assemble([*pieces, _agent(plan)])
    pieces += _made_here(plan, inside)
    return assemble([*pieces, *_contract(plan, inside), *_program(plan)])


def worker_text(plan: Plan) -> str:
    """Return what each rank runs first that an agent has started."""
    ranked = [each for each in _inside(plan) if each.scope == "rank"]
    pieces: list[str] = [template("rank_core"), template("rank_worker")]
    pieces.append(template("rank_folders"))
    if ranked:
        pieces.append(setting_lines(ranked))
    pieces += _folders(ranked)
    return assemble([*pieces, *_program(plan)])


def _inside(plan: Plan) -> list[Planned]:
    """Return the settings made inside; what they need of the job goes by other names."""
    names = _handed_on(plan)
    found = []
    for setting in (each for each in plan.settings if each.scope != "host"):
        branches = tuple(
            branch._replace(value=branch.value and rename(branch.value, names))
            for branch in setting.branches
        )
        found.append(setting._replace(branches=branches))
    return found


def _program(plan: Plan) -> list[str]:
    """Return the end of a rank part: own variables go, the program comes."""
    pieces: list[str] = []
    if plan.local_rank_at is not None:
        pieces.append(
            f"envcfg_at={plan.local_rank_at}\n"
            f"envcfg_option={quote(plan.local_rank_option)}\n"
        )
        pieces.append(template("rank_local_rank"))
    pieces += rank_pieces(plan.diagnostics)  # a profiler's words move the program's
    if plan.handed_on:
        pieces.append(f"unset -v {' '.join(_handed_on(plan).values())}\n")
    return [*pieces, template("rank_exec")]


def _handed_on(plan: Plan) -> dict[str, str]:
    """Return the names under which envcfg_pass hands on variables of the job."""
    return {name: f"ENVCFG_REF_{name}" for name in plan.handed_on}


def flux_blocks(plan: Plan, name: str) -> dict[str, str]:
    """Return what a template holds in place of its own block where Flux launches."""
    return {name: block(name, "flux_blocks")} if plan.starter == "flux" else {}


def _identity(plan: Plan) -> list[str]:
    """Return the pieces that say who a task is; envcfg itself tells a local one."""
    if plan.starter == "local":
        return []
    if plan.starter == "flux":
        master = f'  export MASTER_ADDR="$ENVCFG_MASTER_ADDR"{_suffix(plan)}\n'
        return [template("rank_flux", {"master": master})]
    pieces: list[str] = [template("first_node"), _slurm_identity(plan)]
    if not KINDS[plan.launcher].is_agent:
        pieces.append(template("rank_slurm_rank"))
    return pieces


def _slurm_identity(plan: Plan) -> str:
    if plan.rendezvous and plan.rendezvous.interface:
        return template("rank_slurm", {"master": block("master", "rank_interface")})
    master = f'  export MASTER_ADDR="$envcfg_node"{_suffix(plan)}\n'
    return template("rank_slurm", {"master": master})


def _agent(plan: Plan) -> str:
    """Return what starts the ranks of a node; with its options it holds values."""
    blocks = {"options": agent_lines(plan.agent), **_starter_blocks(plan)}
    if plan.has_mode:
        blocks["mode"] = ""  # the options say what accelerate starts
    if plan.starter == "local":
        blocks["local"] = ""
    elif plan.rendezvous and plan.rendezvous.interface:
        blocks["local"] = block("local", "rank_interface_local")
    else:
        blocks["local"] = (
            f'set -- --local-addr="$SLURMD_NODENAME"{_suffix(plan)} "$@"\n'
        )
    return str(template(f"launch_{plan.launcher}", blocks))


def _contract(plan: Plan, inside: Sequence[Planned]) -> list[str]:
    """Return the pieces that tell a rank's library what it reads; settings win."""
    names = plan.contract
    if not names:
        return []
    pieces: list[str] = []
    given = [each.name for each in inside if each.name in names]
    if given:
        names_set = " ".join(given)
        pieces.append(
            f"ENVCFG_PRESET=\"$ENVCFG_PRESET\"'{names_set} ' # as set above\n"
        )
    return [*pieces, template(f"launch_{plan.launcher}", _starter_blocks(plan))]


def _starter_blocks(plan: Plan) -> dict[str, str]:
    """Return what a launcher's template holds where its tasks are not srun's."""
    if plan.starter == "local":
        return {
            name: block(f"local_{name}", "launch_blocks") for name in ("nodes", "meet")
        }
    if plan.starter == "flux":
        return {"nodes": block("flux_nodes", "launch_blocks")}
    return {}


def _suffix(plan: Plan) -> str:
    """Return what follows a node's name in its address, as shell text."""
    suffix = plan.rendezvous.suffix if plan.rendezvous else ""
    return quote(suffix) if suffix else ""


def _made_here(plan: Plan, settings: Sequence[Planned]) -> list[str]:
    """Return the pieces between a task's identity and its program."""
    pieces: list[str] = []
    own = {each.name for each in plan.settings}
    clear = plan.visibility.clear if plan.visibility else ()
    if plan.visibility and (names := [name for name in clear if name not in own]):
        pieces.append(
            f"# One layer of GPU masking: {plan.visibility.variable}.\n"
            f"unset -v {' '.join(names)}\n"
        )
    if settings:
        pieces.append(setting_lines(settings))
    own_scope = [each for each in plan.settings if each.scope == "host"]
    return [*pieces, *_folders([*own_scope, *settings])]


def _folders(settings: Sequence[Planned]) -> list[str]:
    """Return a function, as it collects paths in its own positional parameters."""
    names = [each.name for each in settings if each.directory]
    if not names:
        return []
    lines = "".join(
        f'  envcfg_is_preset {name} || set -- "$@" ${{{name}:+"${name}"}}\n'
        for name in names
    )
    text = (
        "envcfg_make_folders() { # those that the job has not set itself\n"
        f'  set --\n{lines}  envcfg_folders "$@"\n}}\nenvcfg_make_folders\n'
    )
    return [text]
