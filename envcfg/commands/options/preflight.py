"""The options of ``envcfg preflight``, and how a job's script calls it."""

import argparse

from envcfg.commands.options.diagnostics import SPEEDS
from envcfg.commands.options.numbers import within
from envcfg.commands.options.option import Option, Table, write_options
from envcfg.commands.options.step import STEP, Step, step_values
from envcfg.errors import UsageError
from envcfg.launch.plan import Plan

_DIAGNOSTICS = "what the job tells of itself"


def _seconds(flag: str, what: str, default: float, most: float = 3600) -> Option:
    return Option(
        flag,
        f"{what} (default: {default:g})",
        metavar="SECONDS",
        read=within(1, most, "seconds"),
        write=lambda seconds: f"{seconds:g}",
        default=default,
    )


def _same_step() -> Table:
    """Return the options of a step that change what nodes and ranks have."""
    setup = [each for each in STEP[_DIAGNOSTICS] if each.flag == "--setup"]
    kept = {title: each for title, each in STEP.items() if title != _DIAGNOSTICS}
    return {**kept, "what comes first in each task": setup}


# Those of wrap that make the nodes and ranks what they are in the job.
SAME: Table = _same_step()
_REQUIRE = Option(
    "--require",
    "fail, unless NCCL's log proves that traffic takes the fast network",
    choices=SPEEDS,
)
OWN: Table = {
    "what is looked at": (
        _REQUIRE,
        Option("--nodes-only", "the nodes alone, without a collective", kind="switch"),
        Option(
            "--nccl-diagnostics",
            "let NCCL (2.31 or newer) run its own, and pass on what they say",
            kind="switch",
        ),
        _seconds("--start", "for the first node to answer, and to load torch", 120.0),
        _seconds("--patience", "for the others, once the first is as far", 20.0),
        _seconds("--measure", "for what is measured, at most", 20.0, 20),
    ),
}


def hide_others(parser: argparse.ArgumentParser) -> None:
    """Give *parser* the values of the step's options that it does not have."""
    kept = {each.name for options in SAME.values() for each in options}
    parser.set_defaults(
        **{
            each.name: [] if each.kind == "many" else each.default
            for each in STEP[_DIAGNOSTICS]
            if each.name not in kept
        }
    )


def with_preflight(plan: Plan, step: Step) -> Plan:
    """Return *plan* with the command line that looks at the nodes of its job.

    Raises:
        UsageError: it is for several steps.
    """
    table = {**SAME, "": [_REQUIRE]}
    # The command may name the launcher, and how many ranks there are.
    values = {**step_values(step), "launcher": plan.launcher, "ranks": plan.ranks}
    words = write_options(table, values)
    if not plan.command:
        msg = "--preflight goes with a command: several steps need it once"
        hint = "call it before them, with the same options: envcfg preflight"
        raise UsageError(msg, hint=hint)
    return plan._replace(preflight=("envcfg", "preflight", *words))
