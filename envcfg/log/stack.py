"""Versions that a log shows, and that are known not to go together."""

from __future__ import annotations

import re

from envcfg.findings import Finding
from envcfg.log.expectations import Expectations
from envcfg.log.job import Job
from envcfg.log.process import Process, Sighting
from envcfg.log.rulebook import Rule
from envcfg.profile.conditions import FACTS, fact_problem
from envcfg.profile.stacks import Job as Known
from envcfg.profile.stacks import known_faults, load_stacks


def stack_findings(
    job: Job, expect: Expectations
) -> list[tuple[Finding, Sighting | None]]:
    """Return what is known of the versions that the log shows.

    A note at most: that these versions can fail does not say that this job has.
    """
    processes = list(job.everyone)
    facts: dict[str, str] = {}
    shown: Sighting | None = None
    for name, seen in _versions(processes).items():
        # Where ranks differ there is a finding already, and no one stack.
        if name in FACTS and len(seen) == 1:
            version, sighting = seen.popitem()
            if number := _numbers(version):
                facts[name], shown = number, shown or sighting
    if not facts:
        return []
    providers = {
        name.partition(";")[0] for each in processes for name in each.providers
    }
    settings = {
        name: value for each in processes for name, value in each.settings.items()
    }
    if nodes := len({each.host for each in processes if each.host and each.pid}):
        facts["nodes"] = str(nodes)
    known = Known(
        facts=facts,
        provider=providers.pop() if len(providers) == 1 else expect.provider,
        env=settings or None,
    )
    return [(each._replace(severity="note"), shown) for each in known_faults(known)]


def stack_rules() -> list[Rule]:
    """Return the same as rules, of which people ask what they mean."""
    return [
        Rule(
            id=each.id,
            severity=each.severity,
            meaning=f"{each.meaning}; {each.why}",
            fix=each.fix,
            source=f"{each.source}, {each.date}",
        )
        for each in load_stacks()
    ]


def _numbers(version: str) -> str:
    """Return what can be compared of a version: ``1.16.1`` of ``1.16.1-aws``."""
    found = re.match(r"[0-9.]*", version)
    kept = found[0].strip(".") if found else ""
    return kept if kept and fact_problem("plugin", kept) is None else ""


def _versions(processes: list[Process]) -> dict[str, dict[str, Sighting | None]]:
    """Return the versions by library, each with the line that shows it."""
    found: dict[str, dict[str, Sighting | None]] = {}
    for process in processes:
        for library, versions in process.versions.items():
            for version in versions:
                sighting = process.seen.get(f"version {library} {version}")
                found.setdefault(library, {}).setdefault(version, sighting)
        if process.package:
            sighting = process.seen.get("plugin-package")
            found.setdefault("plugin", {}).setdefault(process.package[-1], sighting)
    return found
