"""A wrong interface is the cause if the network ended the job, and of no other end.

The fixtures have the facts of the training material's log: sockets over nmn0, the management
network, next to the four interfaces of Slingshot, and an unhandled system error.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from checking import check, rulebook
from jobs import Job, text

from support import ROOT, envcfg

ADDRESSES = "[0]nmn0:10.150.3.21<0> [1]hsn0:10.252.7.91<0> [2]hsn1:10.252.7.92<0>"
BARE = f"NCCL INFO NET/Socket : Using {ADDRESSES}\n[3]hsn2:10.252.3.17<0> [4]hsn3:10.252.3.18<0>\n"
OLD = (
    "RuntimeError: NCCL error in: /build/pytorch/torch/csrc/distributed/c10d/"
    "ProcessGroupNCCL.cpp:1269, unhandled system error, NCCL version 2.12.12"
)
NEW = (
    "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
    "NCCLUtils.hpp:275, unhandled system error (run with NCCL_DEBUG=INFO for details), "
    "NCCL version 2.18.3\nncclSystemError: System call (e.g. socket, malloc) or external "
    "library call failed or device error.\nLast error:\nsocketStartConnect: Connect to "
    "10.150.3.22<40321> failed : Software caused connection abort"
)
WATCHDOG = (
    "[rank{0}]:[E ProcessGroupNCCL.cpp:523] [Rank {0}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) "
    "ran for 600021 milliseconds before timing out.\n"
)


def processes(*messages: str, ranks: int = 2) -> str:
    """Return NCCL's lines of a process on each of two nodes."""
    return "".join(
        f"nid00123{rank}:4711{rank}:4711{rank} [0] {message}\n"
        for rank in range(ranks)
        for message in (f"NCCL INFO NET/Socket : Using {ADDRESSES}", *messages)
    )


def traceback(message: str, prefix: str = "") -> str:
    """Return the traceback of an exception that nothing caught."""
    lines = [
        "Traceback (most recent call last):",
        '  File "/scratch/u/train.py", line 33, in <module>',
        "    dist.all_reduce(loss)",
        *message.split("\n"),
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


EXITS = (
    "srun: error: nid001230: task 0: Exited with exit code 1\n"
    "srun: error: nid001231: task 1: Terminated\n"
)
REFUSED = (
    "misc/socket.cc:456 NCCL WARN socketStartConnect: Connect to 10.150.3.22<40321> "
    "failed : Connection refused"
)
BY_THE_NETWORK = {
    "material": f"{BARE}NCCL INFO /build/rccl/src/init.cc:1292\n{OLD}\n",
    "code": f"{BARE}NCCL INFO /build/rccl/src/init.cc:1292 -> 2\n{traceback(OLD)}",
    "labels": "".join(
        f"{rank}: {line}\n"
        for rank in range(2)
        for line in f"{BARE}{traceback(NEW)}".splitlines()
    )
    + EXITS,
    "refused": processes(REFUSED) + traceback(NEW, "[rank0]: ") + EXITS,
    "refused-alone": processes(REFUSED),
    "timed-out": processes(
        "include/socket.h:403 NCCL WARN Call to connect returned Connection timed out"
    )
    + EXITS,
    "watchdog": processes() + WATCHDOG.format(0) + WATCHDOG.format(1) + EXITS,
    "torchrun": processes(REFUSED)
    + traceback(OLD, "[default0]:")
    + "  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 4711)\n",
}
STEPS = "".join(f"{{'loss': 3.1, 'epoch': {number}.0}}\n" for number in range(9))
BY_OTHERS = {
    "exception": processes() + traceback("ValueError: corrupt shard 1234") + EXITS,
    "exception-and-refused": processes(REFUSED)
    + traceback("ValueError: corrupt shard 1234", "0: ")
    + traceback(NEW, "1: "),
    "signal": processes(REFUSED) + "  exitcode  : -11 (pid: 222)  (SIGSEGV)\n",
    "crash": processes()
    + "0: Segmentation fault (core dumped)\n"
    + traceback(OLD, "1: "),
    "killed": processes(REFUSED)
    + "srun: error: nid001230: task 0: Out Of Memory\n"
    + traceback(OLD, "1: "),
    "oom-kill": f"{BARE}slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed.\n"
    + traceback(OLD),
    "gpu-memory": processes()
    + traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB."),
    "unhandled-cuda": BARE + traceback(OLD.replace("system", "cuda")),
    "invalid-usage": BARE
    + traceback(OLD.replace("unhandled system error", "invalid usage")),
    "module": BARE + traceback("ModuleNotFoundError: No module named 'apex'"),
    "caught": processes(REFUSED)
    + traceback("KeyError: 'shard'").replace("<module>", "load"),
    "chained": processes(REFUSED)
    + traceback("KeyError: 'shard'")
    + "\nDuring handling of the above exception, another exception occurred:\n\n"
    + traceback(OLD),
    "other-code": processes(REFUSED) + EXITS.replace("code 1", "code 3"),
    "code-of-a-signal": processes(REFUSED) + EXITS.replace("code 1", "code 139"),
    "aborted": processes(REFUSED) + "srun: error: nid001230: task 0: Aborted\n",
    "time-limit": processes(REFUSED)
    + "slurmstepd: error: *** STEP 1.0 ON nid001230 CANCELLED AT 2026-03-04T05:06:07 "
    "DUE TO TIME LIMIT ***\n",
    "gpu": processes(
        REFUSED, "enqueue.cc:88 NCCL WARN Cuda failure 719 'launch failure'"
    ),
    "unknown-warning": processes("x.cc:1 NCCL WARN The frob is out of quux", REFUSED),
    "late-collective": processes()
    + WATCHDOG.format(0).replace("SeqNum=1,", "SeqNum=41,")
    + WATCHDOG.format(1).replace("SeqNum=1,", "SeqNum=41,"),
    "steps-before": processes() + STEPS + WATCHDOG.format(0) + WATCHDOG.format(1),
}
OPTIONS = pytest.mark.parametrize("options", [(), ("--profile", "lumi-g")])


def document(log: str, options: tuple[str, ...], folder: Path) -> dict[str, object]:
    """Return the report of ``envcfg check-log --json``."""
    path = folder / "job.log"
    path.write_text(log)
    result = envcfg("check-log", "--json", *options, str(path))
    report: dict[str, object] = json.loads(result.text)
    return report


@OPTIONS
@pytest.mark.parametrize("name", BY_THE_NETWORK)
def test_interface_is_the_cause(
    name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    report = document(BY_THE_NETWORK[name], options, tmp_path)
    assert report["verdict"] == "broken"
    assert "nmn0" in str(report["summary"])
    cause, step = report["cause"], report["next"]
    assert isinstance(cause, dict)
    assert isinstance(step, dict)
    assert cause["rule"] in {"socket-slow", "interface-unexpected", "interface-slow"}
    assert "nmn0" in cause["message"]
    assert step["action"] == "fix first"
    assert "nmn0" in step["reason"]
    findings = report["findings"]
    assert isinstance(findings, list)
    assert findings[0]["rule"] == cause["rule"]
    assert "NCCL_SOCKET_IFNAME" in findings[0]["fix"]
    errors = [error for error in findings[1:] if error["severity"] == "error"]
    assert errors
    assert not any(error["cause"] for error in errors)


@OPTIONS
@pytest.mark.parametrize("name", BY_OTHERS)
def test_interface_is_not_the_cause(
    name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    report = document(BY_OTHERS[name], options, tmp_path)
    assert report["verdict"] == "broken"
    cause, step = report["cause"], report["next"]
    assert isinstance(cause, dict)
    assert isinstance(step, dict)
    assert "nmn0" not in cause["message"]
    assert "nmn0" not in step["reason"]
    # The interface remains a finding.
    assert "nmn0" in json.dumps(report["findings"])


def test_right_interfaces_are_no_cause() -> None:
    log = BY_THE_NETWORK["code"].replace("[0]nmn0:10.150.3.21<0> [1]hsn0", "[0]hsn0")
    report = check(log)
    assert report.next.action == "unknown"
    assert report.cause
    assert report.cause.rule == "torch-nccl-error"


def test_a_job_that_runs_over_it_is_not_broken() -> None:
    job = Job(network="socket", interface="nmn")
    assert check(text(job)).verdict == "degraded"


def test_a_start_that_is_complete_shows_that_ranks_meet_over_it() -> None:
    """The bootstrap worked, so a later error has another reason."""
    job = text(Job(interface="nmn"))
    assert "Bootstrap : Using nmn" in job
    report = check(job + WATCHDOG.format(0) + WATCHDOG.format(1))
    assert report.cause
    assert "nmn0" not in report.cause.message


def test_the_table_names_rules_that_exist() -> None:
    path = ROOT / "envcfg/log/judge/network_ends.yaml"
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    rules = rulebook().rules
    assert {*table["ends"], *table["follow"], *table["interfaces"]} <= set(rules)
    assert not set(table["ends"]) & set(table["follow"])
    assert all(rules[rule].next == "fix first" for rule in table["interfaces"])
    # A line of each rule matches the pattern, unless the line is of another number or code.
    for rule, pattern in {**table["ends"], **table["follow"]}.items():
        samples = rules[rule].samples
        others = ("seqnum", "work: [1-9]", "unhandled", "timed out", "ode")
        if samples and not any(word in pattern.lower() for word in others):
            assert any(re.search(pattern, sample) for sample in samples), rule
