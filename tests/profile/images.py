"""What may be known of a job's image, as far as it matters to a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from envcfg.profile.conditions import IN_JOB, Test
from envcfg.profile.profile_model import Profile

IMAGE = "pytorch.sif"
# What may be stated of an image: old, recent and new versions.
FACTS = {
    "cuda": ("12.4", "12.9", "13.0"),
    "libfabric": ("1.15.2", "2.1", "2.3.1"),
    "mpi": ("none", "mpich", "cray"),
    "nccl": ("2.21.5", "2.27.5", "2.28.9"),
    "plugin": ("1.4", "1.14.2", "1.18.0"),
    "rccl": ("2.20.5", "2.26.6", "2.27.7"),
    "rocm": ("6.2.4", "7.0.2", "7.2.1"),
    "torch": ("2.4.1", "2.8.0", "2.9.1"),
}
# Images that a condition on the container's name is for.
IMAGES = (
    "lumi-multitorch-full-u24r70f21m50t210.sif",
    "lumi-multitorch-full-u24r64f21m43t29-20260225_144743.sif",
)


class Stack(NamedTuple):
    """What is known of the image; *label* says so in a heading."""

    label: str = "nothing stated"
    facts: Mapping[str, str] = {}
    image: str = IMAGE


def stacks(profile: Profile) -> Iterator[Stack]:
    """Yield what may be known of an image and matters to the profile."""
    asked = (
        {test.fact for test in parts(profile, Test)} - IN_JOB - {"launcher", "runtime"}
    )
    yield Stack()
    for image in IMAGES if "container" in asked else ():
        yield Stack(f"container={image}", image=image)
    facts = sorted(asked - {"container"})
    for at in range(3) if facts else ():
        stated = {fact: FACTS[fact][at] for fact in facts}
        yield Stack(" ".join(map("=".join, stated.items())), stated)


def parts(value: object, kind: type[Any]) -> Iterator[Any]:
    """Yield everything of a kind in a profile, wherever it stands."""
    if isinstance(value, kind):
        yield value
    held = value.values() if isinstance(value, dict) else value
    for each in held if isinstance(value, (dict, tuple)) else ():
        yield from parts(each, kind)
