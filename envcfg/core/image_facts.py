"""What the image of a step tells of itself, read once and kept for the next time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envcfg.cache import kept_folder
from envcfg.characters import one_line
from envcfg.findings import Finding
from envcfg.image.cache import CachedImage, identify, keep, recall
from envcfg.launch.plan import Read

if TYPE_CHECKING:
    from envcfg.image.record import Inspection

_CPU_BUILD = "+cpu"  # the local part of the version of PyTorch's wheels for CPUs
PATIENCE = 10.0  # seconds for a first look: a script waits for it
MEGABYTES = 1000.0  # that it may take: a login node has no more for one user


def read_image(image: str) -> tuple[Read, list[Finding]]:
    """Return what *image* shows, and what is to be said of the reading.

    Args:
        image: a file or a folder that is here; anything else shows nothing.
    """
    if not os.path.exists(image):
        return Read(), []
    known, folder = identify(image), kept_folder(os.environ)
    kept = recall(folder, known) if known and folder else None
    is_empty = known is not None and known.size == 0
    memory = kept or (CachedImage(why="an empty file") if is_empty else _look(image))
    # What has failed may not fail again: rights, a file system, this Python.
    if known and folder and not kept and not memory.why:
        keep(folder, known, memory)
    findings = []
    if memory.why:
        said = f"its facts are not known: {memory.why}"
        fix = (
            "state them by --fact; envcfg inspect takes the time that it needs, and says "
            "more; --no-inspect does not try"
        )
        findings.append(Finding("image-not-read", "note", image, said, fix))
    elif known and not kept:
        shown = ", ".join(
            f"{fact} {value}" for fact, (value, _) in memory.facts.items()
        )
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
            return CachedImage(
                step_facts(found), bases_of(patient, found.metadata.labels)
            )
    except TimeIsUpError:
        why = f"it takes longer than {PATIENCE:.0f} s"
    except (ImageError, SpentError) as err:
        why = err.message.removeprefix(f"{image}: ")
    except OSError as err:
        why = err.strerror or str(err)
    except Exception as err:  # noqa: BLE001  # a job must not fail for a fact
        why = f"a bug in envcfg, which envcfg inspect shows: {type(err).__name__}"
    return CachedImage(why=one_line(why))
