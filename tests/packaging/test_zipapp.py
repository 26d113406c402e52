"""envcfg as one file: what scripts/build-zipapp makes, used on machines of several kinds.

It is made once, for this Python and this machine, and run without a network, from a fresh
home, with as little in its environment as a batch job may have.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipapp
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from support import ROOT

pytestmark = pytest.mark.nightly

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
# The Python that the virtual environment was made from; head of PATH, so that the
# archive's first line finds it.
BASE = Path(sys.base_prefix, "bin", f"python{VERSION}")
INSTALLED = Path(sys.executable).with_name("envcfg")
WRAP = ("wrap", "--profile", "lumi-g", "--container", "none", "--", "true")
FILE_CALLS = (
    "?open,openat,?stat,?lstat,newfstatat,?statx,?access,?faccessat,?faccessat2,"
    "?readlink,readlinkat,?getdents,getdents64"
)
LOG = """\
n1:1:1 [0] NCCL INFO NCCL version 2.18.3+cuda12.2
n1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>
n1:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE
"""


def find_pythons() -> list[Path]:
    """Return an interpreter of each version from 3.10 on that is on this machine."""
    found = {VERSION: BASE}
    places = [*os.environ.get("PATH", "").split(":"), "/usr/bin", "/usr/local/bin"]
    places += map(str, Path.home().glob(".pyenv/versions/*/bin"))
    for path in sorted(
        each for place in places for each in Path(place).glob("python3.*")
    ):
        version = re.fullmatch(r"python3\.(\d+)", path.name)
        if version and int(version[1]) >= 10 and "shims" not in path.parts:
            found.setdefault(f"3.{version[1]}", path)
    return list(found.values())


def find_old_pythons() -> list[Path]:
    places = [Path("/usr/bin"), *Path.home().glob(".pyenv/versions/*/bin")]
    names = ("python2.7", "python3.6", "python3.8", "python3.9")
    return [
        place / name for place in places for name in names if (place / name).exists()
    ]


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zipapp") / "envcfg.pyz"
    options = (f"--python={VERSION}", f"--machine={os.uname().machine}")
    argv = [ROOT / "scripts/retry", ROOT / "scripts/build-zipapp", *options, path]
    subprocess.run(argv, check=True)
    return path


def run(
    argv: Sequence[str | Path], home: Path, *, offline: bool = True, **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in the folder *home*, which is all that it has."""
    env = {"PATH": f"{BASE.parent}:/usr/bin:/bin", "HOME": str(home), **more}
    alone = ["unshare", "--net", "--"] if offline and os.geteuid() == 0 else []
    return subprocess.run(
        [*alone, *argv],
        capture_output=True,
        check=False,
        cwd=home,
        env=env,
        timeout=120,
    )


def test_it_starts_as_a_program_and_by_a_python(pyz: Path, tmp_path: Path) -> None:
    link = tmp_path / "envcfg"
    link.symlink_to(pyz)
    (tmp_path / "e.pyz").write_bytes(pyz.read_bytes())
    for argv in ([pyz], [link], [BASE, pyz], [BASE, "e.pyz"], ["sh", "./e.pyz"]):
        done = run([*argv, "--version"], tmp_path)
        assert (done.returncode, done.stderr) == (0, b""), argv
        assert done.stdout.startswith(b"envcfg ")


@pytest.mark.parametrize(
    "arguments",
    [
        WRAP,
        (*WRAP[:-2], "--print", "plan", "--", "true"),
        ("sbatch", "--profile", "puhti", "--container", "none", "--account", "p_1",
         "--partition", "gpu", "--gpus-per-node", "4", "--nodes", "2", "--time", "1:00:00", "--", "true"),
        ("profiles", "list"),
        ("profiles", "show", "perlmutter"),
        ("profiles", "diff", "frontier", "lumi-g"),
        ("profiles", "detect"),
        ("explain", "NCCL_SOCKET_IFNAME"),
        ("explain", "net-socket"),
        ("check-log", "job.log"),
        ("check-log", "job.log.zst"),
        ("check-log", "--html", "-", "job.log"),
        ("lint", "job.sh"),
        ("inspect", "tree"),
        ("wrap", "--from", "job.sh"),
        ("preflight", "--help"),
        ("monitor", "--help"),
        ("--help",),
        ("no-such-command",),
    ],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_each_command_says_what_the_installed_one_says(
    arguments: tuple[str, ...], pyz: Path, tmp_path: Path
) -> None:
    said = []
    for program in (pyz, INSTALLED):
        home = tmp_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        make_home(home)
        done = run([program, *arguments], home)
        said.append((done.returncode, done.stdout, done.stderr))
    assert said[0] == said[1]
    assert b"Traceback" not in said[0][2]


def make_home(home: Path) -> None:
    """Make a folder with a script, a log, twice, and an image unpacked."""
    library = home / "tree/usr/lib/libz.so"
    library.parent.mkdir(parents=True)
    (home / "tree/bin").mkdir()
    shutil.copy("/bin/true", home / "tree/bin/sh")
    shutil.copy(BASE.resolve(), library)
    (home / "job.log").write_text(LOG)
    (home / "job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\nsrun python $RANK\n")
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    (home / "job.log.zst").write_bytes(zstd.compress(LOG.encode()))


def test_a_start_asks_for_half_as_many_files(pyz: Path, tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    counts = []
    for program in (pyz, INSTALLED):
        for _ in range(3):  # the first ones keep things
            log = tmp_path / "strace.log"
            argv = ["strace", "-f", "-qq", "-o", log, "-e", f"trace={FILE_CALLS}"]
            assert run([*argv, program, *WRAP], tmp_path, offline=False).returncode == 0
        counts.append(len(log.read_text().splitlines()))
    assert counts[0] <= counts[1] / 2, counts


def test_nothing_is_unpacked(pyz: Path, tmp_path: Path) -> None:
    tmp = tmp_path / "tmp"
    for folder in (tmp, tmp_path / "home"):
        folder.mkdir()
    make_home(tmp_path / "home/work")
    env = {"TMPDIR": str(tmp)}
    for words in (WRAP, ("lint", "job.sh"), ("check-log", "job.log.zst")):
        run([pyz, *words], tmp_path / "home/work", **env)
    assert not list(tmp.iterdir())
    kept = [
        path for path in tmp_path.rglob("*") if path.suffix in {".so", ".py", ".pyc"}
    ]
    assert [path.name for path in kept] == ["libz.so"]  # of the image


def test_it_needs_no_home_that_can_be_written(pyz: Path, tmp_path: Path) -> None:
    done = run([pyz, *WRAP], tmp_path, HOME="/proc")
    assert done.returncode == 0
    assert done.stdout == run([pyz, *WRAP], tmp_path).stdout


@pytest.mark.parametrize(
    "name", ["yaml", "argparse", "envcfg", "typing", "sitecustomize"]
)
def test_no_module_of_others_is_run(name: str, pyz: Path, tmp_path: Path) -> None:
    hostile = "import os\nos.write(2, b'hostile')\nos._exit(99)\n"
    (tmp_path / f"{name}.py").write_text(hostile)
    done = run([pyz, *WRAP], tmp_path, PYTHONPATH=f"{tmp_path}:", PYTHONSTARTUP="x.py")
    assert (done.returncode, b"hostile" in done.stderr) == (0, False)
    if name in {"yaml", "envcfg"}:  # Python itself has looked for the others by then
        done = run([BASE, pyz, *WRAP], tmp_path, PYTHONPATH=f"{tmp_path}:")
        assert (done.returncode, b"hostile" in done.stderr) == (0, False)


@pytest.mark.parametrize("python", find_pythons(), ids=lambda path: path.name)
def test_any_python_from_3_10_on_runs_it(
    python: Path, pyz: Path, tmp_path: Path
) -> None:
    """Those for which it has no extension modules, too: YAML is read by Python then."""
    home = tmp_path / "home"
    make_home(home)
    done = run([python, pyz, *WRAP], home)
    assert (done.returncode, done.stdout) == (0, run([INSTALLED, *WRAP], home).stdout)
    linted = run([python, pyz, "lint", "job.sh"], home)
    if python.name == f"python{VERSION}":
        installed = run([INSTALLED, "lint", "job.sh"], home)
        assert (linted.returncode, linted.stderr) == (0, installed.stderr)
    else:
        assert linted.returncode == 4
        assert linted.stderr.startswith(
            b"envcfg: error: reading bash needs tree-sitter"
        )
        assert (
            b"hint: python3 -m pip install tree-sitter tree-sitter-bash"
            in linted.stderr
        )


OLD = """\
import sys
sys.version_info = (3, 6, 15)
sys.argv = sys.argv[1:]
text = open(sys.argv[0] + "/__main__.py").read()
exec(compile(text, "__main__.py", "exec"), {"__name__": "__main__"})
"""


def test_an_old_python_looks_for_a_newer_one(pyz: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        archive.extract("__main__.py", tmp_path)
    only = tmp_path / "bin"
    only.mkdir()
    argv = [sys.executable, "-c", OLD, str(tmp_path)]
    done = run([*argv, "lint"], tmp_path, PATH=str(only), offline=False)
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"needs Python 3.10 or newer" in done.stderr
    assert b"hint: " in done.stderr
    made = run([*argv, "wrap"], tmp_path, PATH=str(only), offline=False)
    shell = ["bash", "-c", f"source /dev/stdin <<'E'\n{made.stdout.decode()}E\necho on"]
    job = subprocess.run(shell, capture_output=True, check=False)
    assert (job.returncode, job.stdout) == (4, b"")  # what a job sources ends it
    (only / "python3.19").write_text("#!/bin/sh\nexit 127\n")  # a note in its place
    (only / "python3.12").write_text('#!/bin/sh\necho "$0" "$@"\n')
    for path in only.iterdir():
        path.chmod(0o755)
    done = run([*argv, "--version"], tmp_path, PATH=f"{only}:/usr/bin", offline=False)
    assert done.stdout.decode() == f"{only}/python3.12 -IS {tmp_path} --version\n"


@pytest.mark.parametrize("python", find_old_pythons(), ids=lambda path: path.name)
def test_a_real_old_python_hands_over(python: Path, pyz: Path, tmp_path: Path) -> None:
    done = run([python, pyz, "--version"], tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    done = run([python, pyz, "--version"], tmp_path, PATH="/nonexistent", offline=False)
    assert done.returncode == 4
    assert b"needs Python 3.10 or newer" in done.stderr


def test_each_part_has_its_licence(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        names = archive.namelist()
    parts = {name.split("/")[0] for name in names if ".dist-info/" in name}
    assert len(parts) >= 7
    for part in parts:
        own = [name for name in names if name.startswith(f"{part}/")]
        assert any("LICEN" in name.upper() for name in own), part


def test_what_it_is_made_of_can_be_read(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        assert archive.testzip() is None
        for name in (
            "envcfg/cli.py",
            "envcfg/profiles/lumi-g.yaml",
            "yaml/__init__.py",
        ):
            assert archive.read(name)
        own = archive.read("envcfg/cli.py")
    assert own == (ROOT / "envcfg/cli.py").read_bytes()


def test_a_bug_shows_the_lines(pyz: Path, tmp_path: Path) -> None:
    code = (
        "import sys, os\nsys.argv = ['envcfg.pyz', '--version']\n"
        "import runpy\nos._exit = lambda code: None\n"
        f"runpy.run_path({str(pyz)!r}, run_name='__main__')\n"
        "import traceback, envcfg.cli\n"
        "try:\n    envcfg.cli.split_command(None)\nexcept TypeError:\n"
        "    traceback.print_exc()\n"
    )
    done = run([BASE, "-IS", "-c", code], tmp_path)
    assert b"head = list(words)" in done.stderr, done.stderr


def test_a_plain_zipapp_works_but_for_what_is_compiled(
    pyz: Path, tmp_path: Path
) -> None:
    """Python's own zipapp: without extension modules YAML is slower, and lint says why."""
    source = tmp_path / "source"
    with zipfile.ZipFile(pyz) as archive:
        names = [
            each for each in archive.namelist() if not each.startswith(("code", "nat"))
        ]
        archive.extractall(source, names)
    for name in ("__main__.py", "start.py", "index"):
        (source / name).unlink()
    plain = tmp_path / "plain.pyz"
    zipapp.create_archive(source, plain, main="envcfg.__main__:main", compressed=True)
    home = tmp_path / "home"
    make_home(home)
    for words in (
        WRAP,
        ("profiles", "list"),
        ("check-log", "job.log"),
        ("explain", "FI_PROVIDER"),
    ):
        done = run([BASE, "-IS", plain, *words], home)
        wanted = run([INSTALLED, *words], home)
        assert (done.returncode, done.stdout) == (wanted.returncode, wanted.stdout), (
            done.stderr
        )
    done = run([BASE, "-IS", plain, "lint", "job.sh"], home)
    assert done.returncode == 4
    assert b"reading bash needs tree-sitter" in done.stderr
