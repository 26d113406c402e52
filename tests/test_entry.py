"""Where envcfg starts: whatever lies in the current folder is not run."""

from __future__ import annotations

import os
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

from support import ROOT

SCRIPT = Path(sys.executable).with_name("envcfg")
ARGUMENTS = ("wrap", "--profile", "workstation", "--container", "none", "--", "true")
# Modules that envcfg imports, its own dependency among them. What Python itself, runpy or
# an installer's script has imported before the first line of envcfg is not among them.
IMPORTED = ("yaml", "argparse", "shlex", "gettext", "typing", "dataclasses", "envcfg_x")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with modules of these names, each of which says that it was run."""
    for name in IMPORTED:
        (tmp_path / f"{name}.py").write_text(
            f"import os\nos.write(2, b'hostile {name}\\n')\nos._exit(99)\n"
        )
    return tmp_path


def run(
    argv: tuple[str | Path, ...], here: Path, path: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if path is not None:
        env["PYTHONPATH"] = path
    env |= {"ENVCFG_SITE": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}
    return subprocess.run(
        [*argv, *ARGUMENTS], capture_output=True, check=False, cwd=here, env=env
    )


@pytest.mark.parametrize("path", [None, ":/x", "/x::/y", "/x:", ".", "./"])
@pytest.mark.parametrize(
    "argv", [(SCRIPT,), (sys.executable, "-m", "envcfg")], ids=["script", "-m"]
)
def test_no_module_comes_from_the_current_folder(
    hostile: Path, argv: tuple[str | Path, ...], path: str | None
) -> None:
    done = run(argv, hostile, path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"#!/usr/bin/env bash\n")


@pytest.mark.parametrize(
    "here", [ROOT, ROOT / "envcfg", Path(os.__file__).parent, Path("/")]
)
def test_it_starts_where_it_comes_from_itself(here: Path) -> None:
    for path in (None, ":", str(ROOT)):
        for argv in ((SCRIPT,), (sys.executable, "-m", "envcfg")):
            done = run(argv, here, path)
            assert (done.returncode, done.stderr) == (0, b""), (argv, path)


def test_it_starts_in_a_checkout_that_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "envcfg").symlink_to(ROOT / "envcfg")
    (tmp_path / "profiles").symlink_to(ROOT / "profiles")
    done = run((sys.executable, "-m", "envcfg"), tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


def test_it_starts_as_one_archive(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "envcfg/common").mkdir(parents=True)
    for name in (
        *("__init__.py", "__main__.py"),
        *(f"common/{name}.py" for name in ("__init__", "failure", "interrupts")),
    ):
        text = (ROOT / "envcfg" / name).read_text()
        (source / "envcfg" / name).write_text(text)
    # Its data are not read from an archive: that of the start is what is looked at here.
    (source / "envcfg/cli.py").write_text(
        "def main():\n    print('here', flush=True)\n    return 0\n"
    )
    zipapp.create_archive(source, tmp_path / "envcfg.pyz", main="envcfg.__main__:main")
    for name in (tmp_path / "envcfg.pyz", "envcfg.pyz", "./envcfg.pyz"):
        done = run((sys.executable, name), tmp_path)
        assert (done.returncode, done.stdout) == (0, b"here\n"), done.stderr


def test_a_folder_that_is_gone_is_no_reason_to_fail_here(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    code = (
        "import os, sys\nfrom envcfg.__main__ import main\nos.rmdir(os.getcwd())\n"
        "sys.argv[1:] = ['--version']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, cwd=folder
    )
    assert done.stdout.startswith(b"envcfg ")
    assert b"Traceback" not in done.stderr


def test_an_old_python_is_named_as_the_reason(tmp_path: Path) -> None:
    code = "import envcfg, sys; sys.version_info = (3, 9, 18); from envcfg.__main__ import main; main()"
    done = run((sys.executable, "-c", code), tmp_path)
    assert done.returncode == 70
    assert b"Python 3.9 is too old: 3.10 or newer is needed" in done.stderr
    assert b"broken" not in done.stderr
    assert b"Python 3.9 is too old" in done.stdout  # the job must not go on
