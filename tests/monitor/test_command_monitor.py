"""``envcfg monitor`` as users run it; only Slurm's commands are fakes, which run the probe."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from envcfg import cli
from envcfg.nodes.monitor import node_board
from suites import mark_sample
from support import ROOT, Wrapped, envcfg, environment, zero_separated

SCHEMA = json.loads((ROOT / "docs/findings.schema.json").read_text())

SQUEUE = r"""#!/bin/bash
[[ -z ${FAKE_SQUEUE_ERROR-} ]] || { echo "$FAKE_SQUEUE_ERROR" >&2; exit 1; }
state=${FAKE_STATE-RUNNING}
[[ ! -e $FAKE_NOTES/over ]] || state=COMPLETED
IFS=';' read -ra ids <<<"${FAKE_IDS-12|12}"
for id in "${ids[@]}"; do
  echo "$id|$state|${FAKE_USER-$(id -un)}|Priority|${FAKE_TRES-N/A}|node[1-2]"
done
"""
SCONTROL = r"""#!/bin/bash
case $3 in
'node[1-2]') printf 'node1\nnode2\n' ;;
node*) echo "$3" ;;
*) echo "Invalid hostlist: $3" >&2; exit 1 ;;
esac
"""
SRUN = r"""#!/bin/bash
printf '%s\0' "$@" >"$FAKE_NOTES/srun"
env -0 >"$FAKE_NOTES/env"
echo $$ >"$FAKE_NOTES/pid"
[[ -z ${FAKE_SRUN_ERROR-} ]] || { echo "$FAKE_SRUN_ERROR" >&2; exit 1; }
while [[ $1 != /bin/sh ]]; do shift; done
pipes=()
for node in ${FAKE_NODES-node1 node2}; do
  mkfifo "$FAKE_NOTES/$node"
  pipes+=("$FAKE_NOTES/$node")
  SLURMD_NODENAME=$node "$@" <"$FAKE_NOTES/$node" &
done
timeout "${FAKE_LIFE-60}" tee "${pipes[@]}" >/dev/null
(($? != 124)) || : >"$FAKE_NOTES/over"
wait
: >"$FAKE_NOTES/ended"
"""
NVIDIA = """#!/bin/sh
printf '0, 98, 1024, 2048, 300.00, A100\\n1, 0, 0, 2048, 50.00, A100\\n2, [N/A], [N/A], [N/A], [N/A], A100\\n'
"""

Monitor = Callable[..., Wrapped]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fakes on PATH; return where they take notes."""
    tools, notes = tmp_path / "tools", tmp_path / "notes"
    tools.mkdir()
    notes.mkdir()
    for name, text in (("squeue", SQUEUE), ("scontrol", SCONTROL), ("srun", SRUN)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_NOTES", str(notes))
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-user"))
    for name in ("ENVCFG_PROFILE", "SLURM_JOB_ID", "SLURM_CLUSTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    return notes


@pytest.fixture
def gpus(notes: Path) -> Path:
    tool = notes.parent / "tools/nvidia-smi"
    tool.write_text(NVIDIA)
    tool.chmod(0o755)
    return tool


def test_help_has_examples() -> None:
    done = envcfg("monitor", "--help")
    assert (done.code, done.err) == (0, "")
    assert "examples:\n" in done.text


@pytest.mark.usefixtures("gpus")
def test_once_shows_both_nodes_with_words_for_what_stands_out() -> None:
    done = envcfg("monitor", "--once", "--interval", "0.2", "12")
    assert (done.code, done.err) == (0, "")
    lines = done.text.splitlines()
    assert re.fullmatch(
        r"job 12: 2 of 2 nodes answer, 6 GPUs used 49 %, 2 idle, 2 unknown, 0\.7 kW",
        lines[0],
    )
    assert lines[1].split() == "node load memory GPUs network, per second".split()
    for node in ("node1", "node2"):
        (at,) = [n for n, line in enumerate(lines) if line.startswith(f"{node} ")]
        assert f" on {os.cpu_count()} cores  " in lines[at]
        assert re.search(r"  0   98 %  1 of 2 GiB  300 W", lines[at])
        assert re.search(r"  1    0 %  0 of 2 GiB  50 W  idle", lines[at + 1])
        assert re.search(r"  2    \? %  \? GiB", lines[at + 2])
    assert (
        "warning: node1, node2: GPU 1 (of 3) is idle (below 5 %)  [gpu-idle]" in lines
    )
    assert "\x1b" not in done.text


@pytest.mark.usefixtures("gpus")
def test_once_as_json_is_one_document() -> None:
    done = envcfg("monitor", "--once", "--json", "--interval", "0.3", "12")
    document = json.loads(done.text)
    assert (done.code, done.err, document["schema_version"]) == (0, "", 1)
    assert document["job"]["id"] == "12"
    for node, name in zip(document["nodes"], ("node1", "node2"), strict=True):
        assert (node["name"], node["answers"]) == (name, True)
        assert node["cores"] == os.cpu_count()
        assert node["memory_total_bytes"] > node["memory_used_bytes"] > 0
        assert [gpu["idle"] for gpu in node["gpus"]] == [False, True, False]
        assert [gpu["use_percent"] for gpu in node["gpus"]] == [98.0, 0.0, None]
        loopback = next(each for each in node["interfaces"] if each["name"] == "lo")
        assert loopback["received_bytes_per_second"] >= 0
    rules = {(each["rule"], each["subject"]) for each in document["findings"]}
    assert {("gpu-idle", "node1"), ("gpu-unknown", "node2")} <= rules


@pytest.mark.usefixtures("gpus")
def test_what_stands_out_is_told_by_node_to_other_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(*options: str) -> Wrapped:
        return envcfg("monitor", "--interval", "0.2", *options, "12")

    done = look("--format", "json")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.text)
    jsonschema.validate(document, SCHEMA)
    assert document["kind"] == "node"
    assert [each["name"] for each in document["checked"]] == ["node1", "node2"]
    for each in document["checked"]:
        assert {"gpu-idle", "gpu-unknown"} <= {of["rule"] for of in each["findings"]}
    strict = look("--format", "github", "--strict")
    assert strict.code == 1
    assert "::warning title=envcfg gpu-idle::node2: GPU 1 (of 3) is idle" in strict.text
    monkeypatch.setenv("FAKE_TRES", "gres/gpu:4")
    missing = look("--format", "text")
    assert missing.code == 1
    assert "node1: error: shows 3 GPUs of 4 (the job asked for them)" in (missing.text)
    assert look("--once").code == 0


def test_without_gpus_load_and_network_are_shown(notes: Path) -> None:
    assert notes.is_dir()
    done = envcfg("monitor", "--once", "--interval", "0.2", "12")
    assert done.code == 0, done.err
    assert "  none  " in done.text
    assert "gpu-" not in done.text


def test_the_step_is_one_task_on_each_node_beside_the_job(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_NTASKS", "SLURM_MEM_PER_CPU", "SLURM_NETWORK", "SLURM_CONF"):
        monkeypatch.setenv(name, "12")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    option = "--network=no_vni"
    done = envcfg(
        "monitor", "--once", "--json", "--interval", "0.2", f"--srun-arg={option}"
    )
    assert done.code == 0, done.err
    argv = [word.decode() for word in zero_separated(notes / "srun")]
    assert {"--jobid=12", "--overlap", "--nodes=2", "--ntasks=2", "--mem=0"} <= set(
        argv
    )
    assert argv[-5:-2] == [option, "/bin/sh", "-c"]
    assert argv[-1] == "envcfg-monitor"
    kept = {name for name in environment(notes / "env") if name.startswith(b"SLURM_")}
    assert kept == {b"SLURM_CONF"}
    assert (notes / "ended").exists()


def test_some_nodes_can_be_chosen(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NODES", "node2")
    options = ("--once", "--json", "--interval", "0.2", "--nodes", "node2")
    done = envcfg("monitor", *options, "12")
    assert [node["name"] for node in json.loads(done.text)["nodes"]] == ["node2"]
    assert b"--nodelist=node2" in zero_separated(notes / "srun")


def test_the_profile_says_which_gpus_a_node_has(gpus: Path) -> None:
    assert gpus.exists()
    done = envcfg("monitor", "--once", "--interval", "0.2", "--profile", "lumi-g", "12")
    assert "shows 3 GPUs of 8 (profile lumi-g)  [gpu-missing]" in done.text


def test_live_is_a_line_of_json_for_each_look_until_the_job_ends(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_LIFE", "2")
    done = envcfg("monitor", "--json", "--interval", "0.3", "12")
    assert (done.code, done.err) == (0, "envcfg: job 12 has ended: COMPLETED\n")
    documents = [json.loads(line) for line in done.text.splitlines()]
    assert len(documents) >= 3
    assert (notes / "ended").exists()


def test_a_node_that_does_not_answer_is_named(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert notes.is_dir()
    monkeypatch.setenv("FAKE_NODES", "node2")
    monkeypatch.setattr(node_board, "PATIENCE", 0.5)
    assert cli.main(["monitor", "--once", "--interval", "0.2", "12"]) == 0
    said = capfd.readouterr().out
    assert "job 12: 1 of 2 nodes answer" in said
    assert re.search(r"^node1 +no answer$", said, re.MULTILINE)
    assert "error: node1: did not answer  [node-silent]" in said
    assert "error: node2" not in said


def test_nodes_are_asked_again_without_one_that_srun_does_not_reach(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    srun = notes.parent / "tools/srun"
    lost = "srun: error: Task launch for StepId=12.7 failed on node node1: Communication connection failure"
    first = f'if mkdir "$FAKE_NOTES/asked"; then echo "{lost}" >&2; exit 1; fi\n'
    srun.write_text(SRUN.replace("#!/bin/bash\n", f"#!/bin/bash\n{first}"))
    monkeypatch.setenv("FAKE_NODES", "node2")
    monkeypatch.setattr(node_board, "PATIENCE", 0.5)
    assert cli.main(["monitor", "--once", "--interval", "0.2", "12"]) == 0
    said = capfd.readouterr()
    assert "error: node1: did not answer  [node-silent]" in said.out
    assert "job 12: 1 of 2 nodes answer" in said.out
    assert b"--nodelist=node2" in zero_separated(notes / "srun")


def test_when_nobody_answers_that_is_an_error(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert notes.is_dir()
    monkeypatch.setenv("FAKE_NODES", "")
    monkeypatch.setattr(node_board, "_START", 0.5)
    assert cli.main(["monitor", "--once", "12"]) == 4
    said = capfd.readouterr()
    assert said.out == ""
    assert "error: no node has answered" in said.err
    assert "\n  hint: " in said.err


ERRORS = {
    "no job": ([], {}, 2, "no job given", "squeue --me"),
    "no number": (["x1"], {}, 2, "'x1' is not a job id", "4321_7"),
    "an option for a shell": (["1;id"], {}, 2, "'1;id' is not a job id", ""),
    "a command": (["12", "--", "true"], {}, 2, "takes no command", ""),
    "interval": (["12", "--interval", "0"], {}, 2, "'0' is not a number of seconds", ""),
    "percent": (["12", "--gpus-idle-below", "nan"], {}, 2, "'nan' is not a number", ""),
    "profile": (["12", "--profile", "lumi"], {}, 2, "unknown profile", "lumi-g"),
    "unknown": (["99"], {"FAKE_SQUEUE_ERROR": "slurm_load_jobs error: Invalid job id specified"}, 4, "Slurm knows no job 99", "sacct -j 99"),
    "unknown, in silence": (["99"], {"FAKE_IDS": ""}, 4, "Slurm knows no job 99", "sacct -j 99"),
    "no answer": (["12"], {"FAKE_SQUEUE_ERROR": "Unable to contact slurm controller"}, 4, "Unable to contact", "scontrol ping"),
    "waits": (["12"], {"FAKE_STATE": "PENDING"}, 4, "does not run yet: PENDING (Priority)", "squeue --start -j 12"),
    "over": (["12"], {"FAKE_STATE": "TIMEOUT"}, 4, "no longer runs: TIMEOUT", "check-log"),
    "stands": (["12"], {"FAKE_STATE": "SUSPENDED"}, 4, "is halted: SUSPENDED", "scontrol show job 12"),
    "an array": (["12"], {"FAKE_IDS": "13|12_1;14|12_2"}, 2, "is 2 jobs: 12_1, 12_2", "envcfg monitor 12_1"),
    "foreign node": (["12", "--nodes", "node7"], {}, 2, "node7 is not in job 12", "node1, node2"),
    "no list of nodes": (["12", "--nodes", "x["], {}, 4, "is not a list of nodes", "as in nid["),
    "no step": (["12"], {"FAKE_SRUN_ERROR": "srun: error: Unable to create step for job 12: Access/permission denied"}, 4, "Access/permission denied", "only the owner"),
    "slingshot": (["12"], {"FAKE_SRUN_ERROR": "srun: error: Unable to create step for job 12: Error configuring interconnect"}, 4, "interconnect", "--srun-arg=--network=no_vni"),
}  # fmt: skip


@pytest.mark.parametrize("name", mark_sample(ERRORS, every=3))
def test_an_error_says_what_and_how_to_mend_it(
    notes: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert notes.is_dir()
    arguments, env, code, message, hint = ERRORS[name]
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    done = envcfg("monitor", *arguments)
    assert (done.code, done.text) == (code, "")
    assert done.err.startswith("envcfg: error: ")
    assert message in done.err
    assert "\n  hint: " in done.err or name in {"interval", "percent"}
    assert hint in done.err
    assert "Traceback" not in done.err


def test_a_job_of_somebody_else_is_said(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert notes.is_dir()
    monkeypatch.setenv("FAKE_USER", "alice")
    monkeypatch.setattr("envcfg.commands.job_target.user_name", lambda: "bob")
    assert cli.main(["monitor", "12"]) == 4
    said = capfd.readouterr().err
    assert "job 12 belongs to alice, and you are bob" in said
    assert "only alice may look into it" in said


def test_where_there_is_no_slurm_that_is_said(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notes.is_dir()
    monkeypatch.setenv("PATH", str(notes))
    done = envcfg("monitor", "12")
    assert done.code == 4
    assert "cannot run squeue: No such file or directory" in done.err


def shown_on_a_terminal(ending: signal.Signals = signal.SIGINT, **env: str) -> bytes:
    """Return what a terminal gets of four looks, until a signal."""
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(
        [sys.executable, "-m", "envcfg", "monitor", "--interval", "0.3", "12"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40", **env},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        deadline = time.monotonic() + 60
        while shown.count(b"nodes answer") < 4 and time.monotonic() < deadline:
            if select.select([ours], [], [], 0.5)[0]:
                shown += os.read(ours, 65536)
        process.send_signal(ending)
        try:
            while more := os.read(ours, 65536):
                shown += more
        except OSError:
            pass  # the other side is closed
        assert process.wait(timeout=10) == 128 + ending
    os.close(ours)
    return shown


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_on_a_terminal_a_table_is_renewed_until_a_signal(
    gpus: Path, notes: Path, ending: signal.Signals
) -> None:
    assert gpus.exists()
    shown = shown_on_a_terminal(ending)
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
    assert text.count("job 12: 2 of 2 nodes answer, 6 GPUs used 49 %") >= 3
    assert "W  idle" in text
    assert "Traceback" not in text
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l")  # the cursor is back
    assert (notes / "ended").exists()


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_without_colours_gets_text(
    gpus: Path, notes: Path, env: dict[str, str]
) -> None:
    assert gpus.exists()
    shown = shown_on_a_terminal(**env)
    assert b"\x1b" not in shown
    assert shown.count(b"job 12: 2 of 2 nodes answer") >= 3
    assert (notes / "ended").exists()


def test_when_it_is_killed_the_step_ends(notes: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "envcfg", "monitor", "--interval", "0.2", "12"],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
    deadline = time.monotonic() + 60
    while not (notes / "ended").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
