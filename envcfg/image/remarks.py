"""What is to be said of an image beside its facts: labels, programs, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from envcfg.findings import Finding
from envcfg.image.environment import Variable
from envcfg.image.record import ImageFact
from envcfg.image.signs import load_signs


def with_labels(
    facts: list[ImageFact], labels: Mapping[str, str]
) -> tuple[list[ImageFact], list[Finding]]:
    """Add what labels state; where files say otherwise, the files count."""
    findings = []
    for label, value in labels.items():
        match = re.fullmatch(load_signs().labels, label)
        if match is None or not re.fullmatch(r"\d+(\.\d+)*", value):
            continue
        name, evidence = match["fact"], f"label {label}"
        read = next((f for f in facts if f.name == name and f.taken), None)
        facts.append(
            ImageFact(name, value, evidence, why="the maker of the image says so")
        )
        if read and not agree(read.value, value):
            msg = f"the label says {value}, and {read.evidence} says {read.value}"
            fix = "what the files say counts; state another with --fact, or mend the label"
            findings.append(Finding("image-label-wrong", "warning", label, msg, fix))
    return facts, findings


def agree(one: str, other: str) -> bool:
    """Tell whether two versions are the same as far as both go; ``yes`` fits any."""
    left, right = one.split("."), other.split(".")
    short = min(len(left), len(right))
    return one == "yes" or left[:short] == right[:short]


def unread_remarks(parts: Sequence[str]) -> Iterator[Finding]:
    """Remark on what of the image was not read."""
    for part in parts:
        yield Finding(
            "image-part-unread",
            "warning",
            part,
            "is not read, and may say otherwise",
            "state with --fact what envcfg gets wrong",
        )


def torch_remarks(places: Sequence[str]) -> Iterator[Finding]:
    """Remark on PyTorch in several *places*."""
    if len(places) > 1:
        msg = f"is in {len(places)} places: {', '.join(places)}"
        fix = f"{places[0]} counts; activate the one that is meant, or state it: --fact"
        yield Finding("image-torch-twice", "note", "torch", msg, fix)


def program_remarks(facts: Sequence[ImageFact]) -> Iterator[Finding]:
    """Remark on programs that envcfg's bash needs in the image."""
    there = {each.name for each in facts}
    if "sh" not in there:
        msg = "is not in the image; every rank starts by it"
        yield Finding(
            "image-no-shell", "error", "/bin/sh", msg, "add a shell to the image"
        )
    if "mkdir" not in there:
        msg = "is not in the image; node-local caches need it"
        yield Finding(
            "image-no-mkdir", "warning", "mkdir", msg, "add coreutils or busybox"
        )


def variable_remarks(variables: Mapping[str, Variable]) -> Iterator[Finding]:
    """Remark on variables by which jobs talk, where the image sets them."""
    pattern = re.compile(load_signs().variables)
    for name, each in sorted(variables.items()):
        if pattern.fullmatch(name):
            msg = f"the image sets it to {each.value[:120]!r} ({each.evidence})"
            why = (
                "what the profile or --set says of it wins, as ranks set it themselves"
            )
            yield Finding("image-sets-variable", "note", name, msg, why=why)
