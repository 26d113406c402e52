"""Lists of bad nodes: what job, submit, preflight and check-log --next do with one."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from envcfg.core.bad_nodes import add_bad_nodes, read_bad_nodes
from support import Wrapped, envcfg

HEAD = "# envcfg bad nodes: NODE TIME REASON\n"
NODE_DOWN = (
    "srun: error: Node failure on nid001007\n"
    "slurmstepd: error: *** JOB 123456 ON nid001006 CANCELLED AT 2026-01-02T03:04:05"
    " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
)
JOB = (
    *("--profile", "lumi-g", "--container", "none", "--partition", "small-g"),
    *("--account", "project_465000001", "--nodes", "2", "--time", "5"),
)


def day(days: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * 86400))


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bad.txt"
    path.write_text(
        f"{HEAD}nid001001 {day(2.5)} gpu-missing: shows 7 of 8 GPUs $(touch pwned)\n"
        f"nid001002 {day(8)} node-silent: no answer\nnid001003\n"
    )
    return path


def job(*options: str, command: str = "train.py") -> Wrapped:
    return envcfg("job", *JOB, *options, "--", "python3", command)


def test_a_job_leaves_out_the_nodes_of_a_list(listed: Path) -> None:
    done = job("--exclude-from", "bad.txt")
    assert done.code == 0, done.err
    assert "#SBATCH --exclude=nid[001001,001003]\n" in done.text
    assert f"# nodes of {listed}\n" in done.text
    # The reason is shown, and is no part of the script.
    assert "shows 7 of 8 GPUs $(touch pwned), 2 d ago" in done.err
    assert "pwned" not in done.text.replace(done.err, "")
    assert "1 entry of bad.txt older than 7 days, so used again: nid001002" in done.err


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("nid001001\nnid001004\n", "nid[001001,001004]"),  # Primus, NVRx
        ("g1101.cluster\r\n\n# a remark\ng1102.cluster x y\n", "g1101.cluster,g1102.cluster"),
        ("nid[001001-001003,001007],gpu-07\n", "nid[001001-001003,001007],gpu-07"),
        (f"n[{','.join(map(str, range(100, 300)))}]\n", f"n[{','.join(map(str, range(100, 300)))}]"),
        ("allegro1,n[1-2,05][7]\n", "n[1-2,05][7],allegro1"),
        ("", ""),
        ("nid1 EARLY x\nnid1 LATE x\n", "nid1"),
        ("nid1 LATE x\nnid1 EARLY x\n", "nid1"),
    ],
)  # fmt: skip
def test_lists_of_other_tools_are_read(listed: Path, text: str, folded: str) -> None:
    # The times of today are no part of the test's name: each process collects the same.
    dated = text.replace("EARLY", day(9)).replace("LATE", day(1))
    listed.write_text(HEAD + dated if dated != text else text)
    done = job("--exclude-from", "bad.txt")
    assert done.code == 0, done.err
    assert re.findall(r"^#SBATCH --exclude=(.*)$", done.text, re.M) == [folded][: bool(folded)]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["<missing-3>", "$(touch`x`)", "--nodelist=nid1", "a;b", "a'b", "n" * 300, "nid[1", "é1", "a\x1b[31m",
     "ALL", "all", "n[3-1]", "n[1--3]", "n[1-2-3]", "n[-1]", "n[1,]", "n[0-300000000]", "n[1-999][1-999]"],
)  # fmt: skip
def test_what_is_no_name_is_named_and_never_written(listed: Path, name: str) -> None:
    listed.write_text(f"nid1\n{name}\n")
    done = job("--exclude-from", "bad.txt")
    assert done.code == 0, done.err
    assert "#SBATCH --exclude=nid1\n" in done.text
    assert "warning: --exclude-from, line 2: " in done.err
    assert "\x1b" not in done.err


def test_a_list_of_other_tools_is_as_old_as_its_file(listed: Path) -> None:
    listed.write_text("nid1\n")
    os.utime(listed, (0, time.time() - 8 * 86400))
    done = job("--exclude-from", "bad.txt")
    assert "#SBATCH --exclude" not in done.text
    assert "older than 7 days, so used again: nid1" in done.err


def test_the_users_own_exclusion_is_kept(listed: Path) -> None:
    listed.write_text("nid1\n")
    done = job("--exclude-from", "bad.txt", "--request-arg=--exclude=own[1-2]")
    assert re.findall(r"^#SBATCH --exclude=(.*)$", done.text, re.M) == ["own[1-2],nid1"]


def test_a_missing_list_is_begun_by_the_job(listed: Path) -> None:
    listed.unlink()
    done = job("--exclude-from", "bad.txt", "--preflight", "--requeue=3")
    assert done.code == 0, done.err
    assert "#SBATCH --exclude" not in done.text
    absent = "bad.txt does not exist yet: no node is left out"
    assert f"note: --exclude-from: {absent}" in done.err
    # The job may run in another folder.
    assert f"--exclude-from {listed}" in done.text
    assert f"envcfg_restart 3 {listed} envcfg_job USR1 " in done.text


@pytest.mark.parametrize("profile", ["tuolumne", "polaris"])
def test_schedulers_without_such_an_option_refuse_it(
    listed: Path, profile: str
) -> None:
    done = envcfg(
        *("job", "--profile", profile, "--container", "none", "--account", "a"),
        *("--exclude-from", "bad.txt", "--", "python3", "train.py"),
    )
    assert done.code != 0
    assert "--exclude-from" in done.err
    assert listed.exists()


def test_next_adds_nodes_that_went_down_and_leaves_out_all(listed: Path) -> None:
    log = listed.parent / "job.out"
    log.write_text(NODE_DOWN)
    plain = envcfg("check-log", "--next", str(log)).text
    assert plain.startswith("restart without nid001007: ")
    done = envcfg("check-log", "--next", "--exclude-from", "bad.txt", str(log))
    assert done.text.startswith("restart without nid001007,nid001001,nid001003: ")
    line = listed.read_text().splitlines()[-1]
    assert re.fullmatch(
        r"nid001007 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ .*nid001007.*", line
    )
    again = envcfg("check-log", "--next", "--exclude-from", "bad.txt", str(log))
    assert again.text == done.text


@pytest.mark.parametrize("name", ["--uid=0", "all", "nid1;reboot", "$(reboot)", "-w"])
def test_next_names_only_nodes_and_no_options(listed: Path, name: str) -> None:
    log = listed.parent / "job.out"
    log.write_text(NODE_DOWN.replace("nid001007", name))
    done = envcfg("check-log", "--next", str(log))
    assert not done.text.startswith("restart without"), done.text
    more = envcfg("check-log", "--next", "--exclude-from", "bad.txt", str(log))
    assert more.text.partition(":")[0] in {
        "restart without nid001001,nid001003",
        done.text.partition(":")[0],
    }
    assert name not in listed.read_text()


def test_next_without_a_restart_changes_nothing(listed: Path) -> None:
    log, before = listed.parent / "job.out", listed.read_text()
    log.write_text("{'train_runtime': 912.5, 'epoch': 3.0}\n")
    done = envcfg("check-log", "--next", "--exclude-from", "bad.txt", str(log))
    assert done.text.startswith("done: ")
    assert listed.read_text() == before


def test_a_list_of_another_tool_is_not_changed(listed: Path) -> None:
    listed.write_text("nid1\n")
    (warning,) = add_bad_nodes("bad.txt", {"nid2": "down"})
    assert (
        "nid2 not added to bad.txt: envcfg did not write this list" in warning.message
    )
    assert listed.read_text() == "nid1\n"
    (warning,) = add_bad_nodes("absent/bad.txt", {"nid2": "down"})
    assert "No such file" in warning.message


def test_a_written_list_is_read_back(listed: Path) -> None:
    listed.unlink()
    assert add_bad_nodes("bad.txt", {"nid1": "a\nnid9 b", "x;y": "z"}) == []
    assert add_bad_nodes("bad.txt", {"nid2": ""}) == []
    nodes, notes = read_bad_nodes("bad.txt")
    assert [node.name for node in nodes] == ["nid1", "nid2"]
    assert all(0 <= node.age < 60 for node in nodes)
    assert [note.severity for note in notes] == ["note"]
    assert listed.read_text().count("\n") == 3


def test_a_line_without_an_end_stays_a_line(listed: Path) -> None:
    listed.write_text(f"{HEAD}nid1")
    assert add_bad_nodes("bad.txt", {"nid2": "down"}) == []
    assert listed.read_text().splitlines()[1] == "nid1"
    assert [node.name for node in read_bad_nodes("bad.txt")[0]] == ["nid1", "nid2"]
    listed.write_text(HEAD.rstrip())
    assert add_bad_nodes("bad.txt", {"nid2": "down"}) == []
    assert listed.read_text().startswith(f"{HEAD}nid2 ")


@pytest.mark.parametrize("is_folder", [True, False])
def test_next_answers_without_the_list(listed: Path, is_folder: bool) -> None:
    log = listed.parent / "job.out"
    log.write_text(NODE_DOWN)
    if not is_folder:
        listed.write_text("nid1\n" * 300_000)
    path = str(listed.parent if is_folder else listed)
    done = envcfg("check-log", "--next", "--exclude-from", path, str(log))
    plain = envcfg("check-log", "--next", str(log))
    assert (done.code, done.out) == (plain.code, plain.out)
    why = "Is a directory" if is_folder else "larger than 1 MiB"
    assert f"warning: --exclude-from: {path}: {why}" in done.err


def test_only_nodes_that_slurm_has_are_added(
    listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, before = listed.parent / "job.out", listed.read_text()
    log.write_text(NODE_DOWN)
    tool = listed.parent / "sinfo"
    monkeypatch.setenv("PATH", f"{listed.parent}:{os.environ['PATH']}")
    next_step = ("check-log", "--next", "--exclude-from", "bad.txt", str(log))
    tool.write_text("#!/bin/sh\necho nid001001\necho nid001003\n")
    tool.chmod(0o755)
    done = envcfg(*next_step)
    assert done.text.startswith("restart without nid001001,nid001003: ")
    unknown = "warning: --exclude-from: nid001007: not a node of this cluster"
    assert unknown in done.err
    assert listed.read_text() == before
    listed.write_text(f"{before}elsewhere\nnid[7-9]\n")
    done = envcfg(*next_step)
    assert done.text.startswith("restart without nid001001,nid001003,nid[7-9]: ")
    assert "warning: --exclude-from: elsewhere: not a node of this cluster" in done.err
    listed.unlink()
    assert envcfg(*next_step).text.startswith("restart: ")
    # The name of the node itself may lack a domain that Slurm's name has.
    tool.write_text("#!/bin/sh\necho nid001007.cluster\n")
    assert envcfg(*next_step).text.startswith("restart without nid001007.cluster: ")
    assert listed.read_text().splitlines()[1].startswith("nid001007.cluster ")
    listed.unlink()
    # Slurm does not answer, so the name may be right.
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert envcfg(*next_step).text.startswith("restart without nid001007: ")


def test_a_long_list_is_read_at_once(listed: Path) -> None:
    listed.write_text("".join(f"n{number} {day(8)} x\n" for number in range(20_000)))
    nodes, (note,) = read_bad_nodes("bad.txt")
    assert (nodes, note.message.startswith("20000 entries of ")) == ([], True)
    listed.write_text("".join(f"n{number}-x{'y' * 20}\n" for number in range(6_000)))
    done = job("--exclude-from", "bad.txt")
    assert (done.code, "--exclude may have 131071 bytes" in done.err) == (4, True)


def test_what_cannot_be_read_is_an_error(listed: Path) -> None:
    assert job("--exclude-from", str(listed.parent)).code == 4
    assert job("--exclude-from", f"{listed}/below").code == 4
    listed.write_text("nid1\n" * 300_000)
    done = job("--exclude-from", "bad.txt")
    assert (done.code, "larger than 1 MiB" in done.err) == (4, True)
    done = envcfg("check-log", "--exclude-from", "bad.txt", "x.out")
    assert (done.code, "--exclude-from belongs to --next" in done.err) == (2, True)


def test_a_pipe_as_list_is_refused_at_once(listed: Path) -> None:
    os.mkfifo(listed.parent / "pipe")
    done = job("--exclude-from", "pipe")
    assert (done.code, "pipe is not a regular file" in done.err) == (4, True)


def test_an_entry_of_the_future_is_as_old_as_the_file(listed: Path) -> None:
    listed.write_text(f"{HEAD}nid7 {day(-400)} slow\nnid8 {day(-0.01)} clock\n")
    done = job("--exclude-from", "bad.txt")
    assert "#SBATCH --exclude=nid[7-8]\n" in done.text
    assert "line 2: nid7: " in done.err
    assert done.err.count("is in the future: the file's time is used") == 1
    old = time.time() - 8 * 86400
    os.utime(listed, (old, old))
    done = job("--exclude-from", "bad.txt")
    assert "#SBATCH --exclude=nid8\n" in done.text
    assert "1 entry of bad.txt older than 7 days" in done.err


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0c", "\x1e"])
def test_only_a_line_feed_ends_a_line(listed: Path, separator: str) -> None:
    listed.write_text(f"{HEAD}nid7 {day(1)} slow{separator}nid8 {day(1)} forged\n")
    done = job("--exclude-from", "bad.txt")
    assert "#SBATCH --exclude=nid7\n" in done.text, done.err
