"""What the image of a step tells of itself, read once and kept for the next time.

It is kept by the image's file, in a user's folder: an image is the same as long as path,
size, time of change and inode are. It is read anew when what reads it has changed: an
update need not change the version.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from envcfg import cache, image
from envcfg.characters import one_line
from envcfg.datafile import stamp
from envcfg.findings import Finding
from envcfg.launch.plan import Read

if TYPE_CHECKING:
    from envcfg.image.record import Inspection

_CPU_BUILD = "+cpu"  # the local part of the version of PyTorch's wheels for CPUs
PATIENCE = 10.0  # seconds for a first look: a script waits for it
MEGABYTES = 1000.0  # that it may take: a login node has no more for one user


class Identity(NamedTuple):
    """By what a file is known again."""

    path: str
    size: int
    time: int  # of its last change, in nanoseconds
    inode: int


class CachedImage(NamedTuple):
    """What is kept of an image.

    Attributes:
        facts: the value of each, and where in the image it stands.
        bases: the images that it was made from, the nearest first.
        why: why nothing was read, if so.
    """

    facts: Mapping[str, tuple[str, str]] = {}
    bases: tuple[str, ...] = ()
    why: str = ""


def identify(path: str) -> Identity | None:
    """Return by what the file *path* is known again; None if it is not a regular file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    real = os.path.realpath(path)
    return Identity(real, status.st_size, status.st_mtime_ns, status.st_ino)


def recall(folder: str, known: Identity) -> CachedImage | None:
    """Return what is kept of the image *known* in *folder*, or None."""
    found = cache.recall(f"{folder}/images", *_known_by(known))
    try:
        facts = {
            str(name): (str(value), str(evidence))
            for name, (value, evidence) in found["facts"].items()
        }
        return CachedImage(facts, tuple(map(str, found["bases"])), str(found["why"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # as good as nothing: it is read anew


def keep(folder: str, known: Identity, read: CachedImage) -> None:
    """Keep in *folder* what was read of the image *known*."""
    cache.keep(f"{folder}/images", *_known_by(known), read._asdict())


def _known_by(known: Identity) -> tuple[str, list[str | int]]:
    """Return name and key of what is kept; files are replaced, not written to."""
    from envcfg.provenance import sha256_of

    name = sha256_of(os.fsencode(known.path))[:32]
    return name, [*known, stamp(os.path.dirname(image.__file__))[-1]]


def read_image(image: str) -> tuple[Read, list[Finding]]:
    """Return what *image* shows, and what is to be said of the reading.

    What is not a file or folder here shows nothing.
    """
    if not os.path.exists(image):
        return Read(), []
    known, folder = identify(image), cache.kept_folder(os.environ)
    kept = recall(folder, known) if known and folder else None
    is_empty = known is not None and known.size == 0
    memory = kept or (CachedImage(why="an empty file") if is_empty else _look(image))
    # What has failed may not fail again: rights, a file system, this Python.
    if known and folder and not kept and not memory.why:
        keep(folder, known, memory)
    findings = []
    if memory.why:
        said = f"its facts are not known: {memory.why}"
        fix = "state them by --fact; envcfg inspect takes the time that it needs, "
        fix += "and says more; --no-inspect does not try"
        findings.append(Finding("image-not-read", "note", image, said, fix))
    elif known and not kept:
        shown = ", ".join(f"{name} {said}" for name, (said, _) in memory.facts.items())
        said = f"was read for the first time: {shown or 'none of the facts is in it'}"
        fix = "envcfg inspect shows all that is in it"
        findings.append(Finding("image-read", "note", image, said, fix))
    stamp = f"{known.size} {known.time // 10**9}" if known and memory.facts else ""
    return Read(memory.facts, memory.bases, stamp), findings


def step_facts(found: Inspection) -> dict[str, tuple[str, str]]:
    """Return those facts that conditions ask for: the value of each, and its place.

    A fact that depends on which environment of the image a job activates is none; nor is
    the version of a PyTorch for CPUs, as conditions on it are about its way with GPUs.
    """
    from envcfg.image.facts import unclear_facts
    from envcfg.profile.conditions import usable_versions

    unclear = unclear_facts(found)
    taken = {n: each for n, each in found.taken().items() if n not in unclear}
    if (torch := taken.get("torch")) and _CPU_BUILD in torch.evidence:
        del taken["torch"]
    usable = usable_versions({name: each.value for name, each in taken.items()})
    facts = {name: (usable[name], taken[name].evidence) for name in usable}
    if architecture := taken.get("architecture"):
        facts["architecture"] = (architecture.value, architecture.evidence)
    return facts


def _look(image: str) -> CachedImage:
    """Read the image, for as long as a script can wait."""
    from envcfg.budget import Budget, SpentError
    from envcfg.errors import ImageError
    from envcfg.image.facts import inspect_tree
    from envcfg.image.metadata import bases_of
    from envcfg.image.open import open_image
    from envcfg.image.tree import DeadlineTree, TimeIsUpError

    budget = Budget(image, seconds=PATIENCE, megabytes=MEGABYTES)
    try:
        with budget, open_image(image) as (tree, metadata):
            patient = DeadlineTree(tree, PATIENCE)
            found = inspect_tree(patient, metadata, image)
            bases = bases_of(patient, found.metadata.labels)
            return CachedImage(step_facts(found), bases)
    except TimeIsUpError:
        why = f"it takes longer than {PATIENCE:.0f} s"
    except (ImageError, SpentError) as err:
        why = err.message.removeprefix(f"{image}: ")
    except OSError as err:
        why = err.strerror or str(err)
    except Exception as err:  # noqa: BLE001  # a job must not fail for a fact
        why = f"a bug in envcfg, which envcfg inspect shows: {type(err).__name__}"
    return CachedImage(why=one_line(why))
