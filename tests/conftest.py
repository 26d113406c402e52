"""Fixtures of all tests; those of the real cluster stand in tests/cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import fuzzing
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from support import JOB, Wrapped, wrap_text

HERE = Path(__file__).parent
# A machine may be busy. In CI the examples are the same each time, as hypothesis has it.
settings.register_profile("unhurried", parent=settings(), deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew; review them in the diff",
    )
    parser.addoption(
        "--fuzz",
        type=int,
        default=1,
        metavar="N",
        help="let tests/fuzz try N times as much as in CI, and other things each time",
    )


def pytest_configure(config: pytest.Config) -> None:
    fuzzing.times = config.getoption("--fuzz")
    # nohup and shells that start this in the background have some ignored, and what is
    # started here would inherit that: a shell cannot trap them then.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            default = signal.default_int_handler
            signal.signal(
                number, default if number == signal.SIGINT else signal.SIG_DFL
            )


@pytest.fixture
def built_in() -> Catalog:
    """The profiles that come with envcfg, without any layer over them."""
    return Catalog([built_in_folder()])


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fake srun and runtimes on PATH, in a fake job; returns where they take notes."""
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv("PATH", f"{HERE / 'fakes'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_NOTES", str(notes))
    monkeypatch.setenv("SLURM_JOB_ID", JOB)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-9]")
    monkeypatch.setenv("SLURM_NNODES", "1")
    return notes


@pytest.fixture(scope="session", autouse=True)
def _own_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is read of images is kept for this run alone, not for who runs the tests."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("memory"))


@pytest.fixture(scope="session", autouse=True)
def _usual_width() -> None:
    """Texts are as wide as where there is no terminal: workers are told one."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def _one_day() -> None:
    """Limits are as old as on the day of these tests, whenever they run: 2026-11-23."""
    os.environ["SOURCE_DATE_EPOCH"] = "1795392000"


@pytest.fixture(scope="session", autouse=True)
def _no_scheduler(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing that submits jobs is on PATH: where Slurm is installed, that is not a cluster."""
    path = []
    for folder in os.environ["PATH"].split(os.pathsep):
        names = {"sbatch", "qsub", "flux"}
        if any(os.path.exists(f"{folder}/{name}") for name in names):
            mirror = tmp_path_factory.mktemp("bin")
            for name in set(os.listdir(folder)) - names:
                (mirror / name).symlink_to(f"{folder}/{name}")
            path.append(str(mirror))
        else:
            path.append(folder)
    os.environ["PATH"] = os.pathsep.join(path)


@pytest.fixture
def wrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Wrapped]:
    """Run ``envcfg wrap`` in a folder of its own, with no layers but the built-in."""
    monkeypatch.chdir(tmp_path)
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-user"))
    return wrap_text
