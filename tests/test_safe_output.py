"""Where commands write: every way to name it, and what is never lost."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asking import asking
from envcfg.common.atomic_write import make_beside
from envcfg.common.errors import UsageError
from envcfg.common.provenance import has_mark, is_untouched, marked
from envcfg.common.safe_output import Output, check_outputs
from support import LOCAL, Wrapped, bash, envcfg, require

Wrap = Callable[..., Wrapped]
# What stands before and behind the name of the file, and the name that fits best.
WRITERS = {
    "wrap": (["wrap", *LOCAL, "-o"], ["--", "true"], "job.sh"),
    "sbatch": (["sbatch", *asking("lumi-g"), "--container", "none", "-o"], ["--", "true"], "job.sh"),
    "html": (["check-log", "--html"], ["job.log"], "report.html"),
    "new": (["profiles", "new", "mine", "--extends", "slingshot", "-o"], [], "mine.yaml"),
}  # fmt: skip
FIRST = {
    "wrap": "#!/usr/bin/env bash",
    "sbatch": "#!/bin/bash",
    "html": "<!DOCTYPE html>",
    "new": "# yaml-language-server",
}
LOG = "a line\n"


@pytest.fixture(autouse=True)
def here(wrap: Wrap, tmp_path: Path) -> Path:
    """Each test is in a folder of its own, with a log."""
    assert callable(wrap)
    (tmp_path / "job.log").write_text(LOG)
    return tmp_path


def words(writer: str, name: str, *more: str) -> list[str]:
    before, behind, _ = WRITERS[writer]
    return [*before, name, *more, *behind]


def write(writer: str, name: str | None = None, *more: str) -> Wrapped:
    return envcfg(*words(writer, WRITERS[writer][2] if name is None else name, *more))


def is_done(writer: str, done: Wrapped) -> bool:
    """A log that says nothing of the network is inconclusive; that is an answer too."""
    return done.code == (3 if writer == "html" else 0)


def shell(writer: str, redirected: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command by bash; *redirected* has {} for the command up to its file."""
    before, behind, _ = WRITERS[writer]
    start = shlex.join([sys.executable, "-m", "envcfg", *before])
    return bash(redirected.replace("{}", start).replace("{more}", shlex.join(behind)))


# Streams


@pytest.mark.parametrize(
    "name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"]
)
@pytest.mark.parametrize("writer", WRITERS)
def test_stdout_has_many_names(here: Path, writer: str, name: str) -> None:
    (here / "link").symlink_to("/dev/stdout")
    before = sorted(os.listdir(here))
    done = write(writer, name)
    assert is_done(writer, done), done.err
    assert done.text.startswith(FIRST[writer])
    assert done.text.count(FIRST[writer]) == 1  # and nothing else
    assert not done.text.endswith("\n\n")
    assert "the log has no line" not in done.text or writer == "html"
    assert names_in(here) == before


@pytest.mark.parametrize("writer", WRITERS)
def test_what_the_shell_has_opened_is_written_to_as_it_is(
    here: Path, writer: str
) -> None:
    done = shell(writer, "exec >all; echo before; {} /dev/stdout {more}; echo after")
    lines = (here / "all").read_text().splitlines()
    assert lines[0] == "before", done.stderr
    assert lines[1].startswith(FIRST[writer])
    assert lines[-1] == "after"
    shell(writer, "echo before >all; {} /dev/fd/7 {more} 7>>all")
    lines = (here / "all").read_text().splitlines()
    assert lines[0] == "before"
    assert lines[1].startswith(FIRST[writer])


@pytest.mark.parametrize("writer", WRITERS)
def test_a_process_substitution_gets_all_of_it(writer: str) -> None:
    done = shell(writer, "{} >(cat >&2) {more} >/dev/null; wait $!")
    assert FIRST[writer] in done.stderr.decode()


@pytest.mark.parametrize("writer", WRITERS)
def test_pipes_and_devices_are_written_to(here: Path, writer: str) -> None:
    os.mkfifo(here / "fifo")
    done = shell(writer, "cat fifo & {} fifo {more} >/dev/null; wait")
    assert done.stdout.decode().startswith(FIRST[writer])
    assert (here / "fifo").is_fifo()
    assert is_done(writer, write(writer, "/dev/null"))
    full = write(writer, "/dev/full")
    assert full.code == 4
    assert "cannot write /dev/full: No space left on device" in full.err


def test_a_page_on_stdout_stands_alone() -> None:
    assert "inconclusive" not in write("html", "-").text.splitlines()[0]
    done = write("html", "-", "--json")
    assert (done.code, done.out) == (2, b"")
    assert "both write to stdout" in done.err


@pytest.mark.parametrize("second", ["x", "./x", "-"])
def test_two_outputs_need_two_places(here: Path, second: str) -> None:
    first = "/dev/stdout" if second == "-" else "x"
    outputs = [Output(name, f"--{name}", "-o y") for name in (first, second)]
    with pytest.raises(UsageError, match="both write to"):
        check_outputs(outputs)
    assert not (here / "x").exists()


# Names that cannot be


@pytest.mark.parametrize("writer", WRITERS)
def test_an_empty_name_is_an_error(writer: str) -> None:
    done = write(writer, "")
    assert done.code == 2
    assert " is empty\n  hint: is the variable set" in done.err


CANNOT = {
    "loop": "Too many levels of symbolic links",
    "no/such/{}": "No such file or directory",
    "job.log/{}": "Not a directory",
    "folder": "is not a regular file",
    "folder/": "is not a regular file",
    "new/": "",
    "/dev/fd/98765": "Bad file descriptor",
    "/dev/stdin": "it is open for reading",
    "/proc/{}": "",
    "x" * 300: "File name too long",
}


@pytest.mark.parametrize("name", CANNOT)
@pytest.mark.parametrize("writer", [each for each in WRITERS if each != "new"])
def test_what_cannot_be_written_is_said(here: Path, writer: str, name: str) -> None:
    (here / "loop").symlink_to("loop")
    (here / "folder").mkdir()
    before = sorted(os.listdir(here))
    done = write(writer, name.replace("{}", WRITERS[writer][2]))
    assert done.code == 4, done.err
    assert CANNOT[name] in done.err
    assert "\n  hint: " in done.err
    assert "Traceback" not in done.err
    assert names_in(here) == before


def test_a_folder_that_is_closed_is_an_error_before_the_log_is_read(here: Path) -> None:
    require("setpriv")
    (here / "closed").mkdir(mode=0o555)
    powerless = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    if os.geteuid():
        powerless = []
    reader, writer = os.pipe()  # a log without an end
    done = subprocess.run(
        [*powerless, sys.executable, "-m", "envcfg", "check-log", "-", "--html", "closed/x"],
        stdin=reader,
        capture_output=True,
        check=False,
        timeout=60,
    )  # fmt: skip
    os.close(reader)
    os.close(writer)
    assert done.returncode == 4, done.stderr
    assert b"cannot write closed/x: no file can be made in" in done.stderr


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, without the machinery of scripts."""
    return sorted(name for name in os.listdir(folder) if name != ".envcfg")


@pytest.mark.parametrize("writer", ["wrap", "html"])
def test_a_name_may_be_as_long_as_names_can_be(here: Path, writer: str) -> None:
    name = "x" * 255
    for _ in range(2):
        assert is_done(writer, write(writer, name))
    assert names_in(here) == ["job.log", name]


# What is replaced


@pytest.mark.parametrize("writer", [each for each in WRITERS if each != "new"])
def test_its_own_file_is_replaced_and_no_other(here: Path, writer: str) -> None:
    name = WRITERS[writer][2]
    path = here / name
    assert is_done(writer, write(writer))
    assert is_untouched(path.read_bytes())
    inode = path.stat().st_ino
    assert is_done(writer, write(writer))
    assert path.stat().st_ino != inode
    first, rest = path.read_bytes().split(b"\n", 1)
    for content, message in (
        (first + b"\n" + rest + b"# mine\n", "has been changed since envcfg wrote it"),
        (first + b" \n" + rest, "has been changed since envcfg wrote it"),
        (b"mine\n", "was not written by envcfg"),
        (b"", "was not written by envcfg"),  # perhaps the log of a job that begins
        (b"\xff\n# envcfg", "was not written by envcfg"),
    ):
        path.write_bytes(content)
        done = write(writer)
        assert done.code == 4
        assert message in done.err
        assert "--force" in done.err
        assert path.read_bytes() == content
        assert is_done(writer, write(writer, name, "--force"))
        assert is_untouched(path.read_bytes())
    assert names_in(here) == sorted(["job.log", name])


def test_a_profile_that_is_there_is_kept_even_as_it_was_written(here: Path) -> None:
    assert write("new").code == 0
    text = (here / "mine.yaml").read_text()
    done = write("new")
    assert (done.code, "is there already" in done.err) == (4, True)
    (here / "mine.yaml").write_text("name: mine\n")
    assert write("new").code == 4
    assert write("new", "mine.yaml", "--force").code == 0
    assert (here / "mine.yaml").read_text() == text


@pytest.mark.parametrize("writer", WRITERS)
def test_what_mktemp_has_made_is_replaced(here: Path, writer: str) -> None:
    path = here / WRITERS[writer][2]
    path.touch(0o600)
    assert is_done(writer, write(writer))
    assert path.read_text().startswith(FIRST[writer])
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_forgotten_name_costs_no_log(here: Path) -> None:
    for number in (1, 2):
        (here / f"slurm-{number}.out").write_text(LOG)
    done = shell("html", "{} slurm-*.out")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"slurm-1.out was not written by envcfg" in done.stderr
    assert b"as in --html report.html" in done.stderr
    assert (here / "slurm-1.out").read_text() == LOG
    done = shell("html", "{} slurm-1.out")
    assert done.returncode == 2
    assert b"hint: --html takes a file to write" in done.stderr


@pytest.mark.parametrize("way", ["name", "link", "hard link", "stdin", "/proc"])
def test_a_log_is_not_replaced_by_its_report_whatever_is_forced(
    here: Path, way: str
) -> None:
    name, log = "job.log", "job.log"
    if way == "link":
        name = "link"
        (here / name).symlink_to("job.log")
    elif way == "hard link":
        name = "other"
        (here / name).hardlink_to(here / "job.log")
    elif way == "stdin":
        log = "- <job.log"
    elif way == "/proc":
        name = f"/proc/self/cwd/{name}"
    done = shell("html", f"{{}} {name} --force {log}")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"is what is read, and would be lost" in done.stderr
    assert (here / "job.log").read_text() == LOG


def test_a_report_does_not_become_one_of_the_logs(here: Path) -> None:
    (here / "logs").mkdir()
    (here / "logs/a.log").write_text(LOG)
    done = envcfg("check-log", "logs", "--html", "logs/report")
    assert done.code == 4
    assert "would be one of the files that are read in logs" in done.err
    words = ["--follow", "--timeout", "0", "later", "--html", "later"]
    assert envcfg("check-log", *words).code == 4
    assert os.listdir(here / "logs") == ["a.log"]


INPUTS = {
    "profile": ["--profile", "./p.yaml", "--container", "none"],
    "image": ["--profile", "workstation", "--container", "x.sif"],
    "setup": [*LOCAL, "--setup", "./env.sh"],
    "bind": [
        "--profile",
        "workstation",
        "--container",
        "x.sif",
        "--bind",
        "/a,env.sh:/b",
    ],
}


@pytest.mark.parametrize("name", INPUTS)
def test_a_script_does_not_replace_what_it_is_made_from(here: Path, name: str) -> None:
    contents = {
        "p.yaml": "name: p\nextends: workstation\n",
        "x.sif": "",
        "env.sh": ":\n",
    }
    for each, text in contents.items():
        (here / each).write_text(text)
    target = {"profile": "p.yaml", "image": "x.sif"}.get(name, "env.sh")
    (here / "link").symlink_to(target)
    for given in (target, "link"):
        done = envcfg("wrap", *INPUTS[name], "-o", given, "--force", "--", "true")
        assert done.code == 4
        assert "is what is read, and would be lost" in done.err
    assert {each: (here / each).read_text() for each in contents} == contents


def test_a_link_is_followed_and_stays(here: Path) -> None:
    (here / "to").symlink_to("link")
    (here / "link").symlink_to("report.html")
    for _ in range(2):
        assert is_done("html", write("html", "to"))
    assert (here / "to").is_symlink()
    assert is_untouched((here / "report.html").read_bytes())


@pytest.mark.parametrize("writer", ["wrap", "html"])
def test_what_cannot_be_written_whole_leaves_the_old_file(
    here: Path, writer: str
) -> None:
    name = WRITERS[writer][2]
    assert is_done(writer, write(writer))
    before = (here / name).read_bytes()
    done = shell(writer, f"ulimit -f 1; {{}} {name} {{more}}")
    assert done.returncode == 4, done.stderr
    assert f"cannot write {name}: File too large".encode() in done.stderr
    assert (here / name).read_bytes() == before
    assert names_in(here) == sorted(["job.log", name])


# Modes and owners


@pytest.mark.parametrize(
    ("writer", "more", "mask", "mode"),
    [
        ("wrap", [], 0o022, 0o755),
        ("wrap", [], 0o007, 0o770),
        ("wrap", ["--unset", "A"], 0o022, 0o755),
        ("wrap", ["--set", "A=secret"], 0o022, 0o700),
        ("sbatch", ["--set", "A=secret"], 0o022, 0o700),
        ("sbatch", [], 0o027, 0o750),
        ("html", [], 0o022, 0o644),
        ("html", [], 0o077, 0o600),
        ("new", [], 0o022, 0o644),
    ],
)
def test_a_new_file_has_the_mode_that_fits(
    here: Path, writer: str, more: list[str], mask: int, mode: int
) -> None:
    name = WRITERS[writer][2]
    done = shell(writer, f"umask {mask:o}; {{}} {name} {shlex.join(more)} {{more}}")
    assert (here / name).stat().st_mode & 0o7777 == mode, done.stderr


@pytest.mark.parametrize("mode", [0o700, 0o400, 0o600, 0o644, 0o775])
@pytest.mark.parametrize("writer", ["wrap", "sbatch", "html"])
def test_a_file_that_is_replaced_keeps_its_mode(
    here: Path, writer: str, mode: int
) -> None:
    path = here / WRITERS[writer][2]
    assert is_done(writer, write(writer))
    path.chmod(mode)
    inode = path.stat().st_ino
    assert is_done(writer, write(writer))
    assert path.stat().st_ino != inode
    assert path.stat().st_mode & 0o777 == mode


def test_what_others_could_read_is_closed_when_a_value_is_set(here: Path) -> None:
    assert write("wrap").code == 0
    assert (here / "job.sh").stat().st_mode & 0o044
    assert write("wrap", "job.sh", "--set", "A=secret").code == 0
    assert not (here / "job.sh").stat().st_mode & 0o077


@pytest.mark.parametrize(
    ("owner", "allowed", "mode", "expected"),
    [
        ((1, 2), {(1, 2)}, 0o664, 0o664),
        ((1, 2), {(-1, 2)}, 0o664, 0o664),
        ((1, 2), set(), 0o664, 0o604),  # not for another group
    ],
)
def test_owner_and_group_are_kept_where_they_can_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: tuple[int, int],
    allowed: set[tuple[int, int]],
    mode: int,
    expected: int,
) -> None:
    given: list[tuple[int, int]] = []

    def fchown(_: int, user: int, group: int) -> None:
        if (user, group) not in allowed:
            raise PermissionError
        given.append((user, group))

    monkeypatch.setattr(os, "fchown", fchown)
    old = os.stat_result((0o100000 | mode, 0, 0, 1, *owner, 0, 0, 0, 0))
    made = make_beside(str(tmp_path / "x"), b"data", 0o777, old, private=False)
    assert Path(made).stat().st_mode & 0o777 == expected
    assert given == list(allowed)


# The mark


@pytest.mark.parametrize("kind", ["script", "job", "page"])
def test_the_mark_shows_every_change(kind: str) -> None:
    data = marked(kind, "one\ntwo\udcff\n").encode("utf-8", "surrogateescape")
    assert has_mark(data)
    assert is_untouched(data)
    for at in range(len(data)):
        assert not is_untouched(data[:at])
        assert not is_untouched(data[:at] + b"x" + data[at:])
    assert not has_mark(data.partition(b"\n")[2])


def test_a_marked_page_is_still_html(here: Path) -> None:
    assert is_done("html", write("html"))
    page = (here / "report.html").read_text().splitlines()
    assert page[0] == "<!DOCTYPE html>"
    assert page[1].startswith("<!-- envcfg:page ")
    assert page[1].endswith(" -->")
    assert page[2] == '<html lang="en">'
