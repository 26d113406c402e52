"""A cluster that no profile describes: read where its jobs are submitted, kept by its name.

Clusters share home folders, so each has its own profile, ``here-NAME`` in the user's
folder, by its scheduler's name for it. ``here`` is that of the cluster on which envcfg runs.
In a job nothing is asked: the job's variables tell the name.
"""

from __future__ import annotations

import os
import re
from shutil import which

from envcfg.core.selection import ask, cluster_name, job_kind, open_catalog
from envcfg.errors import OutputError, UsageError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import READ
from envcfg.profile.words import PROFILE_NAME
from envcfg.provenance import sha256_of
from envcfg.schedulers import SCHEDULERS
from envcfg.schedulers.model import Scheduler

_SECONDS = 30


def scheduler_here() -> Scheduler | None:
    """Return the scheduler whose command for jobs is on PATH; None: there is none."""
    known = SCHEDULERS.values()
    return next((each for each in known if which(each.submit.split()[0])), None)


def cluster_here() -> str | None:
    """Return the name of this cluster as its scheduler has it; a job asks nobody."""
    if named := cluster_name():
        return named
    if job_kind():
        for each in SCHEDULERS.values():
            job = os.environ.get(each.job_variable, "")
            if each.cluster_of_job and (found := re.match(each.cluster_of_job, job)):
                return found[1]
        return None
    if here := scheduler_here():
        said = ask(here.cluster_command, _SECONDS)
        found = re.search(here.cluster_pattern, said, re.M)
        return found and found[1]
    return None


def here_profile(
    catalog: Catalog,
    cluster: str | None = None,
    *,
    anew: bool = False,
    extends: str | None = None,
) -> tuple[str, list[Finding]]:
    """Return the name of this cluster's own profile, and what to say where it was read now.

    Args:
        catalog: the profiles that there are.
        cluster: its name, if it was asked for already.
        anew: a profile that is there is replaced.
        extends: the one to build on; None: by network and GPUs.

    Raises:
        UsageError: there is none and nothing can be read: this is a job, or no scheduler
            answers. ``OutputError``: it cannot be saved.
    """
    cluster = cluster or cluster_here()
    name = f"{READ}{cluster}"
    if cluster and not PROFILE_NAME.fullmatch(name):
        name = f"{READ}{sha256_of(cluster.encode())[:8]}"
    if cluster and not anew and name in catalog.names():
        return name, []
    scheduler = scheduler_here()
    if job_kind() or scheduler is None:
        msg = f"there is no profile {name if cluster else 'here'} yet"
        hint = "it is made on a login node: envcfg profiles show here"
        raise UsageError(msg, hint=hint)
    if cluster is None:
        asked = " ".join(scheduler.cluster_command)
        msg = f"this cluster cannot be read: {asked} does not answer"
        hint = (
            "try again; or choose a profile with --profile (envcfg profiles list); for one "
            "process on this machine alone, --launcher local"
        )
        raise UsageError(msg, hint=hint)
    from envcfg.atomic_write import put_private
    from envcfg.core.profiles import draft

    path = f"{catalog.layer_folders()['user']}/{name}.yaml"
    # Of a catalog of its own: what this one has read, its digest names.
    text = draft(open_catalog(), name, extends=extends, is_blank=False)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        put_private(path, text.encode())
    except OSError as err:
        msg = f"the profile of this cluster cannot be saved: {path}: {err.strerror}"
        hint = "choose another folder with XDG_CONFIG_HOME, or a profile with --profile"
        raise OutputError(msg, hint=hint) from err
    by = f"it was read from {scheduler.title}, saved in {path}"
    said = f"no profile knew cluster {cluster}: {by}"
    fix = "look at it: envcfg profiles show here; another one: --profile NAME"
    return name, [Finding("cluster-read", "note", f"profile {name}", said, fix)]
