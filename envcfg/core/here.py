"""A cluster that no profile describes: read where its jobs are submitted, kept by its name.

Clusters share home folders, so each has its own profile, ``here-NAME`` in the user's
folder, by its scheduler's name for it. ``here`` is that of the cluster where envcfg runs.
In a job nothing is asked: the job's variables tell the name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envcfg.core.site import cluster_here, job_kind, scheduler_here, this_site
from envcfg.errors import OutputError, UsageError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import READ, Machine, detect
from envcfg.profile.words import PROFILE_NAME
from envcfg.provenance import sha256_of

if TYPE_CHECKING:
    from envcfg.profile.site.model import Site


def here_profile(
    catalog: Catalog, cluster: str | None = None
) -> tuple[str, list[Finding]]:
    """Return the name of this cluster's own profile, and what to say where it was read now.

    Args:
        catalog: the profiles that there are.
        cluster: its name, if it was asked for already.

    Raises:
        UsageError: there is none and nothing can be read: this is a job, or no scheduler
            answers. ``OutputError``: it cannot be saved.
    """
    cluster = cluster or cluster_here()
    name = f"{READ}{cluster}"
    if cluster and not PROFILE_NAME.fullmatch(name):
        name = f"{READ}{sha256_of(cluster.encode())[:8]}"
    if cluster and name in catalog.names():
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
            "try again; or --profile NAME; or --launcher local, to run on this machine"
        )
        raise UsageError(msg, hint=hint)
    from envcfg.profile.site.model import has_network, main_shape

    site = this_site()
    path = _save(catalog, name, site)
    title = scheduler.title
    said = f"no profile knew cluster {cluster}: read from {title}, saved in {path}"
    fix = "look at it: envcfg profiles show here; to read it again, remove the file"
    found = [Finding("cluster-read", "note", f"profile {name}", said, fix)]
    seen = {"the GPUs of a node": main_shape(site), "the network": has_network(site)}
    if unseen := " and ".join(what for what in seen if not seen[what]):
        said, fix = f"could not read {unseen}", "the file says what to type instead"
        found.append(Finding("cluster-unread", "warning", f"profile {name}", said, fix))
    return name, found


def fill_in(catalog: Catalog, name: str, site: Site) -> list[Finding]:
    """Write the profile *name* of this cluster again, from what its nodes have shown.

    Raises:
        OutputError: it cannot be saved.
    """
    path = _save(catalog, name, site)
    said = f"filled in by what the nodes showed: {path}; before: {path[:-5]}.before"
    return [Finding("cluster-measured", "note", f"profile {name}", said)]


def _save(catalog: Catalog, name: str, site: Site) -> str:
    """Save the profile of a cluster, and keep the one before it; return its path."""
    from envcfg.atomic_write import put_private
    from envcfg.profile.records import record

    path = f"{catalog.layer_folders()['user']}/{name}.yaml"
    # In a new catalog: the digest of this one names all that it has read.
    fresh = Catalog(catalog.folders, records=catalog.records)
    text = draft(fresh, name, None, site)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.exists(path):
            with open(path, "rb") as file:
                put_private(f"{path[:-5]}.before", file.read())
        put_private(path, text.encode())
        if catalog.records:  # where a group may write the folder, this text counts
            record(catalog.records, os.path.realpath(path), text.encode())
    except OSError as err:
        msg = f"the profile of this cluster cannot be saved: {path}: {err.strerror}"
        hint = "choose another folder with XDG_CONFIG_HOME, or a profile with --profile"
        raise OutputError(msg, hint=hint) from err
    return path


def draft(catalog: Catalog, name: str, extends: str | None, site: Site | None) -> str:
    """Return a commented starter for a system, by what this machine says of itself.

    Args:
        catalog: the profiles that there are.
        name: of the new one.
        extends: the one to build on; None: by network and GPUs.
        site: what this machine says; None: nothing of it is in the profile.

    Raises:
        UsageError: there is no such profile; or none is named, and nothing is asked.
    """
    from envcfg.core.limits import day_of, now
    from envcfg.profile.draft import starter
    from envcfg.profile.site.entries import Draft
    from envcfg.profile.site.model import family_of

    today = day_of(now()).isoformat()
    if site is None:
        if extends is None:
            msg = "--extends is missing: --blank asks nothing of this machine"
            hint = "--extends FAMILY; envcfg profiles list has them"
            raise UsageError(msg, hint=hint)
        return starter(name, extends, catalog.load(extends), today)
    parent, why = (extends, "as it was asked for") if extends else family_of(site)
    claimed_by = None
    if site.cluster is not None:  # whose name may lead to a profile already
        machine = Machine(cluster=site.cluster, host="")
        found = (each.name for each in detect(catalog, machine).found)
        claimed_by = next((e for e in found if not e.startswith(READ)), None)
    sections = Draft(site, claimed_by=claimed_by, today=today).sections()
    family, host = catalog.load(parent), site.host
    return starter(name, parent, family, today, why=why, host=host, sections=sections)
