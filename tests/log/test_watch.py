"""What is said of a step while its log grows, of jobs that are too large for a step here."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from deaths import FRAMES, read_deaths, write_log
from hypothesis import given
from hypothesis import strategies as st
from jobs import DIALECTS, Job, lines, text

from envcfg.core.log_checking import check_logs
from envcfg.core.step_watch import LastWords, Network
from envcfg.log.expectations import Expectations
from fuzzing import part


def test_where_a_part_of_the_files_is_read_nothing_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envcfg.core.step_watch._MOST", 3)
    texts: dict[int, list[str]] = {}
    for line in lines(Job(nodes=2, ranks_per_node=2)):
        texts.setdefault(line.rank, []).append(line.text)
    for rank, said in texts.items():
        (tmp_path / f"nccl-nid-{rank}.log").write_text("\n".join(said) + "\n")
    (tmp_path / "out").touch()
    heard: list[str] = []
    outputs = {str(tmp_path / "out"): 0}
    expect = Expectations(ranks=4)
    network = Network(str(tmp_path), outputs, expect, "warn", heard.append)
    for _ in range(3):
        network.look()
    network.end(0)
    (said,) = heard
    assert said.startswith(
        "note: not verified: of NCCL's files 3 were read, which is a part; "
    )
    assert not network.is_good


def test_stacks_are_those_written_since(tmp_path: Path) -> None:
    out = tmp_path / "out"
    stack = (
        "Current thread 0x00007f04e7be1b80 (most recent call first):\n"
        '  File "/home/me/train.py", line {} in step\n'
        '  File "/home/me/train.py", line 99 in <module>\n'
    )
    out.write_text(stack.format(7))
    words = LastWords([str(out), str(tmp_path / "none")])
    assert words.stacks() == ""
    with out.open("a") as file:
        file.write(stack.format(64))
    assert words.stacks() == "1 rank stood at train.py:64 in step"
    out.unlink()
    assert words.stacks() == ""


class Watched:
    """A step whose processes write NCCL's files, and whose output is a file."""

    def __init__(self, folder: Path, verify: str = "stop", earlier: str = "") -> None:
        self.files = folder / "nccl-7.1"
        self.files.mkdir()
        self.out = folder / "out"
        self.out.write_text(earlier)
        self.heard: list[str] = []
        self.network = Network(
            str(self.files),
            {str(self.out): len(earlier)},
            Expectations(),
            verify,
            self.heard.append,
        )

    def write(self, job: Job) -> None:
        """Write the log of *job*, a file for each process."""
        for line in lines(job):
            name = f"nccl-{job.seed}-{line.rank}.log"
            with (self.files / name).open("a") as file:
                file.write(f"{line.text}\n")

    def print(self, log: str) -> None:
        with self.out.open("a") as file:
            file.write(log)

    def look(self) -> tuple[bool, bool]:
        """Look until the verdict is stable; return whether it is good, and bad."""
        for _ in range(3):
            self.network.look()
        return self.network.is_good, self.network.is_bad


GOOD = Job(ranks_per_node=2, dialect="nccl-2.24")
SOCKETS = Job(ranks_per_node=2, dialect="nccl-2.24", network="socket", seed=7)
PRINTED = {
    "whole": lambda log: log,
    "behind a label of srun": lambda log: "".join(
        f"0: {line}" for line in log.splitlines(keepends=True)
    ),
    "as a quote": lambda log: "".join(
        f"previous run: {line}" for line in log.splitlines(keepends=True)
    ),
    "with other hosts": lambda log: log.replace("nid00", "nid77"),
}


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.mark.parametrize("form", PRINTED)
def test_an_old_log_in_the_output_verifies_nothing(watched: Watched, form: str) -> None:
    watched.print(PRINTED[form](text(GOOD)))
    assert watched.look() == (False, False)
    watched.network.end(0)
    assert not watched.network.is_good
    (said,) = watched.heard
    quoted = "no line of NCCL: "
    printed = "NCCL's lines are in the output, and may be those of another job; "
    reason = quoted if form == "as a quote" else printed
    assert said.startswith(f"note: not verified: {reason}")


@pytest.mark.parametrize("form", PRINTED)
@pytest.mark.parametrize("first", [True, False])
def test_an_old_log_of_sockets_in_the_output_stops_no_good_step(
    watched: Watched, form: str, first: bool
) -> None:
    if first:
        watched.print(PRINTED[form](text(SOCKETS)))
        assert watched.look() == (False, False)
    watched.write(GOOD)
    if not first:
        watched.print(PRINTED[form](text(SOCKETS)))
    assert watched.look() == (True, False)
    watched.network.end(0)
    assert watched.network.is_good
    assert [said.partition(" after")[0] for said in watched.heard] == ["verified"]


def test_an_old_good_log_hides_no_sockets(watched: Watched) -> None:
    watched.print(text(GOOD))
    watched.write(SOCKETS)
    assert watched.look() == (False, True)
    (said,) = watched.heard
    assert said.startswith("error: the step is stopped after 0 s: degraded: ")


@pytest.mark.parametrize("verify", ["stop", "warn"])
def test_a_restart_over_sockets_is_reported_after_a_good_start(
    tmp_path: Path, verify: str
) -> None:
    watched = Watched(tmp_path, verify)
    watched.write(GOOD)
    assert watched.look() == (True, False)
    watched.write(SOCKETS)
    assert watched.look() == (False, True)
    watched.network.end(0)
    begin = (
        "warning: " if verify == "warn" else "error: the step is stopped after 0 s: "
    )
    assert [said.startswith(begin) for said in watched.heard] == [False, True]
    assert "degraded" in watched.heard[1]


def test_a_restart_without_proof_at_the_end_is_not_verified(watched: Watched) -> None:
    watched.write(GOOD)
    assert watched.look() == (True, False)
    watched.write(
        Job(ranks_per_node=2, dialect="nccl-2.24", seed=7, stopped=frozenset({1}))
    )
    watched.network.end(0)
    assert not watched.network.is_good
    assert watched.heard[1].startswith("note: not verified: ")


_KINDS: tuple[dict[str, object], ...] = (
    {},
    {"network": "socket"},
    {"stopped": frozenset({1})},
    {"fallen": frozenset({1})},
    {"gdr": False},
    {"failed": frozenset({0})},
)


@part(160)
@given(st.data())
def test_the_last_verdict_on_a_step_is_that_of_check_log(data: st.DataObject) -> None:
    """For any beginning of each rank's log, any files, and lines in any number of looks."""
    job = Job(
        ranks_per_node=2,
        dialect=data.draw(st.sampled_from(sorted(DIALECTS))),
        seed=data.draw(st.integers(0, 9)),
        **data.draw(st.sampled_from(_KINDS)),  # type: ignore[arg-type]
    )
    said: dict[int, list[str]] = {}
    for line in lines(job):
        said.setdefault(line.rank, []).append(f"{line.text}\n")
    files = {rank: data.draw(st.integers(0, 3)) for rank in said}
    is_whole = data.draw(st.booleans())
    with TemporaryDirectory() as folder:
        watched = Watched(Path(folder))
        for rank, own in said.items():
            last = len(own) if is_whole else data.draw(st.integers(0, len(own)))
            with (watched.files / f"nccl-{files[rank]}.log").open("a") as file:
                file.write("".join(own[:last]))
            if data.draw(st.booleans()):
                watched.network.look()
        expected = check_logs(sorted(map(str, watched.files.iterdir())), Expectations())
        was_bad = watched.network.is_bad
        watched.network.end(0)
        assert watched.network.is_good == (expected.verdict == "ok" and not was_bad)
        is_bad = expected.network_verdict in ("degraded", "broken")
        assert watched.network.is_bad == (is_bad or was_bad)


DEATHS = [
    write_log(death, frame)
    for name in ("deaths.txt", "deaths_later.txt", "deaths_public.txt")
    for death in read_deaths(name).values()
    for frame in FRAMES
]


@part(240)
@given(st.data())
def test_the_cause_of_a_failed_step_is_that_of_check_log(data: st.DataObject) -> None:
    """For any beginning of the output, written in any pieces, with or without NCCL."""
    log = data.draw(st.sampled_from(DEATHS))
    log = log[: data.draw(st.integers(len(log) // 4, len(log)) | st.just(len(log)))]
    with TemporaryDirectory() as folder:
        watched = Watched(Path(folder), "warn")
        if data.draw(st.booleans()):
            watched.write(GOOD)
        while log:
            cut = data.draw(st.integers(1, len(log)))
            watched.print(log[:cut])
            log = log[cut:]
            watched.network.look()
        watched.heard.clear()
        watched.network.end(1)
        files = [str(watched.out), *sorted(map(str, watched.files.iterdir()))]
        report = check_logs(files, Expectations())
        said = "\n".join(watched.heard)
        if report.cause is None:
            assert "first cause" not in said
        else:
            assert said.startswith(f"first cause: {report.cause.message}")
            assert f"\nnext: {report.next.answer}" in said


def test_exceptions_that_a_step_handled_are_not_its_cause(watched: Watched) -> None:
    """As of another step with the same output: Python ends with 1 after an exception."""
    watched.print(
        "Traceback (most recent call last):\n"
        '  File "/home/me/b.py", line 9, in <module>\n'
        '    raise ValueError("handled")\n'
        "ValueError: handled\n"
        "srun: error: nid001: task 0: Exited with exit code 3\n"
    )
    watched.network.end(3)
    assert watched.heard[0].startswith(
        "first cause: rank 0 (nid001) ended with exit code 3"
    )


def test_a_first_step_that_waited_for_a_compiler_is_told_once(watched: Watched) -> None:
    watched.print(
        "[2026-03-14 09:20:01,123] starting\n"
        "SingleProcess AUTOTUNE benchmarking takes 48.6676 seconds and 349.0871 seconds "
        "precompiling for 462 choices\n"
    )
    watched.network.look()
    assert watched.heard == []
    watched.print(
        " [2026-03-14 09:26:53] iteration        1/     100 | consumed samples: 128 |\n"
    )
    watched.network.look()
    watched.network.look()
    (told,) = watched.heard
    assert told == (
        "note: first step after 412 s: kernels were compiled again; --keep-caches keeps "
        "them for the next job"
    )


def test_output_of_an_earlier_step_is_no_cause(tmp_path: Path) -> None:
    """Only the part of the output from the step's first byte on is read."""
    earlier = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/a.py", line 9, in <module>\n'
        '    raise KeyError("of an earlier step")\n'
        "KeyError: 'of an earlier step'\n"
    )
    watched = Watched(tmp_path, earlier=earlier)
    watched.print("srun: error: nid001: task 0: Exited with exit code 1\n")
    watched.network.end(1)
    assert not any("KeyError" in line for line in watched.heard)
