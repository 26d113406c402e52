"""What a probe asks nodes for, and what a profile is made of when they have said it."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from typing import Any

from envcfg import __version__
from envcfg.core.holding import Held
from envcfg.core.seen import Seen, cpus_of
from envcfg.core.site import DEVICES
from envcfg.profile.model import Profile
from envcfg.profile.site.model import Site
from envcfg.report.document import now_text
from envcfg.runtimes import NAMES, runtime


def asked_of(profile: Profile) -> tuple[tuple[str, ...], list[str]]:
    """Return the paths that each node is asked for, and in which words for the others."""
    found = [*DEVICES, *(profile.expect.devices if profile.expect else ())]
    found += profile.detect.devices if profile.detect else ()
    mounts = (each.bind for each in profile.binds.values() if each)
    found += (each.source for each in mounts if not each.refers)
    programs = {name: runtime(name).program for name in NAMES}
    words = [f"runtime={name}={each}" for name, each in programs.items() if each]
    return tuple(dict.fromkeys(found)), ["system", *words]


def measured(site: Site, seen: Seen) -> Site:
    """Return *site* with what its nodes have shown in place of what its login node has."""
    if not seen.nodes:
        return site
    node, there = seen.nodes[0], seen.up
    folders = [each for each in seen.rows("folder") if each[0] == "TMPDIR"]
    is_written = folders and all(each[2] == "yes" for each in folders)
    near = [row[3] for row in node.get("card", ())]
    is_nccl = seen.first("collective")[:1] == ("nccl",) and len(seen.nodes) > 1
    return site._replace(
        is_measured=True,
        host="its nodes",
        interfaces=tuple(row[0] for row in node.get("network", ()) if row[0] in there),
        adapters={row[0]: row[1] for row in node.get("adapter", ()) if row[0] in there},
        devices=tuple(row[1] for row in node.get("device", ()) if row[0] != "0"),
        runtimes=tuple(each for each in NAMES if each in seen.everywhere("runtime")),
        scratch=(folders[0][4], folders[0][5]) if is_written else None,
        masks=_masks_near(near) if len(near) == seen.shape[0] else (),
        bandwidth=int(float(seen.best[2])) if is_nccl and seen.best else None,
    )


def _masks_near(near: Sequence[str]) -> tuple[str, ...]:
    """Return a mask for each GPU: its share of the CPUs next to it; none: not known.

    Args:
        near: the CPUs next to each, in order; GPUs with the same CPUs share them out.
    """
    masks = []
    for number, text in enumerate(near):
        cpus, users = sorted(cpus_of(text)), near.count(text)
        size, at = len(cpus) // users, near[:number].count(text)
        masks.append(f"0x{sum(1 << each for each in cpus[at * size :][:size]):x}")
    return () if "0x0" in masks else tuple(masks)


def probe_document(
    profile: tuple[str, str],
    facts: Mapping[str, str],
    seen: Seen,
    held: Sequence[Held],
    private: Mapping[str, str],
) -> dict[str, Any]:
    """Return all that was seen, with what names somebody replaced.

    Args:
        profile: its name and SHA-256.
        facts: by which its conditions were decided.
        seen: by the nodes and ranks; *held*: its values.
        private: what stands for each name that the document must not have.
    """
    parts = (
        re.escape(name) if name[0] == "/" else rf"(?<![\w-]){re.escape(name)}"
        for name in sorted(filter(None, private), key=len, reverse=True)
    )
    found = re.compile(f"(?:{'|'.join(parts)})(?![\\w-])")

    def cleaned(value: Any) -> Any:  # noqa: ANN401  # any part of it
        if isinstance(value, str):
            return found.sub(lambda each: private.get(each[0], each[0]), value)
        if isinstance(value, Mapping):
            return {name: cleaned(each) for name, each in value.items()}
        return [cleaned(each) for each in value]

    return {
        "schema_version": 1,
        "time": now_text(),
        "envcfg": __version__,
        "profile": {"name": profile[0], "sha256": profile[1]},
        "facts": cleaned(facts),
        "values": [
            {
                "section": each.section,
                "name": each.name,
                "value": cleaned(each.value),
                "verdict": each.verdict,
                "seen": cleaned(each.seen),
                "file": os.path.basename(each.place.path),
                "line": each.place.line,
            }
            for each in held
        ],
        "job": cleaned(seen.job),
        "nodes": cleaned(seen.nodes),
    }
