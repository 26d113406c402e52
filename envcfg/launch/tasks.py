"""Who starts the tasks of a step, and with which options; pure."""

from __future__ import annotations

from envcfg.errors import UsageError
from envcfg.launch.choose import GIVEN, choose_mounts
from envcfg.launch.diagnostics import srun_words
from envcfg.launch.launchers import KINDS
from envcfg.launch.plan import Options, PlannedMount
from envcfg.profile.facts import Facts
from envcfg.profile.launchers import allowed_launchers, starter_of
from envcfg.profile.model import Profile


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
    if starter not in KINDS[launcher].starters:
        can = " or ".join(KINDS[launcher].starters)
        msg = f"launcher {launcher} works by {can}, but profile {profile.name} by {starter}"
        names = [
            each
            for each in allowed_launchers(profile.launchers)
            if starter_of(each, profile.launchers) in KINDS[each].starters
        ]
        raise UsageError(msg, hint=f"choose one of: {', '.join(names)}")
    return launcher, starter


def srun_options(
    profile: Profile, options: Options, launcher: str, starter: str, facts: Facts
) -> tuple[PlannedMount, ...]:
    """Return the options of srun, the user's last; none where another starts the tasks.

    Raises:
        UsageError: if there are some and srun starts nothing, or MPI lacks its PMI.
    """
    if starter != "srun":
        if options.srun_args:
            msg = f"--srun-arg is given, but {starter} starts the tasks, not srun"
            raise UsageError(msg, hint="drop it, or choose another --launcher")
        return ()
    words = (*srun_words(options.diagnostics), *options.srun_args)
    given = [PlannedMount(spec=word, reason=GIVEN) for word in words]
    chosen = (*choose_mounts(profile.srun, facts), *given)
    if launcher == "mpi" and not _names_pmi(chosen):
        msg = f"profile {profile.name} does not say by which PMI the ranks of MPI meet"
        hint = (
            "srun --mpi=list names what the site has, and the image's MPI must know it: "
            "--srun-arg=--mpi=pmix, or launch.srun in the profile"
        )
        raise UsageError(msg, hint=hint)
    return chosen


def agent_options(
    profile: Profile, options: Options, launcher: str, facts: Facts
) -> tuple[PlannedMount, ...]:
    """Return the options for who starts the ranks of a node; the user's come last."""
    given = [PlannedMount(spec=word, reason=GIVEN) for word in options.agent_options]
    if launcher != "torchrun":
        return tuple(given)
    return (*choose_mounts(profile.torchrun, facts), *given)


def contract_of(launcher: str, srun: tuple[PlannedMount, ...]) -> tuple[str, ...]:
    """Return the variables that a rank's library reads: none where it meets by MPI."""
    if launcher == "horovod" and _names_pmi(srun):
        return ()
    return KINDS[launcher].sets


def _names_pmi(srun: tuple[PlannedMount, ...]) -> bool:
    return any(each.spec.startswith("--mpi=") for each in srun)
