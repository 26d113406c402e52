"""The options of each step that make a job report more, or copy files first."""

from functools import partial

from envcfg.core.option import Option, Table, switch
from envcfg.core.option_values import (
    read_after,
    read_ranks,
    read_silence,
    read_stage,
    read_word,
    write_after,
    write_ranks,
)
from envcfg.job.plan.diagnostics import PROFILERS
from envcfg.profile.words import format_word, parse_word

SPEEDS = ("fast",)  # values of --require
KEPT = "${HOME}/.cache/envcfg/kept"  # the folder of --keep-caches alone
_ranks = partial(
    Option, metavar="N[,N...]", read=read_ranks, write=write_ranks, default=()
)
_folder = partial(
    Option, metavar="DIR", kind="maybe", read=read_word, write=format_word
)
_TOGETHER = (
    "--profile-rank and --profiler go together",
    f"as in --profile-rank 0 --profiler {PROFILERS[1]}",
)
DIAGNOSTICS: Table = {
    "what the job says about itself": (
        switch(
            "--report-affinity",
            "each rank prints its CPUs and GPUs on stderr",
            module="affinity",
        ),
        _ranks("--report-environment", kind="maybe", alone=(0,)),
        switch(
            "--smoke-test",
            "count the GPUs of each node first; if one is missing, no rank starts",
            module="smoke",
        ),
        switch(
            "--preflight",
            "check nodes and network first, with envcfg preflight; a bad node ends the job",
            module="preflight",
        ),
        Option(
            "--require",
            choices=SPEEDS,
            needs=(
                "preflight",
                "--require goes with --preflight",
                "without it, nothing is known before the program runs",
            ),
        ),
        _folder("--nccl-debug", alone=()),
        switch(
            "--nccl-debug-remove",
            needs=(
                "nccl_debug",
                "--nccl-debug-remove goes with --nccl-debug DIR",
                "in the job's output nothing can be removed",
            ),
        ),
        Option(
            "--verify",
            metavar="warn|stop",
            kind="maybe",
            alone="warn",
            choices=("warn", "stop"),
        ),
        Option(
            "--verify-after",
            metavar="TIME",
            read=read_after,
            write=write_after,
        ),
        Option(
            "--on-silence",
            metavar="TIME[=stop]",
            read=read_silence,
            write=lambda pair: f"{pair[0]}s={pair[1]}",
        ),
        _folder("--flight-recorder", alone=parse_word("${PWD}")),
        _ranks("--profile-rank", needs=("profiler", *_TOGETHER)),
        Option("--profiler", choices=PROFILERS, needs=("profile_rank", *_TOGETHER)),
        Option(
            "--profiler-arg",
            metavar="ARG",
            kind="many",
            needs=(
                "profiler",
                "--profiler-arg is given without a --profiler",
                f"they are: {', '.join(PROFILERS)}",
            ),
        ),
        Option("--setup", metavar="FILE|CMD", default=""),
    ),
    "what is copied to each node first": (
        Option("--stage", metavar="WHAT", kind="many", read=read_stage),
        _folder("--keep-caches", alone=parse_word(KEPT)),
    ),
}
