"""The options that make a job tell more of itself, or copy files first: of each step."""

from envcfg.core.option import Option, Table, switch
from envcfg.core.values import (
    read_ranks,
    read_silence,
    read_stage,
    read_word,
    write_ranks,
)
from envcfg.launch.diagnostics import PROFILERS
from envcfg.profile.words import format_word, parse_word

SPEEDS = ("fast",)  # that --require can ask for
DIAGNOSTICS: Table = {
    "what the job tells of itself": (
        switch(
            "--report-affinity",
            "each rank says which CPUs it may use and which GPUs it sees, on stderr",
        ),
        Option(
            "--report-environment",
            "rank 0 (or these) writes down what it was started with and what its program "
            "gets, except what looks secret; envcfg environment FILE reads it",
            metavar="N[,N...]",
            kind="maybe",
            alone=(0,),
            read=read_ranks,
            write=write_ranks,
            default=(),
        ),
        switch(
            "--smoke-test",
            "count the GPUs of each node first; where one is missing no rank starts",
        ),
        switch(
            "--preflight",
            "look at nodes and network first, by envcfg preflight; a bad node ends the job",
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
        switch(
            "--nccl-debug-remove",
            "with DIR: remove those files when the step has succeeded",
        ),
        Option(
            "--verify",
            "the job says once which network NCCL really uses, and what ended a step that "
            "failed; stop: end it where that network is proven to be bad",
            metavar="warn|stop",
            kind="maybe",
            alone="warn",
            choices=("warn", "stop"),
        ),
        Option(
            "--on-silence",
            "where nothing was written for this long, as 15m, envcfg hang reports in the "
            "job's output; 15m=stop: and ends the step where a rank holds it up",
            metavar="TIME[=stop]",
            read=read_silence,
            write=lambda each: f"{each[0]}s={each[1]}",
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
            needs_trust=True,
        ),
        Option(
            "--setup",
            "in each task, in the container, before all else: a file to source, or "
            "commands for bash, as in '. /opt/venv/bin/activate'",
            metavar="FILE|CMD",
            default="",
            needs_trust=True,
        ),
    ),
    "what is copied to each node first": (
        Option(
            "--stage",
            "copy it to the disk of each node before any rank starts, and remove it at the "
            "end: image, env (the active environment) or env=PATH (its folder or archive); "
            "may be repeated",
            metavar="WHAT",
            kind="many",
            read=read_stage,
            needs_trust=True,
        ),
    ),
}
