"""Read the locks in requirements/; as a program, show what is newer here than in a lock."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).parent.parent / "requirements"


class Pin(NamedTuple):
    """One version of a package in a lock.

    Attributes:
        requirement: ``name==version``, with the marker of the Pythons that it is for.
        hashes: as pip takes them: ``sha256:...``, one for each file of that version.
    """

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the name in its normal form."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """Return the version."""
        return str(self.requirement.specifier).removeprefix("==")

    def is_for(self, python: str) -> bool:
        """Tell whether it is for this version of Python (``3.12``), on Linux."""
        full = python if python.count(".") > 1 else f"{python}.99"
        where = {
            "python_version": ".".join(python.split(".")[:2]),
            "python_full_version": full,
            "sys_platform": "linux",
            "platform_python_implementation": "CPython",
        }
        marker = self.requirement.marker
        return marker is None or marker.evaluate(where)

    def line(self) -> str:
        """Return it as a line for pip, without its marker."""
        words = (f"{self.requirement.name}=={self.version}", *self.hashes)
        return " --hash=".join(words)


def read_lock(path: Path) -> Iterator[Pin]:
    """Yield the pins of a lock as uv writes it."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            words = line.split("--hash=")
            yield Pin(Requirement(words[0]), tuple(word.strip() for word in words[1:]))


def main(path: str) -> None:
    """Print each package that is newer here than in the lock at *path*."""
    python = ".".join(map(str, sys.version_info[:3]))
    here = {canonicalize_name(each.name): each.version for each in distributions()}
    locked = {
        pin.name: pin.version for pin in read_lock(Path(path)) if pin.is_for(python)
    }
    for name, version in sorted(here.items()):
        if version != locked.get(name) and name not in ("envcfg", "pip", "setuptools"):
            print(f"{name}: {locked.get(name, 'not locked')} -> {version}")


if __name__ == "__main__":
    main(sys.argv[1])
