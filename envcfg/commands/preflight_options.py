"""The options of ``envcfg preflight``."""

import argparse

from envcfg.core.diagnostics import DIAGNOSTICS
from envcfg.core.numbers import within
from envcfg.core.option import Option, Table
from envcfg.core.step import REQUIRE, SAME


def _seconds(flag: str, what: str, default: float, most: float = 3600) -> Option:
    return Option(
        flag,
        f"{what} (default: {default:g})",
        metavar="SECONDS",
        read=within(1, most, "seconds"),
        write=lambda seconds: f"{seconds:g}",
        default=default,
    )


OWN: Table = {
    "what is looked at": (
        REQUIRE,
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
            for options in DIAGNOSTICS.values()
            for each in options
            if each.name not in kept
        }
    )
