"""Real Charliecloud and Podman on this machine: what is given arrives, byte for byte."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support import Wrap, Wrapped, bash, require, require_root, zero_separated

pytestmark = pytest.mark.nightly

# The machine's /usr is bound into it: images need no registry.
FOLDERS = "usr dev proc sys run tmp etc var/tmp root home mnt/data".split()
LINKS = ("bin", "sbin", "lib", "lib64")
# Works in a container of CI, too: no systemd, limits that are lower than Podman's own.
CONTAINERS = """\
[containers]
default_ulimits = ["nproc=8192:8192", "nofile=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = """\
[storage]
driver = "vfs"
graphroot = "{0}/graph"
runroot = "{0}/run"
"""
HOSTILE = [
    *("", " ", "a b", "a\nb\n", "\t", "'", '"', "\\", "$HOME", "$(touch canary)"),
    *("`touch canary`", "*", "~", "#", "&&", "--", "-u", "-c", "-e", "--help"),
    *("A=1", "{{id}}", "%s", "\u00e9", "\U0001f40d"),
]
PROGRAM = r"""
printf '%s\0' "$@" >"args.$RANK"
printf '%s\0' "$PWD" "$(cat /mnt/data/it)" "$MINE" "${OWN-none}" "${ENTRY-none}" >"seen.$RANK"
# Who fails ends the others: not before they have written theirs.
tries=600
until { [ -s seen.0 ] && [ -s seen.1 ]; } || [ "$((tries -= 1))" -lt 0 ]; do sleep 0.05; done
exit 37
"""
# By runtime and form of the image.
KINDS = ("charliecloud folder", "charliecloud file", "podman folder", "podman name")


def podman_image(image: Path, _: Path) -> str:
    """Put *image* into the store, with an entrypoint that must not run."""
    script = 'tar -C "$1" -c . | podman import --change "ENTRYPOINT [\\"/bin/false\\"]" - made'
    made = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}", "bash", image],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr.decode()
    return "localhost/made"


def squashed(image: Path, folder: Path) -> str:
    file = folder / "image.sqfs"
    require("mksquashfs")
    subprocess.run(
        ["mksquashfs", image, file, "-quiet"], check=True, stdout=subprocess.DEVNULL
    )
    return str(file)


MAKERS: Mapping[str, Callable[[Path, Path], str]] = {
    "charliecloud file": squashed,
    "podman name": podman_image,
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Return a folder with the root of an image, and settings for Podman.

    Its path is short: from 108 characters on conmon cannot open its socket, and each
    container takes 20 seconds longer.
    """
    with TemporaryDirectory(prefix="ec-", ignore_cleanup_errors=True) as name:
        yield _made(Path(name))


def _made(made: Path) -> Path:
    for name in FOLDERS:
        (made / "image" / name).mkdir(parents=True)
    for name in LINKS:
        (made / "image" / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (made / "image/etc" / name).touch()
    (made / "containers.conf").write_text(CONTAINERS)
    (made / "storage.conf").write_text(STORAGE.format(made))
    return made


@pytest.fixture(params=KINDS)
def made(
    request: pytest.FixtureRequest,
    folder: Path,
    tmp_path: Path,
    wrap: Wrap,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Wrapped]:
    """Return what wraps a command for a runtime, with two ranks and two binds."""
    name, form = request.param.split()
    if name == "podman":
        require("podman", "runc")
        require_root()
    else:
        require("ch-run")
    monkeypatch.setenv("USER", "me")
    monkeypatch.setenv("CONTAINERS_CONF", str(folder / "containers.conf"))
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(folder / "storage.conf"))
    maker = MAKERS.get(f"{name} {form}", lambda image, _: str(image))
    image = maker(folder / "image", tmp_path)
    (tmp_path / "a, b").mkdir()
    (tmp_path / "a, b/it").write_text("bound")
    work = tmp_path / 'w, "d'
    work.mkdir()
    monkeypatch.chdir(work)
    options = (
        *("--profile", "workstation", "--runtime", name, "--container", image),
        *("--bind", "/usr", "--bind", f"{tmp_path}/a\\, b:/mnt/data", "--ranks", "2"),
    )

    def wrapped(*words: str | bytes) -> Wrapped:
        return wrap(*options, *words)

    wrapped.__name__ = request.param
    return wrapped


def test_words_folder_binds_and_exit_code_are_as_without_a_container(
    made: Callable[..., Wrapped], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN", "the job's")
    setting = ("--set", "MINE=$$'\n\" \u00e9")
    script = made(*setting, "--", "/bin/sh", "-c", PROGRAM, "sh", *HOSTILE)
    assert script.code == 0, script.err
    done = bash(script.out)
    assert done.returncode == 37, done.stderr.decode()
    here = Path.cwd()
    own = "none" if made.__name__.startswith("podman") else "the job's"
    for rank in "01":
        assert zero_separated(here / f"args.{rank}") == [w.encode() for w in HOSTILE]
        seen = [each.decode() for each in zero_separated(here / f"seen.{rank}")]
        assert seen == [str(here), "bound", "$'\n\" \u00e9", own, "none"]
    assert not list(tmp_path.rglob("canary"))


def test_bytes_that_are_no_text_arrive_or_are_refused(
    made: Callable[..., Wrapped],
) -> None:
    script = made("--", "/bin/sh", "-c", 'printf %s "$1" >word', "sh", b"a\xe9\xff")
    done = bash(script.out)
    if made.__name__.startswith("podman"):
        assert done.returncode == 4
        assert b"not UTF-8, and podman would change it: $'a\\351\\377'" in done.stderr
        assert not Path("word").exists()
    else:
        assert done.returncode == 0, done.stderr.decode()
        assert Path("word").read_bytes() == b"a\xe9\xff"


# Not of a squashfs file: ch-run serves it and ends by the signal, of which envcfg warns.
@pytest.mark.parametrize(
    "made", [kind for kind in KINDS if kind != "charliecloud file"], indirect=True
)
@pytest.mark.parametrize(
    ("program", "code"),
    [
        ('trap "exit 5" TERM; touch "on.$RANK"; while :; do sleep 0.1; done', 5),
        ('touch "on.$RANK"; exec sleep 60', 143),
    ],
    ids=["heard", "not heard"],
)
def test_a_signal_reaches_the_program(
    made: Callable[..., Wrapped], program: str, code: int
) -> None:
    script = made("-o", "job.sh", "--", "/bin/sh", "-c", program)
    assert script.code == 0, script.err
    job = subprocess.Popen(["./job.sh"], env=os.environ)
    end = time.monotonic() + 60
    while not all(Path(f"on.{rank}").exists() for rank in "01"):
        assert job.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    job.send_signal(signal.SIGTERM)
    assert job.wait(timeout=60) == code


# A child that TERM does not end, and one whose parent has ended.
FAMILY = """
sh -c 'trap "" TERM; touch "child.$RANK"; while :; do sleep 0.2; done' "$1" &
(sh -c 'touch "orphan.$RANK"; while :; do sleep 0.2; done' "$1" &)
wait
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_script_that_is_ended_leaves_nothing_in_a_container(
    made: Callable[..., Wrapped], tmp_path: Path, sent: signal.Signals
) -> None:
    mark = f"mark-{tmp_path.name}-{os.getpid()}"
    text = made("--", "/bin/sh", "-c", FAMILY, "sh", mark).text
    Path("job.sh").write_text(text.replace("grace_ms=10000", "grace_ms=1000"))
    job = subprocess.Popen(["bash", "job.sh"], start_new_session=True)
    end = time.monotonic() + 120
    while len([*Path().glob("child.?"), *Path().glob("orphan.?")]) < 4:
        assert job.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    job.send_signal(sent)
    job.wait(timeout=120)
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def marked(mark: str) -> list[bytes]:
    """Return the command lines with *mark*, of a container's processes, too."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue  # it has ended meanwhile
    return [words for words in found if mark.encode() in words]


@pytest.mark.parametrize(
    "made", ["charliecloud folder", "podman folder"], indirect=True
)
def test_without_its_image_no_rank_starts(
    made: Callable[..., Wrapped], folder: Path
) -> None:
    script = made("--", "true")
    text = script.text.replace(f"ENVCFG_IMAGE='{folder}", "ENVCFG_IMAGE='/nowhere")
    done = bash(text)
    assert done.returncode == 4
    assert b"image /nowhere/image does not exist" in done.stderr
