"""The facts of this machine, the available profiles, and the selected one.

The selection is the given profile, the environment's, or the matching one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from envcfg.backends.launchers import is_local
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import whole_number
from envcfg.common.errors import ProfileError, UsageError
from envcfg.common.findings import Finding
from envcfg.profile.catalog import Catalog, Policy
from envcfg.profile.folders import profile_folders, project_folders
from envcfg.profile.words import split_kind
from envcfg.site.machine import (
    cluster_here,
    cluster_name,
    job_kind,
    scheduler_here,
    this_machine,
)

if TYPE_CHECKING:
    from envcfg.profile.detect import Detected, Detection, ProfileMatch
    from envcfg.profile.node_kinds import KindSign
    from envcfg.profile.profile_model import Profile

# Options of a request, by Slurm's names with dashes.
NodeOptions: TypeAlias = Sequence[tuple[str, str | None]]


def open_catalog(
    path: str | None = None, *, policy: Policy = "refuse", writable: bool = False
) -> Catalog:
    """Return the profiles that apply here, from the layers in the environment.

    Args:
        path: the folder where the search for the project begins; None: the current one.
        policy: the treatment of files that other users may have written.
        writable: members of the user's groups may write the files.

    Raises:
        UsageError: the current folder is gone.
    """
    return Catalog(
        profile_folders(os.environ, path or current_folder()),
        policy=policy,
        writable=writable,
        strangers=project_folders(path or current_folder())[:-1],
        here=_here,
    )


def _here(catalog: Catalog) -> str:
    from envcfg.site.unknown_cluster import here_profile

    return here_profile(catalog)[0]


def load_default(catalog: Catalog, name: str) -> tuple[Profile | None, list[Finding]]:
    """Return the profile of a default, and notes on its files that are left out.

    The profile is None if it cannot be used without these files.

    Raises:
        UsageError: there is no such profile; also ``ProfileError``.
    """
    try:
        return catalog.load(name), overlays(catalog)
    except (ProfileError, UsageError) as err:
        from envcfg.profile.guard import as_note

        notes = [
            as_note(finding, "the file is left out")
            for finding in getattr(err, "findings", ())
            if finding.rule == "writable-by-others"
        ]
        if not notes and not catalog.ignored:
            raise
        return None, [*catalog.ignored.values(), *notes]


def detect_system(catalog: Catalog, *, is_asking: bool = True) -> Detected:
    """Return the profiles that match this machine, and the facts they matched.

    If no name, host or mark matches, the scheduler is asked for the cluster's name. In
    a job, its variables give the name.

    Raises:
        ProfileError: a file that other users may have written would have to be read.
    """
    from envcfg.profile.detect import Detected, ask, known_profiles

    # The cheap facts come first: asking the scheduler can take seconds.
    machine = this_machine()
    signs, broken = known_profiles(catalog)
    detection = ask(signs, machine, broken)
    # Devices are only a guess, and a name from the scheduler overrules it.
    is_guess = all(answer.evidence == "devices" for answer in detection.matches)
    is_open = is_asking and is_guess and machine.cluster is None
    if is_open and (cluster := cluster_here()):
        machine = machine._replace(cluster=cluster)
        detection = ask(signs, machine, broken)
    return Detected(detection, machine)


def find_system() -> Callable[[NodeOptions | None], str | None]:
    """Return a function that gives the profile of this system for options of a job.

    Its result is None if the system is unknown; devices alone are only a guess.
    """
    if name := os.environ.get("ENVCFG_PROFILE"):
        return lambda _: name
    # Files of other users are not an error here, because nothing of them is used except
    # the name.
    catalog = open_catalog(policy="show")
    detection = detect_system(catalog).detection

    def choose(options: NodeOptions | None) -> str | None:
        answer = _single_match(catalog, detection, options)
        return answer.name if answer and answer.evidence != "devices" else None

    return choose


def _single_match(
    catalog: Catalog, detection: Detection, options: NodeOptions | None
) -> ProfileMatch | None:
    """Return the match of this machine; of several, that of the job's partition.

    Raises:
        UsageError: several profiles match; also ``ProfileError``.
    """
    if len(detection.matches) < 2:
        return detection.single_match()
    from envcfg.profile.node_kinds import choose_profile, read_signs

    profiles = [catalog.load(match.name) for match in detection.matches]
    is_job = options is None and job_kind()
    signs = _signs_of_job() if is_job else read_signs(options or ())
    return detection.single_match(choose_profile(profiles, signs))


def overlays(catalog: Catalog) -> list[Finding]:
    """Return a note on each loaded file that overrides a built-in profile.

    Ignored files of other users are noted too.
    """
    return [
        *catalog.ignored.values(),
        *(
            Finding(
                rule="profile-over-built-in",
                severity="note",
                subject=path,
                message="changes the built-in profile of this name",
                fix="what comes from where: envcfg profiles show "
                + os.path.basename(path)[:-5],
            )
            for path in catalog.over_built_in()
        ),
    ]


def files_of_others(catalog: Catalog) -> list[Finding]:
    """Return a note on each file that was read and that ``wrap`` would not use."""
    from envcfg.profile.guard import as_note

    refused = catalog.refused.values()
    return [
        *catalog.ignored.values(),
        *(as_note(finding, "wrap would refuse it") for finding in refused),
    ]


def select_profile(
    catalog: Catalog,
    value: str | None,
    launcher: str | None,
    options: NodeOptions | None = None,
) -> tuple[str, list[Finding]]:
    """Return the profile's name, and the notes on its selection.

    Args:
        value: the value of ``--profile``.
        launcher: the value of ``--launcher``.
        options: as for ``select_kind``.

    Raises:
        UsageError: this is a job on an unknown system; or the profile in the
            environment does not exist.
    """
    # The command line wins without any detection, so it works on every machine.
    if value is not None:
        return value, []
    if choice := os.environ.get("ENVCFG_PROFILE"):
        try:
            catalog.files(choice)
        except UsageError as err:  # the message must name the variable
            msg = f"ENVCFG_PROFILE: {err.message}"
            raise UsageError(msg, hint=err.hint) from None
        return choice, []
    # If all ranks run on this machine, no scheduler matters.
    alone = is_local(launcher) and cluster_name() is None and not job_kind()
    detection, machine = detect_system(catalog, is_asking=not alone)
    detected = _single_match(catalog, detection, options)
    # A broken file may be the right one, so the user is told before a guess is
    # used.
    broken = [
        Finding(
            rule="profile-broken",
            severity="warning",
            subject=path,
            message="cannot be used, so it was not asked whether it knows this system",
            fix=f"envcfg wrap --profile {path} ... says what is wrong",
        )
        for path in detection.broken
    ]
    job = job_kind()
    is_guess = not detected or (machine.cluster and detected.evidence == "devices")
    # On a login node without a matching profile, one is made from the scheduler's
    # answers.
    if is_guess and not (job or alone) and scheduler_here():
        from envcfg.site.unknown_cluster import here_profile

        own, findings = here_profile(catalog, machine.cluster)
        return own, [*broken, *findings]
    if detected and detected.evidence == "devices":
        reason = f"is used, because of what is in this machine: {detected.why}"
        fix = "choose another with --profile; envcfg profiles detect says more"
        guess = Finding(
            "profile-by-devices", "note", f"profile {detected.name}", reason, fix
        )
        return detected.name, [*broken, guess]
    if detected:
        return detected.name, broken
    cluster = machine.cluster
    place = f"cluster {cluster}" if cluster else "no cluster named"
    place += f", host {machine.host}"
    # A single process of a job with many nodes would look like success.
    if job and not is_local(launcher):
        raise _unknown_in_job(job, place, detection.broken)
    reason = f"no profile knows this system: {place}"
    fix = "choose one with --profile; envcfg profiles list shows all"
    note = Finding("profile-not-detected", "note", "profile workstation", reason, fix)
    return "workstation", [*broken, note]


def select_kind(
    profile: Profile, name: str, options: NodeOptions | None = None
) -> Profile:
    """Return *profile* with the kind of node that the options select.

    Args:
        profile: that of *name*, which may have a kind of its own.
        options: those of a request, by Slurm's names with dashes; None: the variables
            and the host of this job count.

    Raises:
        UsageError: the options select no kind, or several.
    """
    if not profile.nodes:
        return profile
    from envcfg.profile.node_kinds import KindSign, choose_kind, read_gpus, read_signs

    kind = split_kind(name)[1]
    signs = [KindSign(f"profile {name}", "--profile", "name", (kind,))] if kind else []
    if options is None and not kind and job_kind():
        signs += _signs_of_job()
    return choose_kind(
        profile, [*signs, *read_signs(options or ())], read_gpus(options or ())
    )


def possible_kinds(profile: Profile, name: str) -> list[Profile]:
    """Return the kind of node of this job or of *name*; all kinds if it is unknown.

    Raises:
        UsageError: as ``select_kind``.
    """
    profile = select_kind(profile, name)
    if profile.kind is None:
        return [profile]
    from envcfg.profile.node_kinds import DEFAULT, all_kinds

    return all_kinds(profile) if profile.kind.sign == DEFAULT else [profile]


def node_options(values: Mapping[str, Any]) -> list[tuple[str, str | None]] | None:
    """Return the options of a request that may select a kind of node, from the *values*
    of all options by name; None: they have no request."""
    if "partition" not in values:
        return None
    gpus, nodes, total = values["gpus_per_node"], values["nodes"], values["gpus"]
    return [
        *((option, values[option[2:]]) for option in ("--partition", "--constraint")),
        ("--gpus", total and str(total)),
        ("--gpus-per-node", gpus and str(gpus)),
        # All nodes of a job have the same number of GPUs.
        ("--gres", f"gpu:{total // nodes}" if nodes and total else None),
        *(arg.partition("=")[::2] for arg in values["request_arg"]),
    ]


def _signs_of_job() -> Iterator[KindSign]:
    """Yield the signs in the variables of this job, and the name of its node."""
    from envcfg.profile.node_kinds import KindSign, read_signs

    for scheduler in SCHEDULERS.values():
        if scheduler.job_variable in os.environ:
            for option, variable in scheduler.selecting.items():
                for sign in read_signs([(option, os.environ.get(variable))]):
                    yield sign._replace(
                        text=f"{variable}={os.environ[variable]}", option=variable
                    )
    host = os.uname().nodename
    yield KindSign(f"the host {host}", "host", "hosts", (host, host.partition(".")[0]))


def _unknown_in_job(job: str, place: str, broken: Sequence[str]) -> UsageError:
    unasked = "".join(
        f"{path} could not be asked (envcfg profiles validate {path}); "
        for path in broken
    )
    msg = f"this {job} job runs on a system that no profile knows: {place}"
    hint = (
        f"{unasked}give --profile NAME, or set ENVCFG_PROFILE; envcfg profiles detect says "
        "why none fits, envcfg profiles new begins one; for one process on this node "
        "alone, --launcher local"
    )
    return UsageError(msg, hint=hint)


def current_folder() -> str:
    """Return the path of the current folder.

    Raises:
        UsageError: it was removed.
    """
    try:
        return os.getcwd()
    except OSError as err:
        msg = "the current folder does not exist any more"
        raise UsageError(msg, hint="cd to another one") from err


def job_nodes() -> int:
    """Return the number of nodes of the job, if its scheduler reports it; otherwise 1."""
    # The first variable of each scheduler has the number.
    tables = (scheduler.told_by for scheduler in SCHEDULERS.values())
    names = (table["--nodes"][0] for table in tables if "--nodes" in table)
    nodes = next((os.environ[name] for name in names if name in os.environ), "")
    return whole_number(nodes) or 1
