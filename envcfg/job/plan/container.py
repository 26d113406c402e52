"""The container of the program: runtime, binds and arguments; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from envcfg.backends import runtimes
from envcfg.backends.launchers import allowed_launchers, starter_of
from envcfg.backends.runtimes.runtime import Runtime
from envcfg.common.bind import STAND_IN
from envcfg.common.errors import UsageError
from envcfg.job.plan.applicable_settings import (
    GIVEN,
    applying,
    choose_arguments,
    choose_cases,
)
from envcfg.job.plan.plan import Container, Options
from envcfg.profile.entries import Argument, BindMount
from envcfg.profile.job_facts import Facts
from envcfg.profile.profile_model import Profile


def choose_container(
    profile: Profile, options: Options, named: Sequence[Runtime], facts: Facts
) -> Container | None:
    """Return the container of the job; None without one.

    Args:
        named: the runtimes in order; the job takes the first on PATH.

    Raises:
        UsageError: if options for a container are given without one.
    """
    # Reject the options instead of ignoring them: a forgotten --container would run
    # on the host without a message.
    if options.container is None:
        for name, value in (
            ("--bind", options.binds),
            ("--runtime-arg", options.runtime_args),
            ("--runtime", options.runtime),
        ):
            if value:
                msg = f"{name} needs a container, and --container is none"
                raise UsageError(msg, hint=f"drop {name}, or name the image")
        return None
    verb = next(
        (
            case.value[0]
            for case in (choose_cases(profile.verb, facts) if profile.verb else ())
            if case.value
        ),
        "exec",
    )
    # All runtimes of the list share a template and their options, so the first one
    # can spell for all.
    first = named[0]
    own = choose_arguments(profile_arguments(profile, first), facts)
    # The user's binds come after the profile's, because a later bind of the same
    # target wins.
    extra = [BindMount(bind=bind, reason=GIVEN) for bind in options.binds]
    mounts = (*profile.binds.values(), *options.host_parts, *extra)
    arguments = [Argument(word=word, reason=GIVEN) for word in options.runtime_args]
    words = [checked(argument, first) for argument in (*own, *arguments)]
    prefixes = applying([profile.prefix], facts, lambda prefix: prefix.words[0])
    return Container(
        image=first.spell(options.container),
        is_file=not first.is_reference(options.container),
        runtimes=tuple(named),
        verb=str(verb),
        arguments=tuple(words),
        binds=tuple(_binds(mounts, first, facts)),
        exports=tuple(applying(profile.exports.values(), facts, attrgetter("name"))),
        prefix=next((prefix.words for prefix in prefixes), ()),
        stamp=options.image_facts.stamp,
    )


def choose_runtimes(
    profile: Profile,
    runtime_name: str | None,
    available: Collection[str],
    image: str,
    launcher: str | None = None,
) -> tuple[Runtime, ...]:
    """Return the runtimes of one kind; the job uses the first on PATH.

    Args:
        available: the signs of the runtimes on this machine.
        launcher: the launcher whose starter must work with the runtime; None: the
            profile's first.
    """
    candidates = (
        [runtimes.runtime(runtime_name)] if runtime_name else named_runtimes(profile)
    )
    first_launcher = launcher or allowed_launchers(profile.launchers)[0]
    starter = starter_of(first_launcher, profile.launchers)
    # If no candidate works, keep all of them: the later check then names the
    # conflict.
    candidates = [
        runtime for runtime in candidates if runtime.goes_with(starter)
    ] or candidates
    takes = [
        runtime for runtime in candidates if runtime.refuse(image) is None
    ] or candidates
    # Without any runtime here, the profile's first is right: the login node may
    # lack the runtimes of the compute nodes.
    first = next((take for take in takes if take.sign in available), takes[0])
    return tuple(take for take in takes if take.kind == first.kind)


def chosen_runtimes(profile: Profile, options: Options) -> tuple[Runtime, ...]:
    """Return the runtimes for the options of a job; empty without a container."""
    image = options.container
    if image is None:
        return ()
    return choose_runtimes(
        profile, options.runtime, options.runtimes_here, image, options.launcher
    )


def named_runtimes(profile: Profile) -> list[Runtime]:
    """Return the runtimes of the system, in order; the usual ones if it names none."""
    return [runtimes.runtime(name) for name in profile.runtimes or runtimes.USUAL]


def profile_arguments(profile: Profile, runtime: Runtime) -> dict[str, Argument | None]:
    """Return the profile's arguments for *runtime*.

    An argument without a runtime condition is for the first kind of runtime in the
    profile.
    """
    is_first = named_runtimes(profile)[0].kind == runtime.kind
    return {
        word: argument
        for word, argument in profile.arguments.items()
        if argument and (is_first or asks_runtime(argument))
    }


def asks_runtime(argument: Argument) -> bool:
    """Return whether the runtime is part of an argument's condition."""
    return any(test.fact == "runtime" for test in argument.when)


def checked(argument: Argument, runtime: Runtime) -> Argument:
    """Return *argument*, if the runtime accepts it.

    Raises:
        UsageError: envcfg sets it itself, or the runtime ignores it.
    """
    if refusal := runtime.refuse_argument(argument.word):
        place = f"{argument.reason.place}: " if argument.reason.date else ""
        msg = f"{place}{argument.word} is not for {runtime.name}: {refusal.problem}"
        raise UsageError(msg, hint=refusal.fix)
    return argument


def check_stage(profile: Profile, options: Options, named: Sequence[Runtime]) -> None:
    """Reject copies to the nodes that the system or the runtime does not support.

    Raises:
        UsageError: nodes have no disk, the image is no file, or two environments are named.
    """
    scratch, image = profile.scratch, options.container
    parts = options.stage
    # Memory alone is not enough: a copied image would take the memory that the job
    # needs.
    if scratch is None or (scratch.in_memory and scratch.disk is None):
        why = scratch.reason.why if scratch else "its profile does not name one"
        msg = f"--stage: {profile.name} has no disk in its nodes: {why}"
        raise UsageError(msg, hint="leave out --stage")
    # Only one environment can be first on PATH in the job.
    if len([part for part in parts if part != "image"]) > 1:
        msg = f"--stage names several environments: {', '.join(parts)}"
        raise UsageError(msg, hint="name one, as in --stage image --stage env=PATH")
    if "image" not in parts:
        return
    if image is None:
        msg = "--stage image needs a container, and --container is none"
        raise UsageError(
            msg, hint="name the image file with --container, or --stage env"
        )
    # Shifter and pyxis unpack the image themselves, so a copy on the node would
    # never be read.
    if named[0].is_reference(image) or not named[0].opens_file:
        msg = f"--stage image: {image} is not a file that {named[0].name} opens by its path"
        raise UsageError(msg, hint=named[0].pull or "leave out --stage image")


def _binds(
    mounts: Iterable[BindMount | None], runtime: Runtime, facts: Facts
) -> Iterable[BindMount]:
    for mount in applying(mounts, facts, lambda mount: str(mount.bind)):
        bind = mount.bind
        # The source is unknown until the job runs, but the format of the rest can
        # be checked now.
        if bind.refers:
            bind = bind._replace(source=STAND_IN)
        try:
            text = runtime.format_bind(bind)
        except ValueError as err:
            msg = f"{runtime.name} cannot bind {mount.bind}: {err}"
            raise UsageError(msg, hint="choose another path, or a link to it") from err
        yield mount._replace(text=text)
