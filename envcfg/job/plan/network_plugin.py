"""The plug-in without which NCCL and RCCL leave the fast network; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envcfg.common.findings import Finding
from envcfg.job.plan.applicable_settings import GIVEN, choose_cases
from envcfg.job.plan.plan import Container, Options
from envcfg.profile.conditions import Test
from envcfg.profile.entries import Case, Setting
from envcfg.profile.job_facts import Facts
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import EnvironmentModule
from envcfg.profile.words import Ref, format_word

_NET = "NCCL_NET"
_SEVERAL = (Test("nodes", ">", "1"),)
_PATH = "LD_LIBRARY_PATH"
_SEARCH = ("NCCL_NET_PLUGIN", _PATH)
# Binds, modules and options of runtimes that may bring the host's plug-in.
_BRINGS = ("nccl", "rccl", "ofi")


def plugin_state(
    profile: Profile,
    options: Options,
    container: Container | None,
    modules: Iterable[EnvironmentModule],
    planned: Mapping[str, Setting],
) -> str:
    """Return whether the image has the plug-in that the network of *profile* needs.

    ``needless`` without such a network, without NCCL, or on one node; ``bound`` with the
    host's; ``missing`` only if neither image nor host brings one; else ``present`` or
    ``unknown``.
    """
    needs = profile.expect and profile.expect.provider and profile.expect.networks
    if not needs or container is None or options.known_nodes == 1:
        return "needless"
    if options.settings.get("NCCL_NET_PLUGIN") == ("none",):
        return "needless"
    if options.host_parts:
        return "bound"
    if "plugin" in options.facts:
        return "present"
    words = (
        *(str(mount.bind) for mount in container.binds),
        *(argument.word for argument in container.arguments),
        *(module.name for module in modules),
    )
    paths = (
        format_word(case.value)
        for name in _SEARCH
        if name in planned
        for case in planned[name].cases
        if case.value
    )
    # A name without a folder is searched for in the image.
    is_brought = any("/" in path for path in paths) or any(
        part in word.lower() for word in words for part in _BRINGS
    )
    state = options.image_facts.plugin
    return "unknown" if state == "missing" and is_brought else state


def fail_without_plugin(
    profile: Profile, facts: Facts, planned: Mapping[str, Setting]
) -> dict[str, Setting]:
    """Return *planned* with a value of NCCL_NET that only a plug-in has.

    With it a job of several nodes ends instead of using TCP. Values of the profile, the
    user and the job's environment have precedence.
    """
    own = planned.get(_NET)
    if _is_set(own) or profile.expect is None or not profile.expect.networks:
        return dict(planned)
    why = "the image has no plug-in: the job must end instead of using slow TCP"
    reason = GIVEN._replace(why=why, source="--container")
    case = Case((profile.expect.networks[0],), reason, _SEVERAL)
    cases = choose_cases(Setting(_NET, (case,)), facts)
    before = own.cases if own else ()
    return {**planned, _NET: Setting(_NET, (*before, *cases))}


def leave_network_open(
    options: Options, state: str, planned: Mapping[str, Setting]
) -> tuple[dict[str, Setting], list[Finding]]:
    """Return *planned* without the profile's NCCL_NET, and a note, if a launch line of
    the user may run without the plug-in: the job ran before, by TCP if it had to."""
    own = planned.get(_NET)
    is_known = state in {"present", "bound"} or "plugin" in options.facts
    is_free = is_known or _NET in options.settings or not _is_set(own)
    if is_free or not options.keeps_launch_line:
        return dict(planned), []
    rest = {name: entry for name, entry in planned.items() if name != _NET}
    message = "is left unset, because it is unknown whether NCCL finds the plug-in for "
    message += "the fast network: with it, a job without the plug-in would end"
    fix = "if the plug-in is there: --fact plugin=VERSION"
    return rest, [Finding("network-left-open", "note", _NET, message, fix)]


def search_host_parts(options: Options) -> dict[str, Setting]:
    """Return the variable by which the loader finds the bound parts of the host."""
    if not options.host_parts:
        return {}
    folder = options.host_parts[0].bind.target.rpartition("/")[0]
    word = (f"{folder}:", Ref(_PATH, folder))  # an empty part would be the work folder
    case = Case(word, options.host_parts[0].reason)
    return {_PATH: Setting(_PATH, (case,))}


def plugin_notes(
    state: str,
    profile: Profile,
    options: Options,
    facts: Facts,
    planned: Mapping[str, Setting],
) -> Iterator[Finding]:
    """Warn of several nodes without the plug-in; note that its presence is unknown."""
    image, value = options.container or "", options.settings.get(_NET)
    if value and format_word(value).lower() == "socket":  # NCCL ignores the case, too
        return
    is_set = _is_set(planned.get(_NET))
    if state == "missing":
        effect = "fails" if is_set else "uses slow TCP"
        message = (
            f"has no plug-in of NCCL for {profile.name}'s network: "
            f"a job of several nodes {effect}"
        )
        fix = (
            "take an image with aws-ofi-nccl or aws-ofi-rccl, or bind the host's; "
            f"--set {_NET}=Socket accepts TCP"
        )
        yield Finding("image-without-plugin", "warning", image, message, fix)
    # Settings that wait for the version have a note of their own.
    elif state == "unknown" and not is_set and "plugin" not in facts.missed:
        message = (
            "it is unknown whether NCCL gets a plug-in for "
            f"{profile.name}'s network: without it, several nodes use slow TCP"
        )
        fix = "envcfg inspect looks for it; --fact plugin=VERSION states its version"
        yield Finding("image-plugin-unknown", "note", image, message, fix)


def _is_set(variable: Setting | None) -> bool:
    """Return whether a value applies to a job of several nodes."""
    return variable is not None and any(
        case.value is not None
        and all(test.holds_for("2") for test in case.when if test.fact == "nodes")
        for case in variable.cases
    )
