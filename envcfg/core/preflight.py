"""How a job's script calls ``envcfg preflight``: with the options of its own step."""

from envcfg.core.diagnostics import DIAGNOSTICS, SPEEDS
from envcfg.core.option import Option, Table, write_options
from envcfg.core.step import Step, step_values
from envcfg.core.step_options import STEP
from envcfg.errors import UsageError
from envcfg.launch.plan import Plan

# Those of wrap that make the nodes and ranks what they are in the job.
SAME: Table = {
    **{title: each for title, each in STEP.items() if title not in DIAGNOSTICS},
    "what comes first in each task": [
        each
        for options in DIAGNOSTICS.values()
        for each in options
        if each.flag == "--setup"
    ],
}
REQUIRE = Option(
    "--require",
    "fail, unless NCCL's log proves that traffic takes the fast network",
    choices=SPEEDS,
)


def with_preflight(plan: Plan, step: Step) -> Plan:
    """Return *plan* with the command line that looks at the nodes of its job.

    Raises:
        UsageError: it is for several steps.
    """
    table = {**SAME, "": [REQUIRE]}
    # The command may name the launcher, and how many ranks there are.
    values = {**step_values(step), "launcher": plan.launcher, "ranks": plan.ranks}
    words = write_options(table, values)
    if not plan.command:
        msg = "--preflight goes with a command: several steps need it once"
        hint = "call it before them, with the same options: envcfg preflight"
        raise UsageError(msg, hint=hint)
    return plan._replace(preflight=("envcfg", "preflight", *words))
