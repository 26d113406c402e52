"""Steps that are watched while they run: what stands in their output, and what is left of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jobs
import pytest

from support import LOCAL, Wrap, envcfg, lint_shell

# Rank 0 writes what NCCL said of all of them; the others only run.
PROGRAM = """\
import os, sys, time
how, seconds = sys.argv[1:3]
name = os.environ["NCCL_DEBUG_FILE"].replace("%h", "nid").replace("%p", str(os.getpid()))
if os.environ["RANK"] == "0" and how == "nccl":
    lines = open("recorded").read()
    with open(name, "w") as file:
        file.write(lines)
if how == "copies":
    # Each rank starts a process for each GPU, in turns: NCCL's lines are those of a spawn.
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for turn in range(size):
        open(f"turn-{turn}-{rank}", "w").close()
        while not all(os.path.exists(f"turn-{turn}-{n}") for n in range(size)):
            time.sleep(0.01)
        if os.fork() == 0:
            pid = os.getpid()
            with open(name.replace(str(os.getppid()), str(pid)), "w") as file:
                file.write(
                    f"nid:{pid}:{pid} [{turn}] NCCL INFO ncclCommInitRank comm 0x5{rank} rank {turn} "
                    f"nranks {size} cudaDev {turn} nvmlDev {turn} busId {turn + 1}000 "
                    f"commId 0xabc{rank + 1} - Init COMPLETE\\n"
                )
            break
if how == "gone" and os.environ["RANK"] == "0":
    import shutil
    time.sleep(1.5)
    shutil.rmtree(os.path.dirname(name))
if os.environ["RANK"] == "1" and how == "raise":
    raise ValueError("corrupt shard 17")
if os.environ["RANK"] == "1" and how == "raise-late":
    while not os.path.exists("went-on"):
        time.sleep(0.05)
    raise ValueError("corrupt shard 17")
if how == "raise-late":
    for number in range(40):
        print("step", number, "loss 0.1", flush=True)
        time.sleep(0.05)
        if number == 4:
            open("went-on", "w").close()
if how == "killed" and os.environ["RANK"] == "1":
    os.kill(os.getpid(), 9)
time.sleep(float(seconds))
print("rank", os.environ["RANK"], "is done", flush=True)
"""
ENVCFG = Path(sys.executable).parent / "envcfg"


class Step:
    """A script with a step of two ranks, whose output is a file."""

    def __init__(self, folder: Path, text: bytes) -> None:
        (folder / "job.sh").write_bytes(text)
        (folder / "program.py").write_text(PROGRAM)
        self.folder = folder

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        path = f"{ENVCFG.parent}:{os.environ['PATH']}"
        with (self.folder / "out").open("ab") as out:
            return subprocess.Popen(
                ["bash", "job.sh"],
                cwd=self.folder,
                env={**os.environ, "PATH": path, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def run(self, **env: str) -> tuple[int, list[str]]:
        """Return the exit code of the step, and what envcfg says in its output."""
        running = self.start(**env)
        try:
            code = running.wait(120)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
        assert self.watchers() == []
        return code, self.said

    @property
    def said(self) -> list[str]:
        lines = (self.folder / "out").read_text().splitlines()
        return [each for each in lines if each.startswith("envcfg: ")]

    def watchers(self) -> list[int]:
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                words = (each / "cmdline").read_bytes().split(b"\0")
                here = (each / "cwd").readlink() == self.folder
            except OSError:
                continue
            if b"--watch-step" in words and here:
                found.append(int(each.name))
        return found

    def wait_watcher(self) -> int:
        """Return the number of what watches, when it hears."""
        for _ in range(100):
            found = self.watchers()
            if found and Path(f"/proc/{found[0]}/wchan").exists():
                time.sleep(1.0)  # Python has started
                return found[0]
            time.sleep(0.05)
        raise AssertionError((self.folder / "out").read_text())


Make = Callable[..., Step]


@pytest.fixture
def step(wrap: Wrap, tmp_path: Path) -> Iterator[Make]:
    made: list[Step] = []

    def make(how: str, seconds: float = 2.5, *options: str, ranks: int = 2) -> Step:
        text = wrap(
            *(*LOCAL, "--launcher", "local", "--ranks", str(ranks)),
            *(options or ("--verify",)),
            *("--", sys.executable, "program.py", how, str(seconds)),
        )
        assert text.code == 0, text.err
        assert lint_shell(text.out, "bash") == ""
        made.append(Step(tmp_path, text.out))
        return made[-1]

    yield make
    for each in made:
        for number in each.watchers():
            os.kill(number, signal.SIGKILL)


def folders(path: Path) -> list[str]:
    return [each.name for each in path.glob("nccl-*")]


def recorded(folder: Path, **job: object) -> None:
    """Let rank 0 write what NCCL has said in a job of two ranks on two nodes."""
    said = jobs.Job(nodes=2, ranks_per_node=1, **job)  # type: ignore[arg-type]
    (folder / "recorded").write_text(jobs.text(said))


def test_a_good_network_is_said_in_one_line_and_leaves_nothing(
    step: Make, tmp_path: Path
) -> None:
    recorded(tmp_path)
    code, said = step("nccl", 4).run()
    assert code == 0
    (line,) = said
    assert re.fullmatch(
        r"envcfg: verified after \d s: all 2 ranks on 2 nodes use AWS Libfabric over cxi, "
        "with GPU RDMA",
        line,
    )
    assert folders(tmp_path) == []


def test_a_part_of_the_ranks_is_never_verified(step: Make, tmp_path: Path) -> None:
    recorded(tmp_path)
    code, said = step("nccl", 2.5, ranks=3).run()
    assert (code, len(said)) == (0, 1)
    assert said[0].startswith(
        "envcfg: note: not verified: 2 ranks instead of 3; envcfg"
    )
    assert len(folders(tmp_path)) == 1


def test_sockets_are_warned_of_and_the_step_goes_on(step: Make, tmp_path: Path) -> None:
    recorded(tmp_path, network="socket")
    code, said = step("nccl", 4).run()
    assert (code, len(said)) == (0, 1)
    line = r"envcfg: warning: degraded after \d s: 2 of 2 ranks use TCP sockets on hsn0.*; "
    assert re.match(line, said[0])
    (folder,) = folders(tmp_path)
    assert said[0].endswith(f"; envcfg check-log {tmp_path}/{folder} says more")


def test_stop_ends_the_step_with_1_and_says_why(step: Make, tmp_path: Path) -> None:
    recorded(tmp_path, network="socket")
    code, said = step("nccl", 600, "--verify=stop").run()
    assert (code, len(said)) == (1, 1)
    assert re.match(
        r"envcfg: error: the step is stopped after \d s: degraded: 2 of", said[0]
    )
    assert "is done" not in (tmp_path / "out").read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [2, 4])
def test_stop_ends_a_program_that_starts_its_own_processes_in_each_rank(
    step: Make, tmp_path: Path, ranks: int
) -> None:
    code, said = step("copies", 600, "--verify=stop", ranks=ranks).run()
    assert code == 1
    assert (
        f"broken: the program starts its own processes: {ranks} times {ranks} on "
        f"{ranks} GPUs of each node" in said[0]
    )
    assert said[0].startswith("envcfg: error: the step is stopped after ")
    assert "is done" not in (tmp_path / "out").read_text()


def test_the_first_cause_is_the_last_that_is_said(step: Make, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("KeyError: of a step before\n")
    code, said = step("raise").run()
    assert code == 1
    assert re.fullmatch(
        r"envcfg: first cause: rank 1 \([\w.-]+\) ended: ValueError: corrupt shard 17 "
        rf"\(program.py:\d+\) \({tmp_path}/out:\d+\)",
        said[0],
    )
    assert said[1].startswith("envcfg: next: fix first: ")
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[-2:] == said
    number = int(said[0].rpartition(":")[2][:-1])
    assert "ValueError: corrupt shard 17" in lines[number - 1]
    first = envcfg("check-log", str(tmp_path / "out")).text.splitlines()[0]
    assert first.startswith(
        f"broken: rank 1 ({os.uname().nodename}) ended: ValueError: corrupt shard 17 (program.py:"
    )


def test_a_rank_that_fails_while_others_go_on_is_the_cause(
    step: Make, tmp_path: Path
) -> None:
    code, said = step("raise-late").run()
    assert code == 1
    assert re.match(r"envcfg: first cause: rank 1 \([\w.-]+\) ended", said[0]), said
    assert folders(tmp_path) == []  # there is no line of NCCL
    out = (tmp_path / "out").read_text()
    assert re.search(r"^[\w.-]+: rank 1 exited with code 1$", out, re.M), out
    alone = envcfg("check-log", str(tmp_path / "out")).text
    assert re.match(r"broken: rank 1 \([\w.-]+\) ended", alone), alone


def test_a_rank_that_is_killed_is_named_in_one_line(step: Make, tmp_path: Path) -> None:
    code, said = step("killed").run()
    assert code == 137
    out = (tmp_path / "out").read_text()
    first, *rest = out.splitlines()
    assert re.fullmatch(r"[\w.-]+: rank 1 died from signal 9", first), out
    assert rest == said
    assert said[0].startswith("envcfg: first cause: rank 1 "), said
    assert folders(tmp_path) == []


@pytest.mark.parametrize("how", ["none", "raise"])
def test_a_step_that_is_not_watched_leaves_no_empty_folder(
    step: Make, tmp_path: Path, how: str
) -> None:
    code, _ = step(how, 0.1).run(PATH="/usr/bin:/bin")
    assert (code, folders(tmp_path)) == (how == "raise", [])


@pytest.mark.parametrize("options", [(), ("--smoke-test",)])
def test_a_step_that_does_not_start_leaves_no_folder(
    step: Make, tmp_path: Path, options: tuple[str, ...]
) -> None:
    made = step("none", 0.1, "--verify", *options)
    if not options:
        text = (tmp_path / "job.sh").read_text()
        (tmp_path / "job.sh").write_text(
            f"export MASTER_PORT=$(printf %140000d 1)\n{text}"
        )
    code, _ = made.run()
    assert code != 0
    assert folders(tmp_path) == []


@pytest.mark.parametrize(
    "options", ["--verify", "--nccl-debug=logs", "--flight-recorder"]
)
@pytest.mark.parametrize(
    "before", ["unset PWD", "cd sub", "unset PWD; cd sub; unset PWD"]
)
def test_files_are_in_the_folder_in_which_the_step_starts(
    wrap: Wrap, tmp_path: Path, options: str, before: str
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "steps.sh").write_bytes(wrap(*LOCAL, options).out)
    show = 'name=${NCCL_DEBUG_FILE-$TORCH_NCCL_DEBUG_INFO_TEMP_FILE}; cd "${name%/*}" && pwd'
    done = subprocess.run(
        ["bash", "-c", f"source ./steps.sh; {before}; envcfg_run sh -c '{show}'"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{ENVCFG.parent}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    here = tmp_path / "sub" if "cd" in before else tmp_path
    assert Path(done.stdout.strip()).is_relative_to(here), done.stdout


def test_without_stat_the_output_is_not_read_and_a_note_says_so(
    step: Make, tmp_path: Path
) -> None:
    recorded(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("mkdir", "rm", "rmdir", "sh"):
        (programs / name).symlink_to(f"/bin/{name}")
    (programs / "envcfg").symlink_to(ENVCFG)
    made = step("nccl", 4)
    with (tmp_path / "out").open("ab") as out:
        done = subprocess.run(
            ["/bin/bash", "job.sh"],
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PATH": str(programs)},
            stdout=out,
            stderr=out,
            timeout=60,
        )
    assert done.returncode == 0
    note, verified = made.said
    assert note.startswith("envcfg: note: the output of this step is not read"), note
    assert verified.startswith("envcfg: verified after "), verified


def test_a_watcher_that_is_stopped_holds_up_no_job(step: Make, tmp_path: Path) -> None:
    made = step("none", 4)
    running = made.start()
    os.kill(made.wait_watcher(), signal.SIGSTOP)
    assert running.wait(60) == 0
    assert made.said == [
        "envcfg: note: what watched this step does not answer, and says nothing more"
    ]
    assert made.watchers() == []
    assert folders(tmp_path) == []


def test_a_program_without_nccl_is_said_once(step: Make, tmp_path: Path) -> None:
    code, said = step("none", 0.1).run()
    assert (code, folders(tmp_path)) == (0, [])
    (line,) = said
    assert line.startswith(
        "envcfg: note: not verified: no line of NCCL: the program does"
    )


def test_without_envcfg_on_path_there_is_one_note(step: Make, tmp_path: Path) -> None:
    recorded(tmp_path)
    code, said = step("nccl", 0.1).run(PATH="/usr/bin:/bin")
    assert (code, len(said)) == (0, 1)
    assert said[0].startswith(
        "envcfg: note: nothing is verified: envcfg is not on PATH on"
    )


def test_a_watcher_that_is_killed_ends_no_job(step: Make, tmp_path: Path) -> None:
    made = step("none", 4)
    running = made.start()
    os.kill(made.wait_watcher(), signal.SIGKILL)
    assert running.wait(30) == 0
    assert "coproc" not in (tmp_path / "out").read_text()
    assert made.said == [
        "envcfg: note: what watched this step does not answer, and says nothing more"
    ]
    assert (tmp_path / "out").read_text().count("is done") == 2


@pytest.mark.nightly
def test_a_folder_that_goes_away_is_a_note(step: Make) -> None:
    code, said = step("gone", 4).run()
    assert (code, len(said)) == (0, 1)
    assert re.match(
        r"envcfg: note: not verified: .*nccl-local-.*: No such file", said[0]
    )


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_where_the_script_is_ended(step: Make, number: int) -> None:
    made = step("none", 60)
    running = made.start()
    watcher = made.wait_watcher()
    os.kill(running.pid, number)
    running.wait(30)
    for _ in range(100):
        if not Path(f"/proc/{watcher}").exists():
            break
        time.sleep(0.1)
    assert made.watchers() == []


def test_output_that_no_file_takes_is_watched_without_it(
    step: Make, tmp_path: Path
) -> None:
    recorded(tmp_path)
    made = step("nccl", 4)
    path = f"{ENVCFG.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "job.sh"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        timeout=30,
    )
    assert done.returncode == 0
    assert b"envcfg: verified after " in done.stderr
    assert made.watchers() == []


@pytest.mark.parametrize("then", ["stop", "report"])
def test_python_is_to_write_its_stacks_only_where_the_step_is_to_be_stopped(
    wrap: Wrap, then: str
) -> None:
    text = wrap(*LOCAL, f"--on-silence=15m={then}", "--", "true").out
    assert (b"envcfg_set PYTHONFAULTHANDLER 1\n" in text) == (then == "stop")
