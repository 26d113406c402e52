"""What this machine shows of itself, which profiles there are for it, and which is taken.

That is the one given, the environment's, or the one that fits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.characters import whole_number
from envcfg.core.site import (
    cluster_here,
    cluster_name,
    job_kind,
    scheduler_here,
    this_machine,
)
from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launchers import is_local
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import profile_folders, project_folders
from envcfg.schedulers import SCHEDULERS

if TYPE_CHECKING:
    from envcfg.profile.detect import Detected


def open_catalog(here: str | None = None, *, enforce: bool = True) -> Catalog:
    """Return the profiles that count here: from the layers, as the environment has them.

    Args:
        enforce: a file that others may have written is an error where it would be used;
            else it is only noted.

    Raises:
        UsageError: the current folder is gone.
    """
    return Catalog(
        profile_folders(os.environ, here or current_folder()),
        records=records_folder(os.environ),
        enforce=enforce,
        strangers=project_folders(here or current_folder())[:-1],
        here=_here,
    )


def _here(catalog: Catalog) -> str:
    from envcfg.core.here import here_profile

    return here_profile(catalog)[0]


def records_folder(environ: Mapping[str, str]) -> str:
    """Return where the user's words on files of others are kept."""
    state = environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):  # as its specification has it
        state = f"{environ.get('HOME', '/nonexistent')}/.local/state"
    return f"{state}/envcfg/trusted"


def detect_system(catalog: Catalog, *, is_asking: bool = True) -> Detected:
    """Return which profiles know this machine, and what it shows of itself.

    Where no name, host or mark tells, the scheduler is asked how the cluster is called;
    in a job the job's own variables tell.

    Raises:
        ProfileError: files of others would have to be asked, and are not trusted.
    """
    from envcfg.profile.detect import Detected, ask, known_profiles

    machine = this_machine()
    known, broken = known_profiles(catalog)
    detection = ask(known, machine, broken)
    is_guess = all(each.evidence == "devices" for each in detection.found)
    is_open = is_asking and is_guess and machine.cluster is None
    if is_open and (cluster := cluster_here()):
        machine = machine._replace(cluster=cluster)
        detection = ask(known, machine, broken)
    return Detected(detection, machine)


def overlays(catalog: Catalog) -> list[Finding]:
    """Return a note on each file loaded so far that lies over a built-in profile.

    What strangers have put where profiles are looked for is noted, too.
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


def untrusted(catalog: Catalog) -> list[Finding]:
    """Return a note on each file that was looked at and would not count."""
    return [
        *catalog.ignored.values(),
        *(
            each._replace(
                severity="note",
                subject=each.place.path if each.place else "",
                message=f"{each.message}; wrap would refuse it",
                place=None,
            )
            for each in catalog.refused.values()
        ),
    ]


def select_profile(
    catalog: Catalog, given: str | None, launcher: str | None
) -> tuple[str, list[Finding]]:
    """Return the profile's name, and what is to be said of how it was found.

    Args:
        given: what ``--profile`` says.
        launcher: what ``--launcher`` says.

    Raises:
        UsageError: this is a job, on a system that no profile knows; or there is no
            such profile as the environment names.
    """
    if given is not None:
        return given, []
    if chosen := os.environ.get("ENVCFG_PROFILE"):
        try:
            catalog.files(chosen)
        except UsageError as err:  # the command line does not show where it is from
            msg = f"ENVCFG_PROFILE: {err.message}"
            raise UsageError(msg, hint=err.hint) from None
        return chosen, []
    # With ranks on this machine alone no scheduler counts.
    alone = is_local(launcher) and cluster_name() is None and not job_kind()
    detection, machine = detect_system(catalog, is_asking=not alone)
    detected = detection.one()
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
    if is_guess and not (job or alone) and scheduler_here():
        from envcfg.core.here import here_profile

        own, read = here_profile(catalog, machine.cluster)
        return own, [*broken, *read]
    if detected and detected.evidence == "devices":
        said = f"is used, because of what is in this machine: {detected.why}"
        fix = "choose another with --profile; envcfg profiles detect says more"
        guess = Finding(
            "profile-by-devices", "note", f"profile {detected.name}", said, fix
        )
        return detected.name, [*broken, guess]
    if detected:
        return detected.name, broken
    cluster = machine.cluster
    place = f"cluster {cluster}" if cluster else "no cluster named"
    place += f", host {machine.host}"
    # One process of many nodes would look like success.
    if job and not is_local(launcher):
        raise _unknown_in_job(job, place, detection.broken)
    said = f"no profile knows this system: {place}"
    fix = "choose one with --profile; envcfg profiles list shows all"
    note = Finding("profile-not-detected", "note", "profile workstation", said, fix)
    return "workstation", [*broken, note]


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
        UsageError: somebody has removed it.
    """
    try:
        return os.getcwd()
    except OSError as err:
        msg = "the current folder does not exist any more"
        raise UsageError(msg, hint="cd to another one") from err


def job_nodes() -> int:
    """Return how many nodes the job has, where its scheduler says it; else 1."""
    names = (each.nodes_variable or "" for each in SCHEDULERS.values())
    nodes = next((os.environ[name] for name in names if name in os.environ), "")
    return whole_number(nodes) or 1
