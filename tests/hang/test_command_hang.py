"""``envcfg hang`` as users run it; only Slurm's commands are fakes, which run the probe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envcfg import cli
from envcfg.nodes.hang.evidence_files import last_line
from envcfg.nodes.hang.hang_step import asking_nodes
from schemas import errors
from support import envcfg, wait_until

SQUEUE = r"""#!/bin/bash
[[ -z ${FAKE_SQUEUE_ERROR-} ]] || { echo "$FAKE_SQUEUE_ERROR" >&2; exit 1; }
echo "88000123|${FAKE_ID-12}|${FAKE_STATE-RUNNING}|${FAKE_USER-$(id -un)}|Priority|N/A|node[1-2]"
"""
SCONTROL = r"""#!/bin/bash
case $3 in
'node[1-2]') printf 'node1\nnode2\n' ;;
node*) echo "$3" ;;
88000123) printf '   JobState=RUNNING\n   StdOut=%s\n' "$FAKE_NOTES/slurm.out" ;;
*) exit 1 ;;
esac
"""
SINFO = "#!/bin/sh\necho 'node2|allocated*'\n"
SRUN = r"""#!/bin/bash
printf '%s\0' "$@" >>"$FAKE_NOTES/srun"
[[ -z ${FAKE_SRUN_ERROR-} ]] || { echo "$FAKE_SRUN_ERROR" >&2; exit 1; }
nodes='node1 node2'
while [[ $1 != /bin/bash ]]; do
  [[ $1 != --nodelist=* ]] || nodes=${1#*=}
  shift
done
for node in ${nodes//,/ }; do
  if [[ $node == "${FAKE_LOST-}" ]]; then
    echo "srun: error: Task launch for StepId=1.2 failed on node $node: No route to host" >&2
    wait # until the others have answered, or were killed
    exit 1
  fi
  SLURMD_NODENAME=$node SLURM_STEP_ID=9 "$@" </dev/null &
  [[ -z ${FAKE_EARLY-} || $nodes != *' '* ]] || { sleep 0.3; kill -9 $!; }
done
wait
"""
SLEEP = "import time; time.sleep(60)"
# It waits for a connection, as a rank in a collective of gloo does.
WAIT = "import socket; s = socket.socket(); s.listen(); s.accept()"
Rank = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fakes on PATH; return where they take notes."""
    tools, notes = tmp_path / "tools", tmp_path / "notes"
    tools.mkdir()
    notes.mkdir()
    fakes = {"squeue": SQUEUE, "scontrol": SCONTROL, "sinfo": SINFO, "srun": SRUN}
    for name, text in fakes.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_NOTES", str(notes))
    monkeypatch.setattr("envcfg.nodes.hang.hang_step._packed_spy", lambda: b"")  # quick
    for name in ("SLURM_JOB_ID", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    log = notes / "slurm.out"
    log.write_text("step 1\nstep 2\n\n")
    os.utime(log, (time.time() - 600,) * 2)
    return notes


@pytest.fixture
def rank(tmp_path: Path) -> Iterator[Rank]:
    """Start a rank of the job, two of which are on a node."""
    started: list[subprocess.Popen[bytes]] = []

    def start(
        number: int, code: str, *, world: int = 4, step: str = "0"
    ) -> subprocess.Popen[bytes]:
        env = {
            "SLURM_JOB_ID": "88000123",
            "SLURM_STEP_ID": step,
            "SLURMD_NODENAME": f"node{number // 2 + 1}",
            "RANK": str(number),
            "WORLD_SIZE": str(world),
            "NCCL_RAS_ENABLE": "0",
        }
        runs = tmp_path / f"runs-{len(started)}"
        words = [sys.executable, "-c", f"open({str(runs)!r}, 'w').close(); {code}"]
        started.append(subprocess.Popen(words, env=env))
        wait_until(f"rank {number} runs", runs.exists)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def four(rank: Rank, last: str, step: str = "0") -> None:
    for number in range(3):
        rank(number, WAIT, step=step)
    rank(3, last, step=step)
    time.sleep(0.5)


def test_help_has_examples() -> None:
    done = envcfg("hang", "--help")
    assert (done.code, done.err) == (0, "")
    assert "examples:\n" in done.text


def test_a_rank_that_sleeps_is_named(rank: Rank) -> None:
    four(rank, SLEEP)
    done = envcfg("hang", "12")
    assert (done.code, done.err) == (1, "")
    lines = done.text.splitlines()
    assert lines[:4] == [
        "job 12: 2 of 2 nodes answer, 4 ranks seen, its log silent for 10 min",
        "ranks  nodes         what each does",
        "0-2    node1, node2  waits for a connection",
        "3      node2         sleeps",
    ]
    assert lines[4] == (
        "error: rank 3 on node2: sleeps; 3 of 3 others: waits for a connection  "
        "[hang-rank-apart]"
    )
    assert lines[-2].endswith("slurm.out:2, 10 min ago: step 2")
    assert lines[-1].startswith("checked: processes of 4 ranks, Python stacks of 0, ")


def test_json_holds_all_that_was_seen(rank: Rank) -> None:
    four(rank, SLEEP)
    done = envcfg("hang", "--json", "12")
    found = json.loads(done.text)
    assert (done.code, found["verdict"], errors("hang", done.text)) == (1, "named", [])
    assert [each["activity"] for each in found["ranks"]] == ["waits"] * 3 + ["sleeps"]
    assert found["log"]["line"] == 2
    assert found["findings"][0]["evidence"]["text"] == "step 2"


def test_of_equals_nobody_is_named(rank: Rank) -> None:
    four(rank, WAIT)
    done = envcfg("hang", "12")
    assert done.code == 3
    assert "warning: job 12: I cannot tell who holds it up: 4 ranks: waits" in done.text


def test_a_job_that_writes_may_not_hang(rank: Rank, notes: Path) -> None:
    four(rank, WAIT)
    os.utime(notes / "slurm.out")
    done = envcfg("hang", "12")
    assert done.code == 0
    assert "[hang-log-moves]" in done.text


def writes(notes: Path) -> subprocess.Popen[bytes]:
    """Start something that writes to the log, as a heartbeat does."""
    code = "import sys, time\nwhile open(sys.argv[1], 'a').write('alive\\n'): time.sleep(1)"
    log = str(notes / "slurm.out")
    return subprocess.Popen([sys.executable, "-c", code, log])


@pytest.mark.nightly
def test_where_only_the_log_goes_on_ranks_that_do_not_are_named(
    rank: Rank, notes: Path
) -> None:
    four(rank, SLEEP)
    with writes(notes) as writer:
        time.sleep(1)
        done = envcfg("hang", "12")
        writer.kill()
    assert done.code == 1
    assert "another look in 15 s says whether the ranks do" in done.err
    assert "error: rank 3 on node2: sleeps" in done.text
    assert "its log goes on, but no rank has moved for" in done.text


@pytest.mark.nightly
def test_where_the_log_goes_on_a_rank_that_works_is_not_named(
    rank: Rank, notes: Path
) -> None:
    four(rank, "import time; [time.sleep(0.2) for _ in range(600)]")
    with writes(notes) as writer:
        time.sleep(1)
        done = envcfg("hang", "12")
        writer.kill()
    assert done.code == 0
    assert "note: rank 3 on node2: sleeps" in done.text
    assert "[hang-log-moves]" in done.text


def test_two_programs_on_the_same_nodes_are_told_apart(rank: Rank) -> None:
    four(rank, WAIT)
    four(rank, SLEEP, step="1")
    done = envcfg("hang", "12", "--json")
    found = json.loads(done.text)
    assert (done.code, errors("hang", done.text)) == (1, [])
    assert [each["program"] for each in found["ranks"]].count("step 1") == 4
    (first, *_) = found["findings"]
    assert (first["rule"], first["subject"]) == (
        "hang-rank-apart",
        "rank 3 on node2 of step 1",
    )


def test_of_one_node_the_ranks_of_others_are_not_missed(rank: Rank) -> None:
    four(rank, WAIT)
    done = envcfg("hang", "--nodes", "node1", "12")
    assert done.code == 3
    assert "hang-rank-missing" not in done.text


def test_the_findings_alone_are_told_to_other_programs(rank: Rank) -> None:
    four(rank, SLEEP)
    done = envcfg("hang", "--format", "json", "12")
    document = json.loads(done.text)
    assert errors("findings", done.text) == []
    assert (done.code, document["kind"]) == (1, "job")
    (job,) = document["checked"]
    assert job["name"] == "job 12"
    assert job["findings"][0]["subject"] == "rank 3 on node2"


@pytest.mark.parametrize("early", ["", "yes"])
def test_a_node_that_srun_cannot_reach_is_named(
    rank: Rank, monkeypatch: pytest.MonkeyPatch, notes: Path, early: str
) -> None:
    """Where the others had not said all by then, they are asked again."""
    for number in range(2):
        rank(number, WAIT)
    monkeypatch.setenv("FAKE_LOST", "node2")
    monkeypatch.setenv("FAKE_EARLY", early)
    done = envcfg("hang", "12")
    assert done.code == 1
    assert (
        "error: node2: does not answer (No route to host), with ranks 2-3; "
        "Slurm has it as allocated*  [hang-node-silent]"
    ) in done.text.splitlines()
    assert ("the others are asked again" in done.err) == bool(early)
    said = (notes / "srun").read_bytes().count(b"--nodelist=node1\0")
    assert said == bool(early)


def test_the_step_takes_nothing_from_the_job(rank: Rank, notes: Path) -> None:
    rank(0, WAIT, world=1)
    envcfg("hang", "--srun-arg=--network=no_vni", "12")
    words = (notes / "srun").read_bytes().decode().split("\0")
    assert {"--jobid=88000123", "--overlap", "--mem=0", "--network=no_vni"} <= {*words}
    assert "--job-name=envcfg-hang" in words


FAULTS = {
    "unknown": ({"FAKE_SQUEUE_ERROR": "slurm_load_jobs error: Invalid job id specified"}, "Slurm knows no job 12"),
    "waits": ({"FAKE_STATE": "PENDING"}, "job 12 does not run yet: PENDING (Priority)"),
    "over": ({"FAKE_STATE": "COMPLETED"}, "job 12 no longer runs: COMPLETED"),
    "no step": ({"FAKE_SRUN_ERROR": "srun: error: Access/permission denied"}, "only the owner of a job may start a step in it"),
}  # fmt: skip


@pytest.mark.parametrize(("names", "said"), FAULTS.values(), ids=FAULTS)
def test_a_job_that_cannot_be_looked_at_is_an_error(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, str], said: str
) -> None:
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    done = envcfg("hang", "12")
    assert (done.code, done.text) == (4, "")
    assert said in done.err


def test_a_job_of_somebody_else_is_said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_USER", "alice")
    monkeypatch.setattr("envcfg.commands.job_target.user_name", lambda: "bob")
    assert cli.main(["hang", "12"]) == 4
    said = capfd.readouterr().err
    assert "job 12 belongs to alice, and you are bob" in said
    assert "only alice may look into it: envcfg hang 12" in said


def test_ctrl_c_ends_the_step(rank: Rank, notes: Path) -> None:
    rank(0, WAIT, world=1)
    process = subprocess.Popen(
        [sys.executable, "-m", "envcfg", "hang", "12"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 20
    while not (notes / "srun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert process.stderr is not None
    process.stderr.close()


def test_of_many_nodes_a_few_from_all_over_ask_ras() -> None:
    assert asking_nodes(["a", "b"]) == ["a", "b"]
    many = [f"n{number}" for number in range(1000)]
    asking = asking_nodes(many)
    assert len(asking) == 8
    assert {asking[0], asking[-1]} == {"n0", "n999"}


@pytest.mark.parametrize(
    ("content", "line", "text"),
    [
        (b"", None, ""),
        (b"one", 1, "one"),
        (b"one\ntwo\n", 2, "two"),
        (b"one\n\n \n", 1, "one"),
        (b"x" * 70_000 + b"\nlast\n", 2, "last"),
        (b"\xff\x1b[31m\n", 1, "\ufffd\x1b[31m"),
        (b"one\r\n", 1, "one"),
        (b"one\n" + b"".join(b"\r %d%%" % n for n in range(100)), 2, "99%"),
        (b"one\n\r 1%\r 2%\r\n", 2, "2%"),
    ],
)
def test_the_last_line_of_a_log(
    tmp_path: Path, content: bytes, line: int | None, text: str
) -> None:
    (tmp_path / "log").write_bytes(content)
    found = last_line(str(tmp_path / "log"), time.time() + 5)
    assert (found.line, found.text, found.problem) == (line, text, "")
    assert found.age is not None
    assert 4 < found.age < 10


@pytest.mark.parametrize(
    "report", [b"envcfg: checked: 2 nodes", b"envcfg: a\nenvcfg: b\n\n"]
)
def test_a_report_of_envcfg_in_the_log_is_no_sign_of_life(
    tmp_path: Path, report: bytes
) -> None:
    (tmp_path / "log").write_bytes(b"one\n\n" + report)
    found = last_line(str(tmp_path / "log"), time.time())
    assert (found.line, found.text, found.age) == (1, "one", None)
    (tmp_path / "log").write_bytes(report + b"\nenvcfg is fine\n")
    found = last_line(str(tmp_path / "log"), time.time())
    assert found.text == "envcfg is fine"
    assert found.age is not None


def test_a_log_that_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert last_line(str(tmp_path / "pipe"), 0).problem == "it is not a file"
    assert last_line(str(tmp_path / "none"), 0).problem == "No such file or directory"
