"""An old Python gets one clear error, however envcfg is installed or started."""

from __future__ import annotations

import ast
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BACKEND = ROOT / "packaging" / "build_backend.py"
FILES = (BACKEND, ROOT / "setup.py", ROOT / "envcfg" / "__init__.py")
OLD = [name for name in ("python3.6", "python3.9") if shutil.which(name)]
NEEDED = "is too old: envcfg needs 3.10 or newer"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_old_python_can_read_the_file_that_reports_it(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 4))
    assert not any(isinstance(node, ast.JoinedStr) for node in ast.walk(tree))


@pytest.mark.parametrize("name", ["packaging/build_backend.py", "setup.py"])
def test_pip_of_an_old_python_prints_the_version_that_is_needed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 6, 15, "final", 0))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "build_backend", raising=False)
    with pytest.raises(SystemExit, match=f"Python 3.6 {NEEDED}"):
        runpy.run_path(str(ROOT / name))


def test_the_package_refuses_to_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = SourceFileLoader("another_envcfg", str(FILES[2]))
    monkeypatch.setattr(sys, "argv", ["program"])
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    with pytest.raises(ImportError, match=f"Python 3.9 {NEEDED}"):
        loader.exec_module(ModuleType("another_envcfg"))
    monkeypatch.setattr(sys, "argv", ["-m", "wrap"])
    loader.exec_module(ModuleType("another_envcfg"))  # __main__.py reports it
    monkeypatch.setattr(sys, "version_info", (3, 6, 15, "final", 0))
    with pytest.raises(SystemExit, match=f"Python 3.6 {NEEDED}"):
        loader.exec_module(ModuleType("another_envcfg"))


def test_pip_of_python_3_6_can_read_pyproject() -> None:
    def arrays(value: object) -> Iterator[list[object]]:
        if isinstance(value, list):
            yield value
        if isinstance(value, dict):
            value = [*value.values()]
        if isinstance(value, list):
            for one in value:
                yield from arrays(one)

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert all(len({*map(type, array)}) < 2 for array in arrays(project))


@pytest.mark.nightly
@pytest.mark.parametrize("python", OLD)
def test_a_real_old_python_says_so(python: str) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    for words in (["-m", "envcfg", "wrap"], ["-c", "import envcfg"]):
        done = subprocess.run(
            [python, *words], capture_output=True, text=True, check=False, env=environ
        )
        assert done.returncode
        assert "is too old: " in done.stderr
