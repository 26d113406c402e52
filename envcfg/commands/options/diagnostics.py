"""The options that make a job tell more of itself, for all commands that make a step."""

from __future__ import annotations

import argparse

from envcfg.commands.options.arguments import read_ranks, read_word, write_ranks
from envcfg.commands.options.option import Option, Table
from envcfg.errors import UsageError
from envcfg.launch.diagnostics import (
    PROFILERS,
    Diagnostics,
    is_path,
    profiler_words,
)
from envcfg.profile.words import format_word, parse_word

SPEEDS = ("fast",)  # that --require can ask for
DIAGNOSTICS: Table = {
    "what the job tells of itself": (
        Option(
            "--report-affinity",
            "each rank says which CPUs it may use and which GPUs it sees, on stderr",
            kind="switch",
        ),
        Option(
            "--report-environment",
            "rank 0 (or these) writes down what it was started with and what its program "
            "gets, but for what looks secret; envcfg environment FILE reads it",
            metavar="N[,N...]",
            kind="maybe",
            alone=(0,),
            read=read_ranks,
            write=write_ranks,
            default=(),
        ),
        Option(
            "--smoke-test",
            "count the GPUs of each node first; where one is missing no rank starts",
            kind="switch",
        ),
        Option(
            "--preflight",
            "look at nodes and network first, by envcfg preflight; a bad node ends the job",
            kind="switch",
        ),
        Option(
            "--require",
            "with --preflight: no program, unless NCCL's log proves the fast network",
            choices=SPEEDS,
        ),
        Option(
            "--nccl-debug",
            "say what check-log reads, in the job's output, or a file per process in DIR",
            metavar="DIR",
            kind="maybe",
            alone=(),
            read=read_word,
            write=format_word,
        ),
        Option(
            "--nccl-debug-remove",
            "with DIR: remove those files when the step has succeeded",
            kind="switch",
        ),
        Option(
            "--flight-recorder",
            "PyTorch keeps each rank's last collectives for envcfg hang, and writes them "
            "in DIR (default: here) when one times out",
            metavar="DIR",
            kind="maybe",
            alone=parse_word("${PWD}"),
            read=read_word,
            write=format_word,
        ),
        Option(
            "--profile-rank",
            "ranks that run under --profiler; its output is named by job and rank",
            metavar="N[,N...]",
            read=read_ranks,
            write=write_ranks,
            default=(),
        ),
        Option("--profiler", "which profiler", choices=PROFILERS),
        Option(
            "--profiler-arg",
            "option for the profiler, as in --profiler-arg=--sample=none; may be repeated",
            metavar="ARG",
            kind="many",
        ),
        Option(
            "--setup",
            "in each task, in the container, before all else: a file to source, or "
            "commands for bash, as in '. /opt/venv/bin/activate'",
            metavar="FILE|CMD",
            default="",
        ),
    )
}


def read_diagnostics(options: argparse.Namespace) -> Diagnostics:
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
        flight=options.flight_recorder,
        removes_log=options.nccl_debug_remove,
        profiled=options.profile_rank,
        profiler=profiler_words(options.profiler, options.profiler_arg)
        if options.profiler
        else (),
        reported=options.report_environment,
        setup=options.setup,
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
