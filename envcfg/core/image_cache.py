"""Facts of the image of a step, read once and cached.

The entry is identified by the image's file: path, size, time of change and inode. It is
read again if the reading code has changed, because an update may keep the version.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from envcfg import image as image_room
from envcfg.common.cache import remember
from envcfg.common.characters import one_line
from envcfg.common.datafile import stamp
from envcfg.common.findings import Finding
from envcfg.common.provenance import sha256_of
from envcfg.job.plan.plan import ImageFacts

if TYPE_CHECKING:
    from envcfg.image.image_record import Inspection

_CPU_BUILD = "+cpu"  # the local part of the version of PyTorch's wheels for CPUs
PATIENCE = 10.0  # seconds for a first look, because a script waits for it
MEGABYTES = 1000.0  # memory for it; login nodes limit each user


def identify(path: str) -> tuple[str, int, int, int] | None:
    """Return the identity of the file *path*; None if it is not a regular file.

    It consists of the path, the size, the last change in nanoseconds, and the inode.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    real = os.path.realpath(path)
    return real, status.st_size, status.st_mtime_ns, status.st_ino


def read_image(image: str) -> tuple[ImageFacts, list[Finding]]:
    """Return the facts of *image*, and the findings from reading it.

    An image that is not a file or folder here has no facts.
    """
    if not os.path.exists(image):
        return ImageFacts(), []
    facts, why, is_damaged, is_new = ImageFacts(), "", False, False

    def look() -> dict[str, Any] | None:
        nonlocal facts, why, is_damaged, is_new
        is_new = True
        empty = (facts, "an empty file", True)
        facts, why, is_damaged = empty if size == 0 else _look(image)
        # Failures are not cached: rights, a file system or this Python may change.
        return None if why else facts._asdict()

    path, size, time, _ = identity = identify(image) or (image, None, 0, 0)
    if size is None:
        look()
    else:
        name = sha256_of(os.fsencode(path))[:32]
        # Files are replaced, not modified.
        room = stamp(os.path.dirname(image_room.__file__))[-1]
        key = [*identity, room, *ImageFacts._fields]
        if entry := remember(f"images/{name}", key, look):
            facts = ImageFacts(**entry)
    findings = []
    if is_damaged:
        message = f"no runtime can start this image: {why}"
        fix = "copy or build it once more; --no-inspect does not read it"
        findings.append(Finding("image-damaged", "warning", image, message, fix))
    elif why:
        reason = f"its facts are not known: {why}"
        fix = "state them by --fact; envcfg inspect takes the time that it needs, "
        fix += "and says more; --no-inspect does not try"
        findings.append(Finding("image-not-read", "note", image, reason, fix))
    elif is_new and size is not None:
        text = ", ".join(f"{name} {value}" for name, (value, _) in facts.facts.items())
        reason = f"was read for the first time: {text or 'none of the facts is in it'}"
        fix = "envcfg inspect shows all that is in it"
        findings.append(Finding("image-read", "note", image, reason, fix))
    if size is not None and facts.facts:
        # The stamp has whole seconds, because stat in the job prints no fractions.
        facts = facts._replace(stamp=f"{size} {time // 10**9}")
    return facts, findings


def step_facts(inspection: Inspection) -> dict[str, tuple[str, str]]:
    """Return the facts for conditions: the value of each, and its place.

    A fact that depends on the activated environment is left out. So is the version of a
    PyTorch for CPUs, because conditions on it concern GPUs.
    """
    from envcfg.image.fact_patterns import load_signs
    from envcfg.image.image_facts import unclear_facts
    from envcfg.profile.conditions import usable_versions

    unclear = unclear_facts(inspection)
    image_facts = {
        n: image_fact
        for n, image_fact in inspection.taken().items()
        if n not in unclear
    }
    if (torch := image_facts.get("torch")) and _CPU_BUILD in torch.evidence:
        del image_facts["torch"]
    usable = usable_versions(
        {name: image_fact.value for name, image_fact in image_facts.items()}
    )
    facts = {name: (usable[name], image_facts[name].evidence) for name in usable}
    # Facts that are no versions: they have no conditions.
    for name in ("architecture", *(sign.fact for sign in load_signs().extensions)):
        if image_fact := image_facts.get(name):
            facts[name] = (image_fact.value, image_fact.evidence)
    return facts


def runtime_here() -> str | None:
    """Return the program that reads images which envcfg cannot read, if it is here."""
    from shutil import which

    return next(filter(which, ("apptainer", "singularity")), None)


def plugin_state(inspection: Inspection) -> str:
    """Return whether the image's NCCL loads a plug-in for libfabric.

    ``present``, ``missing``, ``unknown``; ``needless`` if it has neither NCCL nor RCCL.
    """
    from envcfg.image.image_facts import unclear_facts

    facts = inspection.taken().keys()
    if not facts & {"nccl", "rccl"}:
        return "needless"
    # A plug-in without the name of its maker may be one for another network.
    if inspection.metadata.unread or unclear_facts(inspection) & {"nccl", "rccl"}:
        return "unknown"
    if "plugin" in facts:
        return "present"
    return "unknown" if "interfaces" in facts else "missing"


def _look(image: str) -> tuple[ImageFacts, str, bool]:
    """Read the image, within the time that a script can wait.

    Returns:
        The facts; the reason if nothing was read; whether no runtime can start it.
    """
    from contextlib import suppress

    from envcfg.common.budget import Budget, SpentError
    from envcfg.common.errors import ImageError
    from envcfg.image.bounded_file import DamageError
    from envcfg.image.command_imports import command_imports
    from envcfg.image.image_facts import inspect_tree
    from envcfg.image.metadata import bases_of
    from envcfg.image.open_image import open_image
    from envcfg.image.tree import DeadlineTree, TimeIsUpError

    is_damaged = False
    budget = Budget(image, seconds=PATIENCE, megabytes=MEGABYTES)
    try:
        with budget, open_image(image, program=runtime_here()) as (tree, metadata):
            patient = DeadlineTree(tree, PATIENCE)
            inspection = inspect_tree(patient, metadata, image)
            image_metadata = inspection.metadata
            bases: tuple[str, ...] = ()
            imports: dict[str, tuple[str, str]] = {}
            if not tree.is_closed:
                bases = bases_of(patient, image_metadata.labels)
                with suppress(TimeIsUpError):  # the facts count without them
                    imports = command_imports(patient, image_metadata.environment)
            facts, plugin = step_facts(inspection), plugin_state(inspection)
            return ImageFacts(facts, bases, "", imports, plugin), "", False
    except TimeIsUpError:
        why = f"it takes longer than {PATIENCE:.0f} s"
    except (ImageError, SpentError) as err:
        why = err.message.removeprefix(f"{image}: ")
        is_damaged = isinstance(err.__cause__, DamageError)
    except OSError as err:
        is_damaged = isinstance(err, DamageError)
        why = err.strerror or str(err)
    except Exception as err:  # noqa: BLE001  # a job must not fail because of a fact
        why = f"a bug in envcfg, which envcfg inspect shows: {type(err).__name__}"
    return ImageFacts(), one_line(why), is_damaged
