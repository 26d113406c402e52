"""The options that say what a step runs, in what, and with which settings.

Every command that makes such a step takes them: ``wrap``, ``job``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from envcfg import runtimes
from envcfg.bind import Bind
from envcfg.core.diagnostics import DIAGNOSTICS
from envcfg.core.option import Option, Table, number_of, switch
from envcfg.core.values import (
    Change,
    read_binds,
    read_module,
    read_pair,
    read_removal,
    read_setting,
    write_removal,
    write_setting,
)
from envcfg.errors import UsageError
from envcfg.launch.diagnostics import (
    PROFILERS,
    Diagnostics,
    is_path,
    profiler_words,
)
from envcfg.launch.plan import ALLOWABLE, Allowed
from envcfg.launchers import LAUNCHERS
from envcfg.profile.words import Word

STEP: Table = {
    "what to run, and where": (
        Option(
            "--profile",
            "the system, as in lumi-g or builtin:lumi-g (default: the one detected here)",
            metavar="NAME|FILE",
            variable="ENVCFG_PROFILE",
        ),
        Option(
            "--container",
            "image file or URI; none: no container",
            metavar="IMAGE",
            required=True,
            needs_trust=True,
        ),
        Option(
            "--runtime",
            "container runtime (default: the first of the profile's that is there): "
            + ", ".join(runtimes.NAMES),
            metavar="NAME",
            choices=("auto", *runtimes.NAMES),
            default="auto",
        ),
        Option(
            "--runtime-arg",
            "argument for the runtime, as in --runtime-arg=--nv; may be repeated",
            metavar="ARG",
            kind="many",
            needs_trust=True,
        ),
        Option(
            "--bind",
            "SOURCE[:TARGET[:OPTIONS]]; may be repeated",
            metavar="SPEC",
            kind="many",
            read=read_binds,
            write=lambda binds: ",".join(map(str, binds)),
            needs_trust=True,
        ),
        Option(
            "--launcher",
            "how ranks start (default: as the command shows, or the profile's first): "
            + ", ".join(LAUNCHERS),
            metavar="NAME",
            choices=tuple(LAUNCHERS),
        ),
        Option(
            "--srun-arg",
            "option for srun, as in --srun-arg=--mpi=pmix; may be repeated",
            metavar="ARG",
            kind="many",
            needs_trust=True,
        ),
        Option(
            "--mpiexec-arg",
            "the same for mpiexec in a PBS job, as in --mpiexec-arg=--no-vni",
            metavar="ARG",
            kind="many",
            needs_trust=True,
        ),
        Option(
            "--flux-arg",
            "the same for flux run, as in --flux-arg=--label-io",
            metavar="ARG",
            kind="many",
            needs_trust=True,
        ),
        Option(
            "--ranks",
            "processes per node (default: as the job says, else one per GPU; local: 1)",
            metavar="N",
            read=number_of("processes"),
        ),
        Option(
            "--module",
            "load a module of your own, after those of the profile; may be repeated",
            metavar="NAME",
            kind="many",
            read=read_module,
            needs_trust=True,
        ),
        Option(
            "--allow",
            "run also where a script stops: as one of several tasks, with idle nodes, on "
            "another cluster, with the loopback to meet at; may be repeated",
            kind="many",
            choices=ALLOWABLE,
            dest="allowed",
        ),
        switch("--no-modules", "load none of the profile's modules"),
    ),
    "what to set": (
        Option(
            "--set",
            "set a variable, whatever profile and job say",
            metavar="NAME=VALUE",
            kind="many",
            dest="changes",
            read=read_setting,
            write=write_setting,
            needs_trust=True,
        ),
        Option(
            "--unset",
            "take a variable from the program's environment",
            metavar="NAME",
            kind="many",
            dest="changes",
            read=read_removal,
            write=write_removal,
        ),
        Option(
            "--fact",
            "state what a condition asks for, as in rocm=6.2.4",
            metavar="NAME=VALUE",
            kind="many",
            read=read_pair,
            write="=".join,
        ),
        switch(
            "--no-inspect", "do not read facts in the image: state them, or do without"
        ),
    ),
    **DIAGNOSTICS,
}


class StepOptions(NamedTuple):
    """The values of all options of ``STEP``, by name, as they were read."""

    container: str
    profile: str | None
    runtime: str
    runtime_arg: Sequence[str]
    bind: Sequence[tuple[Bind, ...]]
    launcher: str | None
    srun_arg: Sequence[str]
    mpiexec_arg: Sequence[str]
    flux_arg: Sequence[str]
    ranks: int | None
    module: Sequence[str]
    allowed: Sequence[Allowed]
    no_modules: bool
    changes: Sequence[Change]
    fact: Sequence[tuple[str, str]]
    no_inspect: bool
    report_affinity: bool
    report_environment: tuple[int, ...]
    smoke_test: bool
    preflight: bool
    require: str | None
    nccl_debug: Word | None
    nccl_debug_remove: bool
    verify: str | None
    on_silence: tuple[int, str] | None
    flight_recorder: Word | None
    profile_rank: tuple[int, ...]
    profiler: str | None
    profiler_arg: Sequence[str]
    setup: str
    stage: Sequence[str]


def step_options(values: Mapping[str, Any]) -> StepOptions:
    """Return those of *values*, by name, that are a step's."""
    return StepOptions(**{name: values[name] for name in StepOptions._fields})


def read_diagnostics(options: StepOptions) -> Diagnostics:
    """Return what was asked for.

    Raises:
        UsageError: options that do not go together, or commands that bash cannot read.
    """
    if bool(options.profile_rank) != bool(options.profiler):
        msg = "--profile-rank and --profiler go together"
        raise UsageError(msg, hint=f"as in --profile-rank 0 --profiler {PROFILERS[1]}")
    if options.profiler_arg and not options.profiler:
        msg = "--profiler-arg is given without a --profiler"
        raise UsageError(msg, hint=f"they are: {', '.join(PROFILERS)}")
    if options.nccl_debug_remove and not options.nccl_debug:
        msg = "--nccl-debug-remove goes with --nccl-debug DIR"
        raise UsageError(msg, hint="in the job's output nothing can be removed")
    if options.require and not options.preflight:
        msg = "--require goes with --preflight"
        raise UsageError(
            msg, hint="without it, nothing is known before the program runs"
        )
    if options.setup and not is_path(options.setup):
        _check_bash(options.setup)
    return Diagnostics(
        affinity=options.report_affinity,
        smoke_test=options.smoke_test,
        preflight=options.preflight,
        nccl=options.nccl_debug is not None,
        nccl_log=options.nccl_debug or None,
        verify=options.verify or "",
        silence=options.on_silence,
        flight=options.flight_recorder,
        removes_log=options.nccl_debug_remove,
        profiled=options.profile_rank,
        profiler=profiler_words(options.profiler, options.profiler_arg)
        if options.profiler
        else (),
        reported=options.report_environment,
        setup=options.setup,
        stage=tuple(dict.fromkeys(options.stage)),
    )


def _check_bash(code: str) -> None:
    """Let bash read the commands, as an open quote would swallow the script's own."""
    import subprocess

    try:
        done = subprocess.run(
            ["/usr/bin/env", "bash", "-n", "-c", f"envcfg_setup() {{\n{code}\n}}"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return  # no bash here: the job will say it
    if done.returncode != 0:
        msg = f"--setup: bash cannot read it: {done.stderr.strip().splitlines()[0]}"
        raise UsageError(msg, hint="quote it as one word, or give a file")
