"""What the PyTorch of an image loads, of all that lies beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envcfg.image.record import ImageFact
from envcfg.image.remarks import agree
from envcfg.image.tree import Tree

# What a PyTorch that is made for one kind of GPU does not load, and what it says itself.
_OTHER_KIND = {"rocm": ("cuda", "nccl"), "cuda": ("rocm", "rccl")}
_SPELT = {"rocm": "ROCm", "cuda": "CUDA"}
_OWN = ("torch", "cuda")


def said_by_torch(facts: Sequence[ImageFact], counted: str | None) -> dict[str, str]:
    """Return what the PyTorch that counts says of itself: its version, CUDA or ROCm.

    Args:
        facts: those of packages and texts.
        counted: the folder of packages whose PyTorch counts.
    """
    mine = [each for each in facts if each.evidence == f"{counted}/torch/version.py"]
    return {each.name: each.value for each in reversed(mine)}


def fitting(facts: Sequence[ImageFact], said: Mapping[str, str]) -> list[ImageFact]:
    """Let only count what PyTorch can load: packages of others may lie beside it.

    A wheel that is left over, or was installed for something else, is no fact of the job.

    Args:
        facts: of packages, texts or libraries.
        said: what PyTorch says of itself.
    """
    kinds = said.keys() & _OTHER_KIND.keys()
    kind = kinds.pop() if len(kinds) == 1 else ""
    others = _OTHER_KIND.get(kind, ())
    found = [
        each._replace(taken=False, why=f"PyTorch is made for {_SPELT[kind]}")
        if each.name in others
        else each
        for each in facts
    ]
    found.sort(key=lambda each: each.name in _OWN and not _agrees(each, said))
    return found


def _agrees(fact: ImageFact, said: Mapping[str, str]) -> bool:
    return fact.name not in said or agree(said[fact.name], fact.value)


def prefer_wheel(
    tree: Tree, facts: list[ImageFact], counted: str | None
) -> list[ImageFact]:
    """Let the ROCm that PyTorch brings count before the system's: it is what it loads."""
    libraries = tree.names(f"{counted}/torch/lib") if counted else []
    if not any(each.startswith("libamdhip64.so") for each in libraries):
        return facts
    why = "PyTorch brings its own ROCm, and loads that"
    mine = [
        each._replace(why=why)
        for each in facts
        if each.name == "rocm" and each.evidence.startswith(f"{counted}/")
    ]
    left = [
        each
        for each in facts
        if each.name != "rocm" or each._replace(why=why) not in mine
    ]
    return [*mine, *left]
