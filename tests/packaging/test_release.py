"""What is given to others: recipes of other packagers, and the release itself."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envcfg import __version__
from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGING = ROOT / "packaging"
SPACK = PACKAGING / "spack/packages/envcfg/package.py"
(EASYBUILD,) = (PACKAGING / "easybuild").glob("*.eb")
LMOD = "/usr/share/lmod/lmod/init/bash"
# What others carry in bundles of theirs.
BUNDLED = {"pyyaml": "PyYAML"} | dict.fromkeys(
    ("rich", "jinja2", "markupsafe"), "Python-bundle-PyPI"
)


def required() -> dict[str, str]:
    """Return what pyproject.toml requires: the least version, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = (re.match(r"([\w.-]+)>=([\d.]+)", each) for each in project["dependencies"])
    return {each[1]: each[2] for each in found if each}


@pytest.fixture(scope="session")
def tools() -> Path:
    subprocess.run([ROOT / "scripts/venv", "release"], check=True)
    return ROOT / ".tools/bin"


def test_spack_requires_what_we_require() -> None:
    text = SPACK.read_text()
    found = dict(re.findall(r'depends_on\("py-([\w-]+)@([\d.]+):', text))
    del found["hatchling"]
    assert found == {
        name.replace(".", "-"): least for name, least in required().items()
    }
    assert f'version("{__version__}"' in text
    for path in (PACKAGING / "spack").rglob("*.py"):
        ast.parse(path.read_text())


def test_spack_has_the_versions_that_it_lacks() -> None:
    """The packages beside ours: new enough for us, and what EasyBuild fetches, too."""
    least = {name.lower(): numbers(each) for name, each in required().items()}
    recipe = EASYBUILD.read_text()
    paths = set((PACKAGING / "spack/packages").glob("py_*/package.py"))
    assert paths
    for path in paths:
        name = path.parent.name.removeprefix("py_").replace("_", "-")
        text = path.read_text()
        ((version, found),) = re.findall(
            r'version\(\s*"([\d.]+)",\s*sha256="(\w+)"', text
        )
        assert numbers(version) >= least[name], name
        assert f"'{found}'" in recipe, name
        assert re.search(rf"\('{name}', '{version}'", recipe), name
        assert f"-{version}.tar.gz" in text, name


def test_easybuild_installs_what_we_require() -> None:
    text = EASYBUILD.read_text()
    assert EASYBUILD.name.startswith(f"envcfg-{__version__}-")
    newer = {name: least for name, least in required().items() if name != "tomli"}
    for name, least in newer.items():  # its Python has tomllib
        own = BUNDLED.get(name, name)
        (version,) = re.findall(rf"\('{own}', '([\d.]+)'", text)
        assert name in BUNDLED or numbers(version) >= numbers(least)


def test_easybuild_builds_by_a_new_enough_setuptools() -> None:
    """Older ones end at backports.zstd: its licence is a name, as PEP 639 has it."""
    (version,) = re.findall(r"\('setuptools', '([\d.]+)'\)", EASYBUILD.read_text())
    assert numbers(version) >= (77,)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@pytest.mark.nightly
def test_easybuild_reads_its_recipe(tools: Path, tmp_path: Path) -> None:
    if not Path(LMOD).exists():
        pytest.skip("there is no Lmod")
    options = f"--modules-tool=Lmod --prefix={tmp_path}"
    if os.geteuid() == 0:
        options += " --allow-use-as-root-and-accept-consequences"
    for action in ("--check-style", "--dry-run"):
        script = f"source {LMOD}; PATH={tools}:$PATH; eb {options} {action} {EASYBUILD}"
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, check=False,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_hadolint_finds_nothing(tools: Path) -> None:
    argv = [tools / "hadolint", PACKAGING / "Containerfile"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A centre's folder, with a program in envcfg's place."""
    if not Path(LMOD).exists():
        pytest.skip("there is no Lmod")
    program = tmp_path / f"envcfg/{__version__}/bin/envcfg"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho ours\n")
    program.chmod(0o755)
    shutil.copytree(PACKAGING / "lmod", tmp_path / "modulefiles")
    return tmp_path


def lmod(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    text = f"source {LMOD}; module use {folder}/modulefiles; {script}"
    return subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, check=False,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip


def test_lmod_loads_and_unloads_it(modules: Path) -> None:
    done = lmod(modules, "module load envcfg && envcfg; module unload envcfg; envcfg")
    assert done.stdout == "ours\n"
    assert done.returncode == 127
    shown = lmod(modules, f"module whatis envcfg/{__version__}; module help envcfg")
    assert f"Version: {__version__}" in shown.stdout + shown.stderr
    assert "envcfg check-log" in shown.stdout + shown.stderr


def test_lmod_says_where_nothing_is_installed(modules: Path) -> None:
    shutil.rmtree(modules / "envcfg")
    done = lmod(modules, "module load envcfg")
    assert done.returncode != 0
    assert "envcfg: there is no" in done.stderr


@pytest.mark.nightly
def test_a_release_is_whole(tools: Path, tmp_path: Path) -> None:
    assert tools.exists()
    done = subprocess.run(
        [ROOT / "scripts/release-check", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "according to schema version 1.2.0" in done.stdout
    assert len(list(tmp_path.iterdir())) == 2


ADDRESSES = """\
[project.urls]
Repository = "https://git.example.net/hpc/envcfg"
Documentation = "https://envcfg.example.net"
"""


def test_a_release_without_addresses_is_refused(tmp_path: Path) -> None:
    """Each address that is missing, and each placeholder, is named before anything is built."""
    root = tmp_path / "root"
    (root / "scripts").mkdir(parents=True)
    for name in ("examples", "packaging", "docs"):
        (root / name).mkdir()
    shutil.copy(ROOT / "scripts/release-check", root / "scripts")
    (root / "action.yml").write_text("#   - uses: OWNER/envcfg@v1\n")
    (root / "scripts/venv").write_text("#!/bin/sh\necho built; exit 9\n")
    (root / "scripts/venv").chmod(0o755)
    (root / "envcfg").mkdir()
    (root / "envcfg/__init__.py").write_text('__version__ = "1"\n')

    def check(project: str) -> tuple[int, str]:
        (root / "pyproject.toml").write_text(project)
        done = subprocess.run(
            [root / "scripts/release-check", "--ship", tmp_path / "dist"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    code, said = check('authors = [{ name = "x" }]\n')
    assert code == 1
    for word in ("Repository", "Documentation", "email", "action.yml"):
        assert word in said
    (root / "action.yml").write_text("")
    whole = 'authors = [{ name = "x", email = "a@example.net" }]\n' + ADDRESSES
    assert check(whole.replace("Documentation", "Homepage"))[0] == 1
    assert check(whole.replace("https:", "http:"))[0] == 1
    assert check(whole)[0] == 9  # it goes on to build
