"""The wheels: installed where there is no internet, and used by a typed program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

pytestmark = pytest.mark.nightly

CONSUMER = """\
from envcfg import __version__
from envcfg.common.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from envcfg.profile.profile_model import Profile


def first(catalog: Catalog) -> Profile:
    return catalog.load(catalog.names()[0])


profile = first(Catalog([built_in_folder()]))
found: Finding | None = None
print(__version__, profile.name, found)
"""
WRONG = "from envcfg.profile.catalog import Catalog\nCatalog(1)\n"


def python(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")} | more
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, env=env
    )


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Download what the locks name: all that the command of docs/install.md may take."""
    folder = tmp_path_factory.mktemp("locked")
    for name in ("run", "build"):
        argv = ["pip", "download", "-q", "--require-hashes", "-d", folder]
        argv += ["-r", ROOT / f"requirements/{name}.txt"]
        words = map(str, (ROOT / "scripts/retry", sys.executable, "-m", *argv))
        done = subprocess.run([*words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheels(locked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder that docs/install.md makes where there is internet."""
    folder = tmp_path_factory.mktemp("wheels")
    argv = (sys.executable, "-m", "pip", "wheel", "-q", "-w", folder, ROOT)
    done = python(*argv, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(locked))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def venv(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment, made without a network, in a home of its own."""
    folder = tmp_path_factory.mktemp("offline")
    home = folder / "home"
    home.mkdir()
    alone = ["unshare", "--net", "--"] if os.geteuid() == 0 else []
    env = {"HOME": str(home), "PIP_CONFIG_FILE": os.devnull}
    for words in (
        (sys.executable, "-m", "venv", folder / "venv"),
        (folder / "venv/bin/python", "-m", "pip", "install", "-q", "--no-index",
         "--find-links", wheels, "envcfg"),
    ):  # fmt: skip
        done = python(*alone, *words, **env)
        assert done.returncode == 0, done.stderr
    return folder / "venv"


def test_it_is_installed_without_internet_and_works(venv: Path, tmp_path: Path) -> None:
    words = ("wrap", "--profile", "lumi-g", "--container", "none", "--", "true")
    done = python(venv / "bin/envcfg", *words, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == python(sys.executable, "-m", "envcfg", *words).stdout
    checked = python(venv / "bin/python", "-m", "pip", "check")
    assert checked.returncode == 0, checked.stdout


def test_the_page_lists_all_that_comes_along(wheels: Path) -> None:
    text = (ROOT / "docs/install.md").read_text()
    for wheel in wheels.glob("*.whl"):
        name = wheel.name.partition("-")[0].replace("_", "-").lower()
        assert name in text.lower().replace("backports.zstd", "backports-zstd"), name


@pytest.mark.parametrize(("text", "code"), [(CONSUMER, 0), (WRONG, 1)])
def test_py_typed_holds(text: str, code: int, venv: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(text)
    argv = ["-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    argv += ["--python-executable", str(venv / "bin/python"), str(program)]
    done = subprocess.run(
        [sys.executable, "-I", *argv],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == code, done.stdout + done.stderr
    if code == 0:
        ran = python(venv / "bin/python", program)
        assert ran.returncode == 0, ran.stderr
    else:
        assert "arg-type" in done.stdout
