"""A cluster without a profile: its facts are read on a login node and stored by its
name.

Clusters may share home folders, so each has its own profile, ``here-NAME`` in the
user's folder, with the name from its scheduler. ``here`` is the profile of the current
cluster. In a job nothing is asked: its variables give the name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envcfg.common.errors import OutputError, UsageError
from envcfg.common.findings import Finding
from envcfg.common.provenance import sha256_of
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import READ, Machine, detect
from envcfg.profile.words import PROFILE_NAME
from envcfg.site.machine import cluster_here, job_kind, scheduler_here, this_site

if TYPE_CHECKING:
    from envcfg.site.machine_facts import Site


_LONGEST = 200  # characters of a cluster's name, as in a profile


def here_profile(
    catalog: Catalog, cluster: str | None = None
) -> tuple[str, list[Finding]]:
    """Return the name of this cluster's own profile, and notes if it was created now.

    Args:
        catalog: the available profiles.
        cluster: its name, if already known.

    Raises:
        UsageError: there is no profile, and none can be made: this is a job, or no
            scheduler answers. ``OutputError``: it cannot be saved.
    """
    cluster = cluster or cluster_here()
    if cluster and len(cluster) > _LONGEST:
        msg = f"the scheduler's name of this cluster has {len(cluster)} characters"
        raise UsageError(msg, hint="choose a profile: --profile NAME")
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
        command = " ".join(scheduler.cluster_command)
        msg = f"the scheduler's configuration is unknown: {command} does not answer"
        hint = (
            "try again; or --profile NAME; or --launcher local, to run on this machine"
        )
        raise UsageError(msg, hint=hint)
    from envcfg.site.machine_facts import has_network, main_shape

    site = this_site()
    path = _save(catalog, name, site)
    title = scheduler.title
    message = f"no profile knew cluster {cluster}: read from {title}, saved in {path}"
    fix = "look at it: envcfg profiles show here; to read it again, remove the file"
    findings = [Finding("cluster-read", "note", f"profile {name}", message, fix)]
    checks = {"the GPUs of a node": main_shape(site), "the network": has_network(site)}
    if unseen := " and ".join(
        name_checked for name_checked in checks if not checks[name_checked]
    ):
        message, fix = f"could not read {unseen}", "the file says what to type instead"
        findings.append(
            Finding("cluster-unread", "warning", f"profile {name}", message, fix)
        )
    return name, findings


def fill_in(catalog: Catalog, name: str, site: Site) -> list[Finding]:
    """Write the profile *name* of this cluster again, from the facts of its nodes.

    Raises:
        OutputError: it cannot be saved.
    """
    path = _save(catalog, name, site)
    message = f"filled in by what the nodes showed: {path}; before: {path[:-5]}.before"
    return [Finding("cluster-measured", "note", f"profile {name}", message)]


def _save(catalog: Catalog, name: str, site: Site) -> str:
    """Save the profile of a cluster, keep the previous one, and return the path."""
    from envcfg.common.atomic_write import put_private

    path = f"{catalog.layer_folders()['user']}/{name}.yaml"
    # A new catalog is used, because the digest of this one covers all files it has
    # read.
    fresh = Catalog(catalog.folders, policy=catalog.policy, writable=catalog.writable)
    text = draft(fresh, name, None, site)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.exists(path):
            with open(path, "rb") as file:
                put_private(f"{path[:-5]}.before", file.read())
        put_private(path, text.encode())
    except OSError as err:
        msg = f"the profile of this cluster cannot be saved: {path}: {err.strerror}"
        hint = "choose another folder with XDG_CONFIG_HOME, or a profile with --profile"
        raise OutputError(msg, hint=hint) from err
    return path


def draft(catalog: Catalog, name: str, extends: str | None, site: Site | None) -> str:
    """Return a commented profile for a system, from the facts of this machine.

    Args:
        catalog: the available profiles.
        name: the name of the new profile.
        extends: the profile to extend; None: by network and GPUs.
        site: the facts of this machine; None: the profile contains none.

    Raises:
        UsageError: the profile does not exist; or none is named, and nothing is asked.
    """
    from envcfg.profile.draft import starter
    from envcfg.site.current_limits import day_of, now
    from envcfg.site.machine_facts import family_of
    from envcfg.site.profile_entries import Draft

    today = day_of(now()).isoformat()
    if site is None:
        if extends is None:
            msg = "--extends is missing: --blank asks nothing of this machine"
            hint = "--extends FAMILY; envcfg profiles list has them"
            raise UsageError(msg, hint=hint)
        return starter(name, extends, catalog.load(extends), today)
    parent, why = (extends, "as it was asked for") if extends else family_of(site)
    claimed_by = None
    if site.cluster is not None:  # a profile may already match this name
        machine = Machine(cluster=site.cluster, host="")
        profiles = (answer.name for answer in detect(catalog, machine).matches)
        claimed_by = next((e for e in profiles if not e.startswith(READ)), None)
    sections = Draft(site, claimed_by=claimed_by, today=today).sections()
    family, host = catalog.load(parent), site.host
    return starter(name, parent, family, today, why=why, host=host, sections=sections)
