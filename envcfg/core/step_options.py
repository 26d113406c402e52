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
from envcfg.job.plan.diagnostics import (
    PROFILERS,
    Diagnostics,
    is_path,
    profiler_words,
)
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


def read_diagnostics(values: Mapping[str, Any]) -> Diagnostics:
    """Return the diagnostics requested by the *values* of ``STEP``, by name.

    Raises:
        UsageError: options that do not go together, or commands that bash cannot read.
    """
    if bool(values["profile_rank"]) != bool(values["profiler"]):
        msg = "--profile-rank and --profiler go together"
        raise UsageError(msg, hint=f"as in --profile-rank 0 --profiler {PROFILERS[1]}")
    if values["profiler_arg"] and not values["profiler"]:
        msg = "--profiler-arg is given without a --profiler"
        raise UsageError(msg, hint=f"they are: {', '.join(PROFILERS)}")
    if values["nccl_debug_remove"] and not values["nccl_debug"]:
        msg = "--nccl-debug-remove goes with --nccl-debug DIR"
        raise UsageError(msg, hint="in the job's output nothing can be removed")
    if values["require"] and not values["preflight"]:
        msg = "--require goes with --preflight"
        raise UsageError(
            msg, hint="without it, nothing is known before the program runs"
        )
    if values["setup"] and not is_path(values["setup"]):
        _check_bash(values["setup"])
    return Diagnostics(
        affinity=values["report_affinity"],
        smoke_test=values["smoke_test"],
        preflight=values["preflight"],
        nccl=values["nccl_debug"] is not None,
        nccl_log=values["nccl_debug"] or None,
        verify=values["verify"] or ("warn" if values["verify_after"] else ""),
        verify_after=values["verify_after"],
        silence=values["on_silence"],
        flight=values["flight_recorder"],
        removes_log=values["nccl_debug_remove"],
        profiled=values["profile_rank"],
        profiler=profiler_words(values["profiler"], values["profiler_arg"])
        if values["profiler"]
        else (),
        reported=values["report_environment"],
        setup=values["setup"],
        stage=tuple(dict.fromkeys(values["stage"])),
        kept=values["keep_caches"],
    )


def _check_bash(code: str) -> None:
    """Check the commands with bash, because an open quote would hide later lines."""
    from envcfg.common.child_process import run

    answer = run(("bash", "-n", "-c", f"envcfg_setup() {{\n{code}\n}}"), seconds=5)
    # Without bash here, only the job can tell.
    if answer.exit_code:
        msg = f"--setup: bash cannot read it: {joined_lines(answer.err)}"
        raise UsageError(msg, hint="quote it as one word, or give a file")
