"""The options that make a job tell more of itself, for all commands that make a step."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from envcfg.commands.arguments import rank_list, word
from envcfg.errors import UsageError
from envcfg.launch.diagnostics import (
    PROFILERS,
    Diagnostics,
    is_path,
    profiler_words,
)


def add_diagnostic_options(parser: argparse.ArgumentParser) -> None:
    """Add the group of options."""
    group = parser.add_argument_group("what the job tells of itself")
    group.add_argument(
        "--report-affinity",
        action="store_true",
        help="each rank says which CPUs it may use and which GPUs it sees, on stderr",
    )
    group.add_argument(
        "--smoke-test",
        action="store_true",
        help="count the GPUs of each node first; where one is missing no rank starts",
    )
    group.add_argument(
        "--nccl-debug",
        metavar="DIR",
        nargs="?",
        const=(),
        type=word,
        help="say what check-log reads, in the job's output, or a file per process in DIR",
    )
    group.add_argument(
        "--nccl-debug-remove",
        action="store_true",
        help="with DIR: remove those files when the step has succeeded",
    )
    group.add_argument(
        "--profile-rank",
        metavar="N[,N...]",
        type=rank_list,
        default=(),
        help="ranks that run under --profiler; its output is named by job and rank",
    )
    group.add_argument("--profiler", choices=PROFILERS, help="which profiler")
    group.add_argument(
        "--profiler-arg",
        metavar="ARG",
        action="append",
        default=[],
        help="option for the profiler, as in --profiler-arg=--sample=none; may be repeated",
    )
    group.add_argument(
        "--setup",
        metavar="FILE|CMD",
        default="",
        help="in each task, in the container, before all else: a file to source, or "
        "commands for bash, as in '. /opt/venv/bin/activate'",
    )


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
    if options.setup and not is_path(options.setup):
        _check_bash(options.setup)
    return Diagnostics(
        affinity=options.report_affinity,
        smoke_test=options.smoke_test,
        nccl=options.nccl_debug is not None,
        nccl_log=options.nccl_debug or None,
        removes_log=options.nccl_debug_remove,
        profiled=options.profile_rank,
        profiler=profiler_words(options.profiler, options.profiler_arg)
        if options.profiler
        else (),
        setup=options.setup,
    )


def diagnostic_words(options: argparse.Namespace) -> Iterator[str]:
    """Yield the same options as words of a command line."""
    from envcfg.profile.words import format_word

    for name in ("report_affinity", "smoke_test", "nccl_debug_remove"):
        if getattr(options, name):
            yield f"--{name.replace('_', '-')}"
    if options.nccl_debug is not None:
        folder = format_word(options.nccl_debug)
        yield f"--nccl-debug={folder}" if folder else "--nccl-debug"
    if options.profile_rank:
        yield f"--profile-rank={','.join(str(rank) for rank in options.profile_rank)}"
        yield f"--profiler={options.profiler}"
    yield from (f"--profiler-arg={each}" for each in options.profiler_arg)
    if options.setup:
        yield f"--setup={options.setup}"


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
