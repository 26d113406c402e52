"""Fetching with git: limits of time, of size, and of what is listed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envcfg.errors import OutputError
from envcfg.origin import git
from envcfg.origin.fetched import Fetched
from envcfg.origin.git import Repository
from envcfg.origin.process import Ended, run_bounded

PROFILE = b"name: mine\n"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A repository of one profile, and one megabyte that cannot be made smaller."""
    folder = tmp_path / "published"
    (folder / "profiles").mkdir(parents=True)
    (folder / "profiles/mine.yaml").write_bytes(PROFILE)
    (folder / "data.bin").write_bytes(os.urandom(1 << 20))
    for words in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def fetch(published: Path, tmp_path: Path) -> Fetched:
    made = tmp_path / "made"
    made.mkdir()
    repository = Repository(str(made), os.environ, may_ask=False)
    return repository.fetch(str(published), ref=None, folder=None, progress=None)


def test_profiles_are_read_as_objects(published: Path, tmp_path: Path) -> None:
    found = fetch(published, tmp_path)
    assert found.files == {"mine.yaml": PROFILE}
    assert (found.folder, found.by) == ("profiles", "A <a@b>")
    assert not (tmp_path / "made/profiles").exists()
    assert not (tmp_path / "made/hooks").exists()


def test_a_repository_that_is_too_large_is_not_fetched(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_MOST_BYTES", 512 << 10)
    with pytest.raises(OutputError, match="cannot be fetched: more than 0 MiB"):
        fetch(published, tmp_path)


def test_a_fetch_that_takes_too_long_is_ended(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "FETCH_SECONDS", 0.001)
    with pytest.raises(OutputError, match="cannot be fetched: not within"):
        fetch(published, tmp_path)


def test_a_folder_of_too_many_names_is_refused(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_MOST_LISTED", 10)
    with pytest.raises(OutputError, match=r"git log failed|holds too many files"):
        fetch(published, tmp_path)


def test_without_git_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutputError, match="there is no git on PATH"):
        Repository(str(tmp_path), os.environ, may_ask=False)


def test_git_is_not_led_elsewhere_by_the_environment(tmp_path: Path) -> None:
    given = {
        "GIT_DIR": "/x",
        "GIT_INDEX_FILE": "/x",
        "GIT_ALLOW_PROTOCOL": "ext",
        "GIT_SSH_COMMAND": "s",
    }
    environ = Repository(str(tmp_path), {**os.environ, **given}, may_ask=False).environ
    assert "GIT_DIR" not in environ
    assert "GIT_INDEX_FILE" not in environ
    assert environ["GIT_ALLOW_PROTOCOL"] == "https:ssh:file"
    assert environ["GIT_SSH_COMMAND"] == "s"
    assert environ["GIT_TERMINAL_PROMPT"] == "0"


def run(script: str, *, most: int = 100, seconds: float = 30) -> Ended:
    return run_bounded(
        ["sh", "-c", script],
        environ=os.environ,
        folder="/",
        most=most,
        seconds=seconds,
        in_terminal=False,
    )


def test_a_process_is_ended_with_its_children() -> None:
    begun = time.monotonic()
    done = run("sleep 63 & sleep 63; echo", seconds=0.2)
    assert done.is_late
    assert time.monotonic() - begun < 20


def test_what_is_too_much_is_cut() -> None:
    done = run(f"exec {sys.executable} -c 'while True: print(1)'")
    assert done.is_cut
    assert len(done.out) == 100


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (r"10%\r20%\nfatal: no such thing\nmore", "no such thing"),
        (r"error: a\nfatal: b\n", "a; b"),
        (r"plain words\n", "plain words"),
        ("", ""),
    ],
)
def test_its_last_words_are_those_that_tell(said: str, expected: str) -> None:
    done = run(f"printf '{said.replace('%', '%%')}' >&2; exit 3")
    assert (done.code, done.said) == (3, expected)
