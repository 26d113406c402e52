"""The options of a step: its command, its container and its settings.

Every command that makes such a step takes them: ``wrap``, ``job``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from envcfg.backends import runtimes
from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.characters import joined_lines
from envcfg.common.errors import UsageError
from envcfg.core.diagnostic_options import DIAGNOSTICS
from envcfg.core.option import ALLOW_WRITABLE, Option, Table, number_of, switch
from envcfg.core.option_values import (
    read_binds,
    read_module,
    read_pair,
    read_removal,
    read_setting,
    write_removal,
    write_setting,
)
from envcfg.job.plan.diagnostics import is_path
from envcfg.job.plan.plan import ALLOWABLE

_runs = partial(Option, kind="many", metavar="ARG")
STEP: Table = {
    "what to run, and where": (
        Option(
            "--profile",
            metavar="NAME|FILE",
            variable="ENVCFG_PROFILE",
        ),
        switch(ALLOW_WRITABLE),
        Option("--container", metavar="IMAGE", required=True),
        Option(
            "--runtime",
            "container runtime (default: the first of the profile's that is there): "
            + ", ".join(runtimes.NAMES),
            metavar="NAME",
            choices=("auto", *runtimes.NAMES),
            default="auto",
        ),
        _runs("--runtime-arg"),
        _runs(
            "--bind",
            metavar="SPEC",
            read=read_binds,
            write=lambda binds: ",".join(map(str, binds)),
        ),
        Option(
            "--launcher",
            "launcher (default: the one in the command, or the profile's first): "
            + ", ".join(LAUNCHERS),
            metavar="NAME",
            choices=tuple(LAUNCHERS),
        ),
        _runs("--srun-arg"),
        _runs("--mpiexec-arg"),
        _runs("--flux-arg"),
        Option("--ranks", metavar="N", read=number_of("processes")),
        _runs("--module", metavar="NAME", read=read_module),
        Option("--allow", kind="many", choices=ALLOWABLE, dest="allowed"),
        switch("--no-modules"),
    ),
    "what to set": (
        _runs(
            "--set",
            metavar="NAME=VALUE",
            dest="changes",
            read=read_setting,
            write=write_setting,
        ),
        Option(
            "--unset",
            metavar="NAME",
            kind="many",
            dest="changes",
            read=read_removal,
            write=write_removal,
        ),
        Option(
            "--fact", metavar="NAME=VALUE", kind="many", read=read_pair, write="=".join
        ),
        switch("--no-inspect"),
    ),
    **DIAGNOSTICS,
}


ROWS = [option for options in STEP.values() for option in options]


def check_together(values: Mapping[str, Any]) -> None:
    """Check the *values* of ``STEP``, by name, that depend on other options.

    Raises:
        UsageError: options that do not go together, or commands that bash cannot read.
    """
    for row in ROWS:
        if row.needs and values[row.name]:
            needed, msg, hint = row.needs
            if not values[needed]:
                raise UsageError(msg, hint=hint)
    if values["setup"] and not is_path(values["setup"]):
        _check_bash(values["setup"])


def _check_bash(code: str) -> None:
    """Check the commands with bash, because an open quote would hide later lines."""
    from envcfg.common.child_process import run

    answer = run(("bash", "-n", "-c", f"envcfg_setup() {{\n{code}\n}}"), seconds=5)
    # Without bash here, only the job can tell.
    if answer.exit_code:
        msg = f"--setup: bash cannot read it: {joined_lines(answer.err)}"
        raise UsageError(msg, hint="quote it as one word, or give a file")
