"""The wheels of the archive: fetched as requirements/run.txt locks them, and unpacked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_wheel_filename

from scripts.locks import FOLDER, read_lock

ROOT = Path(__file__).parent.parent.parent
# What rich asks for and imports only to show Markdown and source code, which nobody does
# here: 10 MB.
LEFT_OUT = {"markdown-it-py", "pygments"}
_GLIBC = ("manylinux_2_17", "manylinux2014", "manylinux_2_28")  # RHEL 8 has 2.28


class Target(NamedTuple):
    """What an archive is to run on, beside pure Python: 3.11, x86_64."""

    python: str
    machine: str


def build_own(folder: Path, options: Sequence[str]) -> Path:
    """Build envcfg's wheel into *folder*; *options* are pip's. Return its path."""
    words = ("--no-deps", "--no-build-isolation", "--wheel-dir", str(folder))
    _pip("wheel", *words, *options, str(ROOT))
    return next(folder.glob("envcfg-*.whl"))


def fetch(
    own: Path, targets: Iterable[Target], folder: Path, options: Sequence[str]
) -> list[Path]:
    """Fetch into *folder* what the wheel *own* requires on each target.

    Returns:
        all wheels there, *own* not among them.

    Raises:
        ValueError: one of them requires what is not fetched.
    """
    folder.mkdir()
    for target in targets:
        chosen = [f"--platform={glibc}_{target.machine}" for glibc in _GLIBC]
        chosen += [f"--python-version={target.python}", "--only-binary=:all:"]
        chosen += ["--no-deps", "--require-hashes"]
        lines = _locked(_requirements(own, target.python), target.python)
        (folder / "wanted.txt").write_text("\n".join(lines), encoding="utf-8")
        chosen += ["-r", str(folder / "wanted.txt")]
        _pip("download", "-d", str(folder), *chosen, *options)
    wheels = sorted(folder.glob("*.whl"))
    there = {parse_wheel_filename(wheel.name)[0] for wheel in wheels} | LEFT_OUT
    for wheel in wheels:
        for each in _requirements(wheel, "3.10"):
            if canonicalize_name(each.name) not in there:
                msg = (
                    f"{wheel.name} requires {each}, which is not fetched: decide on it"
                )
                raise ValueError(msg)
    return wheels


def unpack(wheel: Path, tree: Path) -> None:
    """Unpack a wheel into *tree*; its extension modules below ``native/MACHINE``."""
    tags = parse_wheel_filename(wheel.name)[3]
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            place = _place(name, tags)
            if place is not None:
                path = tree / place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))
                if name.endswith(".so"):
                    _strip(path)


def close_namespaces(tree: Path) -> None:
    """Give each folder of modules that several wheels share (``backports``) its file."""
    for folder in tree.iterdir():
        is_code = folder.name != "native" and not folder.name.endswith(".dist-info")
        if folder.is_dir() and is_code and not (folder / "__init__.py").exists():
            (folder / "__init__.py").touch()


def _place(name: str, tags: Iterable[Tag]) -> str | None:
    """Return where a file of a wheel goes; None: nowhere."""
    folder, _, file = name.rpartition("/")
    if name.endswith("/") or "/tests/" in name:
        return None
    if name.endswith(".so"):
        machines = {tag.platform.partition("_")[2] for tag in tags}
        machine = next(
            m for m in ("x86_64", "aarch64") if any(m in x for x in machines)
        )
        return f"native/{machine}/{name}"
    if ".dist-info" in folder or folder.endswith(".dist-info"):
        # Which versions these are, and their licences, which must go with them.
        is_wanted = (
            file == "METADATA" or "LICEN" in file.upper() or "/licenses" in folder
        )
        return name if is_wanted else None
    return None if ".data/" in name or file.endswith((".pyi", ".h", ".c")) else name


def _strip(path: Path) -> None:
    """Leave out what only debuggers read; PyYAML's is a seventh without it."""
    for prefix in ("", "aarch64-linux-gnu-", "x86_64-linux-gnu-"):
        if strip := shutil.which(f"{prefix}strip"):
            argv = [strip, "--strip-unneeded", str(path)]
            done = subprocess.run(argv, stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 0:
                return


def _requirements(wheel: Path, python: str) -> Iterator[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().partition("\n\n")[0].splitlines()
    for line in lines:
        if line.startswith("Requires-Dist: "):
            found = Requirement(line.partition(": ")[2])
            where = {"python_version": python, "extra": ""}
            if found.marker is None or found.marker.evaluate(where):
                found.marker = None
                yield found


def _locked(requirements: Iterable[Requirement], python: str) -> Iterator[str]:
    """Yield the line of the lock for each requirement."""
    pins = {
        pin.name: pin for pin in read_lock(FOLDER / "run.txt") if pin.is_for(python)
    }
    for requirement in requirements:
        pin = pins.get(canonicalize_name(requirement.name))
        if pin is None or pin.version not in requirement.specifier:
            msg = f"requirements/run.txt does not lock {requirement}: run scripts/lock"
            raise ValueError(msg)
        yield pin.line()


def _pip(*words: str) -> None:
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    subprocess.run([*argv, "--quiet"], check=True, stdout=sys.stderr)
