"""The starter of a step's tasks, and its options; pure."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.backends.launchers import LAUNCHERS, allowed_launchers, starter_of
from envcfg.backends.runtimes.runtime import Runtime
from envcfg.backends.starters import STARTERS
from envcfg.backends.starters.starter import Starter
from envcfg.common.errors import UsageError
from envcfg.job.plan.applicable_settings import GIVEN, choose_arguments
from envcfg.job.plan.plan import Options
from envcfg.profile.entries import Argument
from envcfg.profile.job_facts import Facts
from envcfg.profile.profile_model import Profile


def choose_launcher(profile: Profile, options: Options) -> tuple[str, Starter]:
    """Return the launcher and the starter of its tasks.

    Raises:
        UsageError: if the profile does not allow it, or its starter cannot start it.
    """
    allowed = allowed_launchers(profile.launchers)
    # The profile's order is its preference, so the first launcher is the default.
    launcher = options.launcher or allowed[0]
    if launcher not in allowed:
        msg = f"profile {profile.name} does not allow the launcher {launcher}"
        raise UsageError(msg, hint=f"it allows: {', '.join(allowed)}")
    starter = STARTERS[starter_of(launcher, profile.launchers)]
    # The message names launchers that work, because the pair of both names is not
    # obvious to users.
    if starter.name not in LAUNCHERS[launcher].starters:
        can = " or ".join(LAUNCHERS[launcher].starters)
        msg = f"launcher {launcher} works by {can}, but profile {profile.name} by "
        msg += starter.name
        names = [
            name
            for name in allowed_launchers(profile.launchers)
            if starter_of(name, profile.launchers) in LAUNCHERS[name].starters
        ]
        raise UsageError(msg, hint=f"choose one of: {', '.join(names)}")
    return launcher, starter


def ranks_per_node(launcher: str, starter: Starter, options: Options) -> int | None:
    """Return the number of ranks per node that the user wants; None leaves it to the
    job.

    Raises:
        UsageError: the user wants several, but the launcher has one task per node.
    """
    program = options.program
    if program and not program.counts_ranks:
        return 1
    # A starter without agents counts tasks, and this program is a single task.
    if program and not starter.starts_agents and not program.ranks:
        msg = f"how many ranks does {program.name} start on each node?"
        raise UsageError(msg, hint="the profile has no GPUs: give --ranks N")
    if not LAUNCHERS[launcher].is_whole or (program and starter.starts_agents):
        return options.ranks
    if program:
        return 1
    if options.ranks not in {None, 1}:
        msg = f"--ranks {options.ranks}, but --launcher {launcher} is one task per node"
        raise UsageError(msg, hint="leave out one of them")
    return 1


def check_starter(
    named_runtimes: Sequence[Runtime], starter: Starter, launcher: str
) -> None:
    """Check that *starter* can start tasks in containers of the runtimes.

    Raises:
        UsageError: it cannot.
    """
    for runtime in named_runtimes:
        if not runtime.goes_with(starter.name):
            by = " or ".join(runtime.starters)
            msg = f"{runtime.name} enters its containers by options of {by}, and launcher "
            msg += f"{launcher} starts no rank by it"
            raise UsageError(
                msg, hint="choose another --runtime, or another --launcher"
            )


def starter_options(
    profile: Profile, options: Options, launcher: str, starter: Starter, facts: Facts
) -> tuple[Argument, ...]:
    """Return the options of the starter's program, the user's last.

    Raises:
        UsageError: the user gave options for another starter, or MPI lacks its PMI.
    """
    # Options for another starter would be lost silently, so they are an error.
    for own, words in options.starter_args.items():
        if words and own != starter.own:
            msg = (
                f"--{own}-arg is given, but {starter.name} starts the tasks, not {own}"
            )
            raise UsageError(msg, hint="drop it, or choose another --launcher")
    if not starter.own:
        return ()
    # NCCL's lines go to the job's output here, and users watch them while the job
    # starts.
    unbuffered = starter.unbuffered if options.nccl_debug == () else ()
    # The user's options come last, because srun takes the last value of a repeated
    # option.
    words = (*unbuffered, *options.starter_args.get(starter.own, ()))
    given_arguments = [Argument(word=word, reason=GIVEN) for word in words]
    # What the user's options decide, even by implication, is not the profile's to set.
    names = {word.partition("=")[0] for word in words}
    decided = names | {starter.implies[name] for name in names & starter.implies.keys()}
    own_arguments = [
        argument
        for argument in choose_arguments(getattr(profile, starter.own), facts)
        if argument.word.partition("=")[0] not in decided
    ]
    arguments = (*own_arguments, *given_arguments)
    record, parts = LAUNCHERS[launcher], library_parts(launcher, options)
    needs_pmi = starter.pmi is not None and (record.needs_pmi or parts == {"MPI"})
    # Without a PMI, each rank of MPI believes that it is alone. The job then runs N
    # times instead of once.
    if needs_pmi and not _names_pmi(arguments, starter):
        msg = f"profile {profile.name} does not say which PMI the ranks of MPI use"
        if not record.needs_pmi:
            msg += f", and the image's {record.library} meets by MPI only"
        hint = (
            "without MPI, as PyTorch with NCCL or RCCL: --launcher srun -- PROGRAM; with "
            "it, srun --mpi=list names what the site has, and the image's MPI must know "
            "it: --srun-arg=--mpi=pmix, or launch.srun in the profile"
        )
        raise UsageError(msg, hint=hint)
    return arguments


def agent_options(
    profile: Profile, options: Options, launcher: str, facts: Facts
) -> tuple[Argument, ...]:
    """Return the options of the program that starts a node's ranks; the user's come
    last."""
    if program := options.program:
        return tuple(Argument(word, program.reason) for word in program.words)
    arguments = [Argument(word=word, reason=GIVEN) for word in options.agent_options]
    if not LAUNCHERS[launcher].own_options:
        return tuple(arguments)
    own = getattr(profile, launcher)
    return (*choose_arguments(own, facts), *arguments)


def library_parts(launcher: str, options: Options) -> set[str]:
    """Return the ways by which ranks of the launcher's library can meet: MPI, Gloo.

    Empty if they are unknown, or if the launcher has no such library.
    """
    prefix = f"{LAUNCHERS[launcher].library}-"
    return {
        part
        for name, (value, _) in options.image_facts.facts.items()
        for part in value.split(", ")
        if name.startswith(prefix) and part in {"MPI", "Gloo"}
    }


def has_contract(
    launcher: str,
    starter: Starter,
    start_arguments: tuple[Argument, ...],
    options: Options,
) -> bool:
    """Return whether ranks need variables for their library; a PMI makes them
    unnecessary.

    Raises:
        UsageError: the image's library needs MPI, and the starter cannot start its ranks.
    """
    record, parts = LAUNCHERS[launcher], library_parts(launcher, options)
    # With PMI, the library gets rank and size from the starter. More variables
    # could contradict it.
    by_pmi = record.may_use_pmi and _names_pmi(start_arguments, starter)
    if parts == {"Gloo"}:  # it does not read what a PMI offers
        by_pmi = False
    elif parts == {"MPI"}:
        by_pmi = True
        if starter.name not in LAUNCHERS["mpi"].starters:
            msg = f"the image's {record.library} has MPI, and no Gloo, and {starter.name} "
            msg += "starts no ranks of MPI"
            hint = f"use an image whose {record.library} is built with Gloo"
            raise UsageError(msg, hint=hint)
    is_told = launcher not in STARTERS and not record.is_agent
    return is_told and not by_pmi


def _names_pmi(start_arguments: tuple[Argument, ...], starter: Starter) -> bool:
    return starter.pmi is not None and any(
        argument.word.startswith(starter.pmi) for argument in start_arguments
    )
