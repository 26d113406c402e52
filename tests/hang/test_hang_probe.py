"""The probe itself, on this machine: real processes, a pipe, a stand-in for NCCL's RAS."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envcfg.nodes.hang.hang_lines import node_views
from envcfg.nodes.hang.hang_records import HangNode
from envcfg.nodes.probe.node_answer import NodeReader
from envcfg.nodes.probe.probes import HANG
from support import ROOT, lint_shell

JOB = f"77{os.getpid()}"  # other processes of the tests are of other jobs
RAS = ROOT / "tests/cluster/programs/ras.py"
SLEEP = "import time; time.sleep(60)"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a program as a task of the job; all are ended afterwards."""
    started: list[subprocess.Popen[str]] = []

    def run(*argv: str, **names: str) -> subprocess.Popen[str]:
        env = {
            "PATH": os.environ["PATH"],
            "SLURM_JOB_ID": JOB,
            "SLURM_STEP_ID": "0",
            "SLURMD_NODENAME": "n1",
            "NCCL_RAS_ENABLE": "0",
            **names,
        }
        process = subprocess.Popen(
            argv, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        return process

    yield run
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def python(start: Start, code: str, **names: str) -> subprocess.Popen[str]:
    """Start Python and wait until it has said that it runs."""
    process = start(sys.executable, "-c", f"print('runs', flush=True); {code}", **names)
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    return process


def probe(
    *asking: str, path: str = "/usr/bin:/bin", sent: bytes = b"", **names: str
) -> HangNode:
    env = {"PATH": path, "SLURMD_NODENAME": "n1", "SLURM_STEP_ID": "9"}
    done = subprocess.run(
        [*HANG.command(JOB, *asking)],
        env={**env, "SLURM_JOB_ID": JOB, **names},
        input=sent,
        capture_output=True,
        check=False,
        timeout=90,
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == b""
    reader = NodeReader(["n1"])
    for line in done.stdout.decode().splitlines():
        assert len(line) < 800
        reader.feed(line)
    (node,) = node_views(["n1"], reader.answers)
    assert node.is_complete, done.stdout
    return node


def test_it_is_valid_bash() -> None:
    assert lint_shell(HANG.script().encode(), "bash") == ""


def test_what_each_rank_does_is_told(start: Start) -> None:
    sleeping = python(start, SLEEP, RANK="0", LOCAL_RANK="0", WORLD_SIZE="3")
    running = python(start, "exec('while True: pass')", RANK="1", LOCAL_RANK="1")
    stopped = python(start, SLEEP, RANK="2", LOCAL_RANK="2")
    os.kill(stopped.pid, signal.SIGSTOP)
    node = probe()
    first, second, third = node.ranks
    assert [each.pid for each in node.ranks] == [
        each.pid for each in (sleeping, running, stopped)
    ]
    assert (first.state, first.local_rank, first.world) == ("S", 0, 3)
    assert "nanosleep" in first.channel or first.call in (35, 230, 101, 115)
    assert first.use is not None
    assert first.use < 0.1
    assert second.use is not None
    assert second.use > 0.1
    assert third.state == "T"
    assert node.processes == 3


def named(start: Start, name: str, **names: str) -> subprocess.Popen[str]:
    """Start a process with this name."""
    code = f"import ctypes; ctypes.CDLL(None).prctl(15, b{name!r}); print('named', flush=True)"
    process = python(start, f"{code}; {SLEEP}", **names)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_tasks_of_ray_are_no_ranks(start: Start) -> None:
    launcher = python(start, SLEEP, SLURM_PROCID="0")
    assert [each.pid for each in probe().ranks] == [launcher.pid]
    for name in ("raylet", "ray::IDLE", "ray::Train.step"):
        named(start, name, SLURM_PROCID="0")
    node = probe()
    assert (node.ranks, node.processes, node.ray) == ((), 4, 1)


def test_the_text_of_a_program_is_not_its_stack(start: Start, tmp_path: Path) -> None:
    python(start, SLEEP, RANK="0")
    spy = tmp_path / "py-spy"
    text = "\\n".join(f"line {number}" for number in range(300))
    thread = 'Thread 7 (idle): \\"MainThread\\"\\n    step (train.py:7)'
    spy.write_text(
        f'#!/bin/sh\nprintf "Process 7: python -c {text}\\n\\n{thread}\\n"\n'
    )
    spy.chmod(0o755)
    (rank,) = probe(path=f"{tmp_path}:/usr/bin:/bin").ranks
    assert (rank.stack, rank.stack_problem) == (("step (train.py:7)",), "")


# The one that starts a program cannot be interrupted until that has opened its files; here
# one is a pipe, which needs somebody at its other end.
STUCK = """
import os, time
os.mkfifo({pipe!r})
if not os.fork():
    while {often}:
        time.sleep(0.2)
        os.close(os.open({pipe!r}, os.O_WRONLY))
    os._exit(0)
print('ready', flush=True)
while True:
    os.posix_spawn('/bin/true', ['true'], {{}},
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, {pipe!r}, os.O_RDONLY, 0)])
"""


def test_who_is_held_in_the_kernel_for_a_moment_is_not_stuck(
    start: Start, tmp_path: Path
) -> None:
    for number in range(2):
        pipe = str(tmp_path / f"pipe{number}")
        code = STUCK.format(pipe=pipe, often=bool(number))
        process = python(start, f"exec({code!r})", RANK=str(number))
        assert process.stdout is not None
        process.stdout.readline()
    time.sleep(0.3)
    for _ in range(3):
        stuck, reads = probe().ranks
        assert stuck.state == "D"
        assert reads.state != "D"


def test_a_rank_is_its_program_not_what_holds_it_nor_what_it_starts(
    start: Start,
) -> None:
    code = f"import subprocess; subprocess.run(['sleep', '60']); {SLEEP}"
    shell = f'"{sys.executable}" -c "{code}"; true'
    process = start("bash", "-c", shell, RANK="5")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        node = probe()
        if node.processes == 3:
            break
    (rank,) = node.ranks
    assert rank.name.startswith("python")
    assert rank.pid != process.pid


def test_others_do_not_count(start: Start) -> None:
    python(start, SLEEP, RANK="0", SLURM_JOB_ID="1")
    python(start, SLEEP, RANK="1", SLURMD_NODENAME="n2")
    python(start, SLEEP, RANK="2", SLURM_STEP_ID="9")
    assert probe().ranks == ()


def test_a_container_without_slurm_s_variables_is_known_by_what_is_above_it(
    start: Start,
) -> None:
    bare = f"env -i RANK=4 '{sys.executable}' -c '{SLEEP}'; true"
    start("bash", "-c", bare)
    deadline = time.monotonic() + 60
    while not probe().ranks and time.monotonic() < deadline:
        pass
    assert [each.rank for each in probe().ranks] == [4]


def test_without_rank_a_task_is_one(start: Start) -> None:
    python(start, SLEEP, SLURM_PROCID="6", SLURM_LOCALID="2")
    (rank,) = probe().ranks
    assert (rank.rank, rank.local_rank) == (6, 2)


def test_what_runs_in_the_shell_of_salloc_is_no_task(start: Start) -> None:
    python(start, SLEEP, SLURM_PROCID="0", SLURM_STEP_ID="4294967290")
    task = python(start, SLEEP, SLURM_PROCID="0")
    assert [each.pid for each in probe().ranks] == [task.pid]


def test_the_stack_is_told_by_py_spy_of_the_image_s_path(start: Start) -> None:
    folder = os.path.dirname(sys.executable)
    if not os.access(f"{folder}/py-spy", os.X_OK):
        pytest.fail("pip install py-spy")
    python(start, SLEEP, RANK="0", PATH=f"/nowhere:{folder}")
    (rank,) = probe().ranks
    assert rank.stack == ("<module> (<string>:1)",), rank.stack_problem


@pytest.mark.parametrize("is_whole", [True, False])
def test_py_spy_is_sent_and_nothing_of_it_is_left(
    start: Start, tmp_path: Path, *, is_whole: bool
) -> None:
    sent = gzip.compress(Path(sys.executable).with_name("py-spy").read_bytes())
    python(start, SLEEP, RANK="0", PATH="/usr/bin:/bin")
    size, sent = f"--spy={len(sent)}", sent if is_whole else sent[:100_000]
    (rank,) = probe(size, sent=sent, TMPDIR=str(tmp_path)).ranks
    assert rank.stack == (("<module> (<string>:1)",) if is_whole else ())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else")
def test_where_ptrace_is_not_allowed_it_says_so(start: Start, tmp_path: Path) -> None:
    (tmp_path / "scope").write_text("1\n")
    shared = Path(tempfile.gettempdir())
    for folder in (tmp_path, *tmp_path.parents):
        if folder != shared and shared in folder.parents:
            folder.chmod(0o755)
    user = ("/usr/bin/setpriv", "--reuid=65534", "--clear-groups")
    program = ("sh", "-c", "echo runs; exec sleep 60")
    process = start(*user, *program, RANK="0", PATH="/usr/bin:/bin")
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    shell, option, script, *words = HANG.command(JOB)
    script = script.replace("/proc/sys/kernel/yama/ptrace_scope", f"{tmp_path}/scope")
    done = subprocess.run(
        [*user, shell, option, script, *words],
        env={"PATH": "/usr/bin:/bin", "SLURMD_NODENAME": "n1", "SLURM_STEP_ID": "9"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    reader = NodeReader(["n1"])
    for line in done.stdout.splitlines():
        reader.feed(line)
    (rank,) = node_views(["n1"], reader.answers)[0].ranks
    assert rank.stack_problem == (
        "ptrace is not allowed here (kernel.yama.ptrace_scope is 1)"
    )


DUMPS = """
import os, time
os.mkfifo('{pipe}')
reader = os.open('{pipe}', os.O_RDONLY | os.O_NONBLOCK)
print('ready', flush=True)
while True:
    try:
        if os.read(reader, 9): open('{dump}', 'w').write('x' * 9000)
    except BlockingIOError: pass
    time.sleep(0.2)
"""


def test_a_dump_is_asked_for_and_awaited(start: Start, tmp_path: Path) -> None:
    stem = tmp_path / "a b_"
    names = {
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(stem),
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": str(stem),
    }
    code = DUMPS.format(pipe=f"{stem}3.pipe", dump=f"{stem}3")
    writer = python(start, f"exec({code!r})", RANK="3", **names)
    assert writer.stdout is not None
    writer.stdout.readline()
    python(start, SLEEP, RANK="4", **names)
    (tmp_path / "a b_4").write_text("of an hour ago")
    third, fourth = probe().ranks
    assert (third.dump, third.dump_size, third.dump_path) == ("new", 9000, f"{stem}3")
    assert os.path.getsize(f"{stem}3") == 9000
    assert (fourth.dump, fourth.dump_path) == ("old", f"{stem}4")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a pipe to somebody else")
def test_a_pipe_of_a_stranger_is_not_written_to(start: Start, tmp_path: Path) -> None:
    stem = tmp_path / "x"
    os.mkfifo(f"{stem}3.pipe")
    os.chown(f"{stem}3.pipe", 65534, 65534)
    names = {
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(stem),
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": str(stem),
    }
    python(start, SLEEP, RANK="3", **names)
    with open(os.open(f"{stem}3.pipe", os.O_RDWR | os.O_NONBLOCK), "rb", 0) as pipe:
        probe()
        assert pipe.read() is None


@pytest.mark.parametrize(
    "answer", ['{"communicators_count": 0,\n"a": 1}', "Job summary\n" + "x" * 5000]
)
def test_ras_is_asked_as_its_own_client_asks(
    start: Start, tmp_path: Path, answer: str
) -> None:
    (tmp_path / "answer").write_text(answer)
    server = start(sys.executable, str(RAS), str(tmp_path / "answer"), "127.0.0.1:0")
    assert server.stdout is not None
    port = server.stdout.readline().split()[-1]
    names = {"NCCL_RAS_ENABLE": "1", "NCCL_RAS_ADDR": f"localhost:{port}"}
    python(start, SLEEP, RANK="0", **names)
    first, second = probe("n1").ras
    assert first == second
    said, end, text = first
    assert (said, end, text.rstrip("\n")) == (port, "complete", answer)
    assert probe("n2").ras == (), "another node asks"


ENDLESS = """
import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
talk, _ = listener.accept()
talk.sendall(b'SERVER PROTOCOL 2\\nOK\\nOK\\n')
while True: talk.sendall({text} * 100000)
"""


@pytest.mark.parametrize(
    "text", ["b'x'", pytest.param("b'x' * 30 + b'\\n'", marks=pytest.mark.nightly)]
)
def test_ras_that_never_ends_is_cut(start: Start, text: str) -> None:
    code = ENDLESS.format(text=text)
    server = python(start, f"exec({code!r})")
    assert server.stdout is not None
    address = f"localhost:{server.stdout.readline().strip()}"
    python(start, SLEEP, RANK="0", NCCL_RAS_ENABLE="1", NCCL_RAS_ADDR=address)
    (answer,) = probe("n1").ras
    assert (answer.end, len(answer.text) < 1 << 23) == ("cut", True)


HEARS = """
import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
talk, _ = listener.accept()
for line in talk.makefile('rb'):
    print(line.decode().strip(), flush=True)
    if line.startswith(b'VERBOSE'): break
    talk.sendall(b'SERVER PROTOCOL 2\\n' if line.startswith(b'CLIENT') else b'OK\\n')
talk.sendall(b'NCCL version 2\\nJob summary\\n')
"""


@pytest.mark.parametrize(("world", "form"), [("64", True), ("4096", False)])
def test_of_a_large_job_ras_is_asked_for_text(
    start: Start, world: str, form: bool
) -> None:
    server = python(start, f"exec({HEARS!r})")
    assert server.stdout is not None
    address = f"localhost:{server.stdout.readline().strip()}"
    names = {"NCCL_RAS_ENABLE": "1", "NCCL_RAS_ADDR": address, "WORLD_SIZE": world}
    python(start, SLEEP, RANK="0", **names)
    (_, end, text), _ = probe("n1").ras
    assert (end, text) == ("complete", "NCCL version 2\nJob summary\n")
    assert ("SET FORMAT json\n" in server.stdout.read()) == form


FIRST_IS_SILENT = """
import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
silent, _ = listener.accept()
talk, _ = listener.accept()
talk.sendall(b'SERVER PROTOCOL 2\\nOK\\nERROR: Unknown command\\n')
talk.sendall(b'NCCL version 2\\nJob summary\\n')
"""


def test_where_one_of_a_node_does_not_answer_another_is_asked(start: Start) -> None:
    """All listen on one port, and the kernel gives each question to any of them."""
    server = python(start, f"exec({FIRST_IS_SILENT!r})")
    assert server.stdout is not None
    address = f"localhost:{server.stdout.readline().strip()}"
    python(start, SLEEP, RANK="0", NCCL_RAS_ENABLE="1", NCCL_RAS_ADDR=address)
    assert "complete" in [each.end for each in probe("n1").ras]


CLOSES = """
import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
kept = []
while True:
    talk, _ = listener.accept()
    talk.sendall({text})
    if {text}:
        talk.shutdown(socket.SHUT_WR)
        kept.append(talk)
    else:
        talk.close()
"""


@pytest.mark.parametrize(
    ("text", "end", "said"),
    [
        ("b''", "silent", ""),
        ("b'SERVER PROTOCOL 2'", "cut", ""),
        ("b'SERVER PROTOCOL 2\\nOK\\nOK\\nNCCL vers'", "complete", "NCCL vers\n"),
        ("b'220 mail.example\\n'", "stranger", ""),
    ],
)
def test_ras_that_closes_early_holds_up_nothing(
    start: Start, text: str, end: str, said: str
) -> None:
    code = CLOSES.format(text=text)
    server = python(start, f"exec({code!r})")
    assert server.stdout is not None
    address = f"localhost:{server.stdout.readline().strip()}"
    python(start, SLEEP, RANK="0", NCCL_RAS_ENABLE="1", NCCL_RAS_ADDR=address)
    answers = probe("n1").ras
    assert {(each.end, each.text) for each in answers} == {(end, said)}


def test_ras_that_does_not_listen_is_said(start: Start) -> None:
    names = {"NCCL_RAS_ENABLE": "1", "NCCL_RAS_ADDR": "[127.0.0.1]:1"}
    python(start, SLEEP, RANK="0", **names)
    assert [each.end for each in probe("n1").ras] == ["refused"]


def test_what_a_rank_and_its_helpers_have_done_between_two_looks(start: Start) -> None:
    """A thread that says that it lives is not the program; a helper that works is."""
    alive = "import threading, time; t = time.sleep; threading.Thread(target=lambda: [print(t(0.1)) for _ in range(600)]).start(); t(60)"
    helped = (
        "import os, time; os.fork() or [None for _ in iter(int, 1)]; time.sleep(60)"
    )
    for number, code in enumerate((SLEEP, alive, helped, "exec('while True: pass')")):
        python(start, code, RANK=str(number), MASTER_PORT="29500")
    first = probe().ranks
    time.sleep(1)
    second = probe().ranks
    assert [each.port for each in first] == ["29500"] * 4
    assert [each.step for each in first] == ["0"] * 4
    turned, worked = [], []
    for before, now in zip(first, second, strict=True):
        assert now.moment is not None
        assert before.moment is not None
        assert now.worked is not None
        assert before.worked is not None
        turned.append(now.turns != before.turns)
        worked.append(
            (now.worked - before.worked) / (now.moment - before.moment) > 0.05
        )
    assert turned == [False, False, False, True]
    assert worked == [False, False, True, True]


def test_values_of_the_environment_are_never_run(start: Start, tmp_path: Path) -> None:
    evil = f"$(touch {tmp_path}/bad)`touch {tmp_path}/bad`"
    python(
        start,
        SLEEP,
        RANK=f"a[{evil}]",
        WORLD_SIZE=evil,
        LOCAL_RANK=evil,
        SLURM_PROCID=f"a[{evil}]",
        NCCL_RAS_ENABLE="1",
        NCCL_RAS_ADDR=f"{evil}:a[{evil}]",
        TORCH_NCCL_DEBUG_INFO_TEMP_FILE=f"/{evil}",
        TORCH_NCCL_DEBUG_INFO_PIPE_FILE=f"/{evil}",
    )
    python(start, SLEEP, RANK="1", WORLD_SIZE=evil, LOCAL_RANK=f"a[{evil}]\n$(x)")
    probe("n1")
    assert not (tmp_path / "bad").exists()


def test_ranks_of_python_end_with_their_stacks(start: Start) -> None:
    code = "import time\ndef load(): time.sleep(60)\nload()"
    run = ["env", sys.executable, "-c", f"print('runs', flush=True)\n{code}"]
    names = {"PYTHONFAULTHANDLER": "1"}
    ranks = [
        start(
            "bash",
            "-c",
            '"$@" 2>&1; echo $?; sleep 60',
            "-",
            *run,
            RANK=f"{n}",
            **names,
        )
        for n in range(2)
    ]
    other = python(start, SLEEP, RANK="2")
    for each in ranks:
        assert each.stdout is not None
        assert each.stdout.readline() == "runs\n"
    moment = int(time.time()) + 2
    env = {"PATH": "/usr/bin:/bin", "SLURMD_NODENAME": "n1", "SLURM_STEP_ID": "9"}
    words = HANG.command(JOB, f"--abort={moment}")
    subprocess.run(words, env=env, capture_output=True, check=False, timeout=30)
    assert time.time() >= moment
    for each in ranks:
        assert each.stdout is not None
        said = "".join(iter(each.stdout.readline, "134\n"))
        assert "Fatal Python error: Aborted" in said
        assert " in load" in said
    assert other.poll() is None  # it would leave no stack
