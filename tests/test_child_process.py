"""The one runner of programs: its deadline, its limit of output, signals, and the end.

No test waits for a fixed time: a program reports through a pipe or a file, and the end of
all that it has started is the end of a pipe that they hold.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from math import inf
from pathlib import Path

import pytest

from envcfg.common import child_process
from envcfg.common.child_process import PIPE, ChildProcess, run, run_all, start

# Programs that never end. All that they start holds descriptor 9.
HANGS = {
    "silent": "echo; exec sleep 1000",
    "with grandchildren": "sleep 1000 & (sleep 1000 & exec sleep 1000) & echo; wait",
    "deaf to signals": "trap '' TERM INT HUP; echo; while :; do sleep 1000; done",
    "stdout closed": "echo; exec >&- 2>&-; exec sleep 1000",
    "stopped": "echo; kill -STOP $$",
    "floods stderr": "echo; exec yes >&2",
    "floods stdout": "exec yes",
}


def never(_: float) -> float:
    return inf


class Holders:
    """A pipe that ends when all processes that inherited it have ended."""

    def __init__(self) -> None:
        self._end, self.descriptor = os.pipe()
        os.set_inheritable(self.descriptor, True)

    def wait(self) -> None:
        """Return once no process holds the pipe; a test that hangs here has failed."""
        os.close(self.descriptor)
        with os.fdopen(self._end, "rb") as file:
            assert file.read() == b""


@pytest.fixture
def holders() -> Holders:
    return Holders()


def begin(script: str, holders: Holders, **options: object) -> ChildProcess:
    argv = ["bash", "-c", script]
    return ChildProcess(argv, files=[holders.descriptor], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HANGS)
def test_a_program_that_hangs_ends_with_its_block(name: str, holders: Holders) -> None:
    lines: list[str] = []
    with begin(HANGS[name], holders) as child:
        assert child.read(lines.append, lambda _: -1 if lines else inf) is False
    assert child.has_exited
    assert child.exit_code is None
    holders.wait()


@pytest.mark.parametrize("name", HANGS)
def test_a_question_has_a_deadline(name: str) -> None:
    limit = 0.3
    answer = run(["bash", "-c", HANGS[name]], limit)
    assert answer.exit_code is None
    # A flood may reach the limit of output first.
    faults = ("bash did not answer for 0.3 s", "bash printed more than 10 MB")
    assert answer.fault in faults[: 1 + name.startswith("floods")]


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_an_answer_that_is_too_long_ends_only_its_program(name: str) -> None:
    flood = f"exec yes >&{1 + (name == 'stderr')}"
    long, short = run_all([["bash", "-c", flood], ["bash", "-c", "echo a"]], 60)
    assert (long.exit_code, long.out, long.err) == (None, "", "")
    assert long.fault == "bash printed more than 10 MB"
    assert (short.exit_code, short.out) == (0, "a\n")


def test_descendants_that_hold_the_output_do_not_delay_the_answer() -> None:
    answer = run(["bash", "-c", "sleep 1000 & echo hello; exit 3"], 60)
    assert (answer.exit_code, answer.out) == (3, "hello\n")
    assert answer.text == ""


def test_a_program_ended_by_a_signal_has_a_negative_code() -> None:
    assert run(["bash", "-c", "kill -SEGV $$"], 60).exit_code == -signal.SIGSEGV


def test_data_are_the_stdin_from_its_start() -> None:
    data = b"x" * 1_000_000
    answer = run(["bash", "-c", "read -n 3 -r a; echo $a; wc -c"], 60, data)
    assert answer.out.split() == ["xxx", "999997"]
    assert run(["cat"], 60).out == ""


@pytest.mark.parametrize("argv", [["no-such-program"], ["a\0b"]])
def test_a_program_that_does_not_start_is_absent(argv: list[str]) -> None:
    answer = run(argv, 60)
    assert answer.is_absent
    assert answer.fault.startswith(f"{argv[0]}: ")
    assert start(argv) == answer


def test_lines_come_whole_and_the_last_one_too() -> None:
    lines: list[str] = []
    script = r"printf 'a\r\nb'; printf 'c\n\xff\nlast'; echo wrong >&2; exit 4"
    with ChildProcess(["bash", "-c", script]) as child:
        with pytest.raises(EOFError):
            child.read(lines.append, never)
        assert child.wait() == 4
    assert lines == ["a", "bc", "\N{REPLACEMENT CHARACTER}", "last"]
    assert child.errors == ["wrong"]


def test_a_line_that_is_too_long_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_LONGEST", 10)
    lines: list[str] = []
    script = "printf 1234567890; printf '12345\\n123\\n1234567890'"
    with ChildProcess(["bash", "-c", script]) as child, pytest.raises(EOFError):
        child.read(lines.append, never)
    assert lines == ["1234567890", "123", "1234567890"]


def test_a_line_without_end_costs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_KEPT", 1000)
    count = 0

    def deadline(_: float) -> float:
        nonlocal count
        count += 1
        return -1 if count > 50 else inf

    with ChildProcess(["cat", "/dev/zero"]) as child:
        child.read(lambda _: None, deadline)
        assert child.size <= child_process._LONGEST


def test_of_errors_without_end_the_last_lines_are_kept() -> None:
    with ChildProcess(["bash", "-c", "seq 1000000 >&2; echo"]) as child:
        lines: list[str] = []
        with pytest.raises(EOFError):
            child.read(lines.append, never)
        child.wait()
    assert child.errors == [str(n) for n in range(999_601, 1_000_001)]


def test_output_after_the_signal_is_dropped() -> None:
    script = "trap 'echo late >&2; exit 9' TERM; echo early >&2; echo; while :; do sleep 0.01; done"
    lines: list[str] = []
    with ChildProcess(["bash", "-c", script], leave=60) as child:
        child.read(lines.append, lambda _: -1 if lines else inf)
    assert child.has_exited
    assert (child.exit_code, child.errors) == (None, ["early"])


def test_a_program_reads_until_its_pipe_ends() -> None:
    script = "while read -r number; do echo $((number * 2)); done; echo over >&2"
    lines: list[str] = []
    with ChildProcess(["bash", "-c", script], stdin=PIPE, leave=60) as child:
        child.send(b"1\n")
        child.send(b"21\n")
        assert child.read(lines.append, lambda _: None if lines[1:] else inf)
    assert lines == ["2", "42"]
    assert (child.exit_code, child.errors) == (0, ["over"])


def test_data_larger_than_a_pipe_are_sent_while_lines_are_read() -> None:
    lines: list[str] = []
    size = 3_000_000
    script = f"head -c {size} | wc -c; cat"
    with ChildProcess(["bash", "-c", script], stdin=PIPE, leave=60) as child:
        child.send(b"x" * size)
        assert child.read(lines.append, lambda _: None if lines else inf)
    assert lines == [str(size)]


def test_a_program_that_needs_no_input_is_no_error() -> None:
    lines: list[str] = []
    with ChildProcess(["bash", "-c", "exec <&-; echo; exit 3"], stdin=PIPE) as child:
        with pytest.raises(EOFError):
            child.read(lines.append, never)
        child.send(b"1\n")
        child.send(b"2\n")
        assert child.wait() == 3
    assert lines == [""]


WAYS = {
    "question": "run(argv, 1000)",
    "lines": "with ChildProcess(argv) as child: child.read(print, lambda _: inf)",
}
WAY = """\
import sys
from math import inf
from envcfg.common import interrupts
from envcfg.common.child_process import ChildProcess, run
interrupts.listen()
interrupts.raise_signals({raises})
argv = ["bash", "-c", sys.argv[1]]
try:
    {way}
except interrupts.Interrupted as err:
    sys.exit(100 + err.number)
"""


@pytest.mark.parametrize("raises", [False, True], ids=["exits", "raises"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("with grandchildren", signal.SIGTERM),
        ("silent", signal.SIGHUP),
        ("deaf to signals", signal.SIGINT),
    ],
)
def test_a_signal_ends_the_program_and_then_envcfg(
    name: str, way: str, number: int, raises: bool, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    # Each process of the program holds the pipe, so that its end is theirs.
    script = f"exec 8>'{begun}'; echo >&8; {HANGS[name]}"
    code = WAY.format(raises=raises, way=WAYS[way])
    envcfg = subprocess.Popen(
        [sys.executable, "-c", code, script],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[],
    )
    with envcfg, begun.open("rb") as file:
        assert file.readline() == b"\n"
        envcfg.send_signal(number)
        assert envcfg.wait() == (100 if raises else 128) + number
        assert file.read() == b""
