"""Which profile a command takes: the one given, the environment's, the one that fits."""

from __future__ import annotations

import os

from envcfg.commands.machine import interfaces
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog


def select_profile(catalog: Catalog, given: str | None) -> tuple[str, list[Finding]]:
    """Return the profile's name, and what is to be said of how it was found.

    Args:
        catalog: the profiles that there are.
        given: what ``--profile`` says.
    """
    if given is not None:
        return given, []
    if chosen := os.environ.get("ENVCFG_PROFILE"):
        return chosen, []
    cluster, host = os.environ.get("SLURM_CLUSTER_NAME"), os.uname().nodename
    detected = catalog.detect(cluster, host, interfaces(), os.path.exists)
    broken = [
        Finding(
            rule="profile-broken",
            severity="warning",
            subject=path,
            message="cannot be used, so it was not asked whether it knows this system",
            fix=f"envcfg wrap --profile {path} ... says what is wrong",
        )
        for path in catalog.broken
    ]
    if detected and catalog.guess:
        guess = Finding(
            rule="profile-by-devices",
            severity="note",
            subject=f"profile {detected}",
            message=f"is taken for what is in this machine: {catalog.guess}",
            fix="choose another with --profile; envcfg profiles detect says more",
        )
        return detected, [*broken, guess]
    if detected:
        return detected, broken
    note = Finding(
        rule="profile-not-detected",
        severity="note",
        subject="profile workstation",
        message=f"no profile knows cluster {cluster or '(none)'} or host {host}",
        fix=f"choose one with --profile; known: {', '.join(catalog.names())}",
    )
    return "workstation", [*broken, note]
