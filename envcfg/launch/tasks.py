"""Who starts the tasks of a step, and with which options; pure."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.errors import UsageError
from envcfg.launch.choose import GIVEN, choose_arguments
from envcfg.launch.diagnostics import says_log
from envcfg.launch.plan import Options
from envcfg.launchers import LAUNCHERS, allowed_launchers, starter_of
from envcfg.profile.entries import Argument
from envcfg.profile.facts import Facts
from envcfg.profile.model import Profile
from envcfg.runtimes.model import Runtime
from envcfg.starters import STARTERS


def choose_launcher(profile: Profile, options: Options) -> tuple[str, str]:
    """Return the launcher and the starter of its tasks.

    Raises:
        UsageError: if the profile does not allow it, or its starter cannot start it.
    """
    allowed = allowed_launchers(profile.launchers)
    launcher = options.launcher or allowed[0]
    if launcher not in allowed:
        msg = f"profile {profile.name} does not allow the launcher {launcher}"
        raise UsageError(msg, hint=f"it allows: {', '.join(allowed)}")
    starter = starter_of(launcher, profile.launchers)
    if starter not in LAUNCHERS[launcher].starters:
        can = " or ".join(LAUNCHERS[launcher].starters)
        msg = f"launcher {launcher} works by {can}, but profile {profile.name} by {starter}"
        names = [
            each
            for each in allowed_launchers(profile.launchers)
            if starter_of(each, profile.launchers) in LAUNCHERS[each].starters
        ]
        raise UsageError(msg, hint=f"choose one of: {', '.join(names)}")
    return launcher, starter


def ranks_per_node(launcher: str, options: Options) -> int | None:
    """Return how many ranks the user wants on a node; None leaves it to the job.

    Raises:
        UsageError: several, where each has a node to itself.
    """
    if not LAUNCHERS[launcher].is_whole:
        return options.ranks
    if options.ranks not in {None, 1}:
        msg = f"--ranks {options.ranks}, but --launcher {launcher} is one task per node"
        raise UsageError(msg, hint="leave out one of them")
    return 1


def check_starter(named: Sequence[Runtime], starter: str, launcher: str) -> None:
    """Check that *starter* can start tasks in containers of the runtimes.

    Raises:
        UsageError: it cannot.
    """
    for each in named:
        if not each.goes_with(starter):
            by = " or ".join(each.starters)
            msg = f"{each.name} enters its containers by options of {by}, and launcher "
            msg += f"{launcher} starts no rank by it"
            raise UsageError(
                msg, hint="choose another --runtime, or another --launcher"
            )


def starter_options(
    profile: Profile, options: Options, launcher: str, starter: str, facts: Facts
) -> tuple[Argument, ...]:
    """Return the options of the starter's program, the user's last.

    Raises:
        UsageError: if there are some for another one, or MPI lacks its PMI.
    """
    by = STARTERS[starter]
    for own, words in options.starter_args.items():
        if words and own != by.own:
            msg = f"--{own}-arg is given, but {starter} starts the tasks, not {own}"
            raise UsageError(msg, hint="drop it, or choose another --launcher")
    if not by.own:
        return ()
    unbuffered = by.unbuffered if says_log(options.diagnostics) else ()
    words = (*unbuffered, *options.starter_args.get(by.own, ()))
    given = [Argument(word=word, reason=GIVEN) for word in words]
    chosen = (*choose_arguments(getattr(profile, by.own), facts), *given)
    needs_pmi = LAUNCHERS[launcher].needs_pmi and by.pmi is not None
    if needs_pmi and not _names_pmi(chosen, starter):
        msg = f"profile {profile.name} does not say which PMI the ranks of MPI use"
        hint = (
            "srun --mpi=list names what the site has, and the image's MPI must know it: "
            "--srun-arg=--mpi=pmix, or launch.srun in the profile"
        )
        raise UsageError(msg, hint=hint)
    return chosen


def agent_options(
    profile: Profile, options: Options, launcher: str, facts: Facts
) -> tuple[Argument, ...]:
    """Return the options for who starts the ranks of a node; the user's come last."""
    given = [Argument(word=word, reason=GIVEN) for word in options.agent_options]
    if not LAUNCHERS[launcher].own_options:
        return tuple(given)
    own = getattr(profile, launcher)
    return (*choose_arguments(own, facts), *given)


def has_contract(launcher: str, starter: str, started: tuple[Argument, ...]) -> bool:
    """Tell whether ranks must be told what their library reads; not if a PMI tells it."""
    known = LAUNCHERS[launcher]
    by_pmi = known.may_use_pmi and _names_pmi(started, starter)
    is_told = launcher not in STARTERS and not known.is_agent
    return is_told and not by_pmi


def _names_pmi(started: tuple[Argument, ...], starter: str) -> bool:
    pmi = STARTERS[starter].pmi
    return pmi is not None and any(each.word.startswith(pmi) for each in started)
