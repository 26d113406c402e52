"""The questions of a probe to nodes, and the profile made from the answers."""

import os.path
import re
from collections.abc import Mapping, Sequence
from typing import Any

from envcfg import __version__
from envcfg.backends.runtimes import NAMES, runtime
from envcfg.common.characters import core_numbers
from envcfg.common.provenance import now_text
from envcfg.profile.profile_model import Profile
from envcfg.site.machine import DEVICES
from envcfg.site.machine_facts import Site
from envcfg.site.observations import Observations
from envcfg.site.profile_comparison import Comparison


def asked_of(profile: Profile) -> tuple[tuple[str, ...], list[str]]:
    """Return the paths to examine on each node, and the words for the other questions."""
    paths = [*DEVICES, *(profile.expect.devices if profile.expect else ())]
    paths += profile.detect.devices if profile.detect else ()
    mounts = (bind.bind for bind in profile.binds.values() if bind)
    paths += (mount.source for mount in mounts if not mount.refers)
    programs = {name: runtime(name).program for name in NAMES}
    words = [
        f"runtime={name}={program}" for name, program in programs.items() if program
    ]
    return tuple(dict.fromkeys(paths)), ["system", *words]


def measured(site: Site, observations: Observations) -> Site:
    """Return *site* with the facts of its nodes instead of its login node."""
    if not observations.nodes:
        return site
    node, names_up = observations.nodes[0], observations.up
    folders = [row for row in observations.rows("folder") if row[0] == "TMPDIR"]
    is_written = folders and all(folder[2] == "yes" for folder in folders)
    near = [row[3] for row in node.get("card", ())]
    is_nccl = (
        observations.first("collective")[:1] == ("nccl",)
        and len(observations.nodes) > 1
    )
    return site._replace(
        is_measured=True,
        host="its nodes",
        interfaces=tuple(
            row[0] for row in node.get("network", ()) if row[0] in names_up
        ),
        adapters={
            row[0]: row[1] for row in node.get("adapter", ()) if row[0] in names_up
        },
        devices=tuple(row[1] for row in node.get("device", ()) if row[0] != "0"),
        runtimes=tuple(
            name for name in NAMES if name in observations.everywhere("runtime")
        ),
        scratch=(folders[0][4], folders[0][5]) if is_written else None,
        masks=_masks_near(near) if len(near) == observations.shape[0] else (),
        bandwidth=int(float(observations.best[2]))
        if is_nccl and observations.best
        else None,
    )


def _masks_near(near: Sequence[str]) -> tuple[str, ...]:
    """Return a mask for each GPU: its share of the nearest CPUs; empty: unknown.

    Args:
        near: the CPUs next to each GPU, in order; GPUs with the same CPUs share them.
    """
    masks = []
    for number, text in enumerate(near):
        cpus, users = sorted(core_numbers(text)), near.count(text)
        size, index = len(cpus) // users, near[:number].count(text)
        masks.append(f"0x{sum(1 << cpu for cpu in cpus[index * size :][:size]):x}")
    return () if "0x0" in masks else tuple(masks)


def probe_document(
    profile: tuple[str, str],
    facts: Mapping[str, str],
    observations: Observations,
    contained: Sequence[Comparison],
    private: Mapping[str, str],
) -> dict[str, Any]:
    """Return all observations, with private names replaced.

    Args:
        profile: its name and SHA-256.
        facts: the facts that decided its conditions.
        observations: from nodes and ranks; *contained*: the compared values.
        private: the replacement for each name that the document must not contain.
    """
    parts = (
        re.escape(name) if name[0] == "/" else rf"(?<![\w-]){re.escape(name)}"
        for name in sorted(filter(None, private), key=len, reverse=True)
    )
    pattern = re.compile(f"(?:{'|'.join(parts)})(?![\\w-])")

    def cleaned(value: Any) -> Any:  # noqa: ANN401  # any part of it
        if isinstance(value, str):
            return pattern.sub(lambda match: private.get(match[0], match[0]), value)
        if isinstance(value, Mapping):
            return {name: cleaned(element) for name, element in value.items()}
        return [cleaned(element) for element in value]

    return {
        "schema_version": 1,
        "time": now_text(),
        "envcfg": __version__,
        "profile": {"name": profile[0], "sha256": profile[1]},
        "facts": cleaned(facts),
        "values": [
            {
                "section": comparison.section,
                "name": comparison.name,
                "value": cleaned(comparison.value),
                "verdict": comparison.verdict,
                "seen": cleaned(comparison.seen),
                "file": os.path.basename(comparison.place.path),
                "line": comparison.place.line,
            }
            for comparison in contained
        ],
        "job": cleaned(observations.job),
        "nodes": cleaned(observations.nodes),
    }
