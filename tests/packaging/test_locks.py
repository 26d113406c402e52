"""The locks in requirements/: complete, with hashes, and without an address."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.locks import FOLDER, Pin, read_lock
from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = [f"3.{minor}.{patch}" for minor in range(10, 15) for patch in (0, 99)]
DEBIAN = ["3.11.2"]  # of the test cluster
# The lock, the groups of pyproject.toml that it is made from, and the Pythons that it is for.
LOCKS = {
    "axolotl": (("axolotl",), DEBIAN),
    "build": (("build",), PYTHONS),
    "composer": (("composer",), DEBIAN),
    "images-cpu": (("images",), DEBIAN),
    "images-cuda": (("images",), DEBIAN),
    "llamafactory": (("llamafactory",), DEBIAN),
    "ms-swift": (("ms-swift",), DEBIAN),
    "oumi": (("oumi",), DEBIAN),
    "programs": (("programs",), DEBIAN),
    "recipes": (("recipes",), DEBIAN),
    "release": (("release",), PYTHONS),
    "run": (("dependencies",), PYTHONS),
    "runtimes": (("runtimes",), DEBIAN),
    "sglang": (("sglang",), DEBIAN),
    "sources": (("sources",), DEBIAN),
    "test": (("dependencies", "test"), PYTHONS),
    "tools": (("tools",), DEBIAN),
    "trl": (("trl",), DEBIAN),
    "vllm": (("vllm",), DEBIAN),
}
ALIKE = ("build", "run")  # parts of the lock of the tests
locks = pytest.mark.parametrize("name", LOCKS)
# Hosts of registries and mirrors: of Python, PyTorch, Debian, npm.
ADDRESS = re.compile(
    r"pypi\.org|pythonhosted\.org|pypi\.python\.org|download\.pytorch\.org"
    r"|deb\.debian\.org|ftp[.\w]*\.debian\.org|security\.debian\.org|registry\.npmjs"
    r"|npmjs\.(?:org|com)|docker\.io/library|--(?:extra-)?index-url[ =]\S*:"
)
# Names of images and indexes as users write them: the subject of these files.
IMAGES = (
    "envcfg/image/podman_store.py",
    "tests/image/test_podman_store.py",
    "tests/image/test_recipe.py",
)


def declared(group: str) -> Iterator[Requirement]:
    """Yield the requirements of a group, with those of the groups in it."""
    entries: list[Any] = (
        PROJECT["project"]["dependencies"]
        if group == "dependencies"
        else PROJECT["dependency-groups"][group]
    )
    for entry in entries:
        if isinstance(entry, str):
            yield Requirement(entry)
        else:
            yield from declared(entry["include-group"])


def pins_for(name: str, python: str) -> dict[str, Pin]:
    """Return the pins of a lock for a Python by their names; no name has two."""
    pins = [pin for pin in read_lock(FOLDER / f"{name}.txt") if pin.is_for(python)]
    by_name = {pin.name: pin for pin in pins}
    assert len(pins) == len(by_name)
    return by_name


def test_each_group_has_a_lock_and_each_lock_a_group() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(LOCKS)
    groups = {group for sources, _ in LOCKS.values() for group in sources}
    assert groups == {"dependencies", *PROJECT["dependency-groups"]}
    required = {Requirement(each).name for each in PROJECT["build-system"]["requires"]}
    assert required <= {requirement.name for requirement in declared("build")}


@locks
def test_a_lock_has_each_declared_requirement(name: str) -> None:
    groups, pythons = LOCKS[name]
    for python in pythons:
        pins = pins_for(name, python)
        where = {"python_version": python.rpartition(".")[0], "extra": ""}
        for group in groups:
            for requirement in declared(group):
                if requirement.marker and not requirement.marker.evaluate(where):
                    continue
                pin = pins.get(canonicalize_name(requirement.name))
                assert pin, f"{requirement} for Python {python}: run scripts/lock"
                assert requirement.specifier.contains(pin.version), str(requirement)


@locks
def test_each_pin_has_a_version_and_hashes(name: str) -> None:
    pins = list(read_lock(FOLDER / f"{name}.txt"))
    assert pins
    for pin in pins:
        (specifier,) = pin.requirement.specifier
        assert specifier.operator == "=="
        assert pin.requirement.url is None
        assert pin.hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in pin.hashes)


@locks
def test_a_lock_holds_no_address_and_no_option(name: str) -> None:
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        assert "://" not in line
        assert re.match(r"#|[a-z0-9]|    (--hash=|#)", line), line


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("python", PYTHONS)
def test_parts_of_a_lock_agree_with_it(name: str, python: str) -> None:
    whole = pins_for("test", python)
    for pin in pins_for(name, python).values():
        assert pin.version == whole[pin.name].version
        assert set(pin.hashes) == set(whole[pin.name].hashes)


def test_the_lock_of_the_tests_has_what_its_packages_require() -> None:
    """For this Python; scripts/lock resolves for all of them."""
    pins = pins_for("test", ".".join(map(str, sys.version_info[:3])))
    for name in pins:
        for text in requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert canonicalize_name(requirement.name) in pins, f"{name}: {text}"


def test_both_locks_of_images_differ_in_pytorch_alone() -> None:
    (python,) = DEBIAN
    cpu, cuda = (pins_for(f"images-{kind}", python) for kind in ("cpu", "cuda"))
    assert cpu["torch"].version == f"{cuda['torch'].version}+cpu"
    assert set(cpu) <= set(cuda)
    others = set(cpu) - {"torch"}
    assert {name: cpu[name].version for name in others} == {
        name: cuda[name].version for name in others
    }
    brought = set(cuda) - set(cpu)
    assert all(re.match("nvidia-|cuda-|triton", name) for name in brought), brought


def tracked() -> list[str]:
    """Return the files of the project, with those that are not committed yet."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def test_no_file_holds_the_address_of_a_registry() -> None:
    for name in set(tracked()) - set(IMAGES):
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        found = ADDRESS.search(text)
        assert found is None, f"{name}: {found and found[0]}"


def test_locks_of_npm_hold_no_address() -> None:
    for name in tracked():
        if Path(name).name == "package-lock.json":
            data = json.loads((ROOT / name).read_text(encoding="utf-8"))
            for package, entry in data["packages"].items():
                assert "resolved" not in entry, package
                assert not package or "integrity" in entry or "link" in entry, package
