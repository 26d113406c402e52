"""How the program gets into its image: runtime, binds, arguments; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from envcfg import runtimes
from envcfg.bind import STAND_IN
from envcfg.errors import UsageError
from envcfg.launch.choose import GIVEN, applying, choose_arguments, choose_cases
from envcfg.launch.plan import Container, Options, PlannedMount
from envcfg.launchers import allowed_launchers, starter_of
from envcfg.profile.entries import Argument, Mount
from envcfg.profile.facts import Facts
from envcfg.profile.model import Profile
from envcfg.runtimes.model import Runtime


def choose_container(
    profile: Profile, options: Options, named: Sequence[Runtime], facts: Facts
) -> Container | None:
    """Return how the program gets into its image; None without one.

    Args:
        named: the runtimes of which the job takes the first that it has.

    Raises:
        UsageError: if options for a container are given without one.
    """
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
    first = named[0]
    own = choose_arguments(profile_arguments(profile, first), facts)
    asked = [Mount(bind=each, reason=GIVEN) for each in options.binds]
    given = [Argument(word=word, reason=GIVEN) for word in options.runtime_args]
    words = [checked(each, first) for each in (*own, *given)]
    prefixes = applying([profile.prefix], facts, lambda each: each.words[0])
    return Container(
        image=first.spell(options.container),
        is_file=not first.is_reference(options.container),
        runtimes=tuple(each.name for each in named),
        verb=str(verb),
        arguments=tuple(words),
        binds=tuple(_binds((*profile.binds.values(), *asked), first, facts)),
        exports=tuple(applying(profile.exports.values(), facts, attrgetter("name"))),
        prefix=next((each.words for each in prefixes), ()),
        stamp=options.read.stamp,
    )


def choose_runtimes(
    profile: Profile,
    wanted: str | None,
    found: Collection[str],
    image: str,
    launcher: str | None = None,
) -> tuple[Runtime, ...]:
    """Return the runtimes of which the job takes the first that it has: of one kind.

    Args:
        found: the signs of those that this machine has.
        launcher: whose starter may not be theirs; None: the profile's first.
    """
    known = [runtimes.runtime(wanted)] if wanted else named_runtimes(profile)
    first_launcher = launcher or allowed_launchers(profile.launchers)[0]
    starter = starter_of(first_launcher, profile.launchers)
    known = [each for each in known if each.goes_with(starter)] or known
    takes = [each for each in known if each.refuse(image) is None] or known
    first = next((each for each in takes if each.sign in found), takes[0])
    return tuple(each for each in takes if each.kind == first.kind)


def chosen_runtimes(profile: Profile, options: Options) -> tuple[Runtime, ...]:
    """Return the same for the options of a job; none without a container."""
    image = options.container
    if image is None:
        return ()
    return choose_runtimes(
        profile, options.runtime, options.found, image, options.launcher
    )


def named_runtimes(profile: Profile) -> list[Runtime]:
    """Return the runtimes of the system, in order; the usual ones where it names none."""
    return [runtimes.runtime(name) for name in profile.runtimes or runtimes.USUAL]


def profile_arguments(profile: Profile, runtime: Runtime) -> dict[str, Argument | None]:
    """Return the profile's arguments for *runtime*.

    One whose condition asks for no runtime is for the kind that the profile names first.
    """
    is_first = named_runtimes(profile)[0].kind == runtime.kind
    return {
        word: each
        for word, each in profile.arguments.items()
        if each and (is_first or asks_runtime(each))
    }


def asks_runtime(argument: Argument) -> bool:
    """Tell whether it depends on the runtime to which of them an argument belongs."""
    return any(test.fact == "runtime" for test in argument.when)


def checked(argument: Argument, runtime: Runtime) -> Argument:
    """Return *argument*, if the runtime can have it.

    Raises:
        UsageError: envcfg itself says it, or it means nothing.
    """
    if refusal := runtime.refuse_argument(argument.word):
        place = f"{argument.reason.place}: " if argument.reason.date else ""
        msg = f"{place}{argument.word} is not for {runtime.name}: {refusal.what}"
        raise UsageError(msg, hint=refusal.fix)
    return argument


def check_stage(profile: Profile, options: Options, named: Sequence[Runtime]) -> None:
    """Refuse copies on the nodes that the system or the runtime cannot have.

    Raises:
        UsageError: nodes have no disk, the image is no file, or two environments are named.
    """
    scratch, image = profile.scratch, options.container
    asked = options.diagnostics.stage
    if scratch is None or (scratch.in_memory and scratch.disk is None):
        why = scratch.reason.why if scratch else "its profile does not name one"
        msg = f"--stage: {profile.name} has no disk in its nodes: {why}"
        raise UsageError(msg, hint="leave out --stage")
    if len([each for each in asked if each != "image"]) > 1:
        msg = f"--stage names several environments: {', '.join(asked)}"
        raise UsageError(msg, hint="name one, as in --stage image --stage env=PATH")
    if "image" not in asked:
        return
    if image is None:
        msg = "--stage image needs a container, and --container is none"
        raise UsageError(
            msg, hint="name the image file with --container, or --stage env"
        )
    if named[0].is_reference(image) or not named[0].opens_file:
        msg = f"--stage image: {image} is not a file that {named[0].name} opens by its path"
        raise UsageError(msg, hint=named[0].pull or "leave out --stage image")


def _binds(
    mounts: Iterable[Mount | None], runtime: Runtime, facts: Facts
) -> Iterable[PlannedMount]:
    for mount in applying(mounts, facts, lambda each: str(each.bind)):
        bind = mount.bind
        if bind.refers:
            bind = bind._replace(source=STAND_IN)
        try:
            text = runtime.format_bind(bind)
        except ValueError as err:
            msg = f"{runtime.name} cannot bind {mount.bind}: {err}"
            raise UsageError(msg, hint="choose another path, or a link to it") from err
        yield PlannedMount(mount.bind, text, mount.reason, mount.if_exists, mount.when)
