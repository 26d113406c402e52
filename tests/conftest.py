"""Fixtures of all tests; those of the real cluster stand in tests/cluster."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import pluggy
import pytest
from hypothesis import settings

import fuzzing
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from support import JOB, Wrapped, wrap_text

HERE = Path(__file__).parent
OWN_FOLDER = pytest.StashKey[str]()
HAS_FAILED = pytest.StashKey[bool]()
LEFT_OUT = pytest.StashKey[int]()


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
        help="let tests/fuzz try N times as much, and hypothesis other examples each time",
    )
    parser.addoption(
        "--all", action="store_true", help="also run the tests of the nightly suite"
    )
    parser.addoption(
        "--texts",
        metavar="FOLDER",
        help="write the full texts of golden files here, also of those kept as digests",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.basetemp is None:
        # Not in the folder of all runs of this user: pytest lists and empties that.
        config.option.basetemp = tempfile.mkdtemp(prefix="envcfg-tests-")
        config.stash[OWN_FOLDER] = config.option.basetemp
    fuzzing.times = config.getoption("--fuzz")
    fuzzing.is_complete = config.getoption("--all") or fuzzing.times > 1
    # A machine may be busy. A run without --fuzz tries the same examples as the run before.
    settings.register_profile(
        "same",
        deadline=None,
        derandomize=fuzzing.times == 1,
        max_examples=100 if fuzzing.is_complete else 40,
    )
    settings.load_profile("same")
    # nohup and shells that start this in the background have some ignored, and what is
    # started here would inherit that: a shell cannot trap them then.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            default = signal.default_int_handler
            signal.signal(
                number, default if number == signal.SIGINT else signal.SIG_DFL
            )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out the tests of the nightly suite, unless --all or --update-golden is given."""
    if config.getoption("--all") or config.getoption("--update-golden"):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=nightly)
        config.stash[LEFT_OUT] = len(nightly)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the left out tests, and the minutes of each room: printed, never compared."""
    if count := terminalreporter.config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} nightly tests left out; --all runs them")
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                room = report.nodeid.removeprefix("tests/").partition("/")[0]
                seconds[room.partition("::")[0]] += report.duration
    minutes = [f"{room} {total / 60:.1f}" for room, total in seconds.most_common(16)]
    if sum(seconds.values()) > 60:
        terminalreporter.write_line(f"minutes of tests: {', '.join(minutes)}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder of this run; after a failure it stays, to be looked at."""
    folder = config.stash.get(OWN_FOLDER, None)
    if folder and not config.stash.get(HAS_FAILED, False):
        shutil.rmtree(folder, ignore_errors=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[HAS_FAILED] = exitstatus == pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Generator[None, pluggy.Result, None]:
    """In CI a test that is skipped has failed: CI must not pass what it has not run."""
    outcome = yield
    report = outcome.get_result()
    is_skipped = report.skipped and not hasattr(report, "wasxfail")
    if is_skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        report.longrepr = f"CI skips no test: {reason}"


@pytest.fixture
def built_in() -> Catalog:
    """The profiles that come with envcfg, without any layer over them."""
    return Catalog([built_in_folder()])


@pytest.fixture
def no_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No job, and no profiles of a site or a user."""
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


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
    """This run has folders, settings and a job of its own, and none of the user's."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        os.environ[name] = str(tmp_path_factory.mktemp("memory"))
    os.environ["XDG_STATE_HOME"] = os.devnull  # no test knows what others have printed
    if os.path.exists(f"{config}/pip"):  # the machine's indexes
        os.symlink(f"{config}/pip", f"{os.environ['XDG_CONFIG_HOME']}/pip")
    for name in list(os.environ):
        if name.startswith(("ENVCFG_PROFILE", "SLURM_", "SBATCH_", "PBS_", "FLUX_")):
            del os.environ[name]


@pytest.fixture(scope="session", autouse=True)
def _usual_width() -> None:
    """Texts are as wide as where there is no terminal: workers are told one."""
    os.environ.pop("COLUMNS", None)
    # Its import changes the environment of children, and os.environ does not show it.
    import readline  # noqa: F401

    os.unsetenv("COLUMNS")


@pytest.fixture(scope="session", autouse=True)
def _patience() -> None:
    """A busy machine may need more than two seconds for the stand-in of a scheduler."""
    os.environ["ENVCFG_SCHEDULER_SECONDS"] = "60"


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
