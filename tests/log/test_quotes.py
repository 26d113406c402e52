"""Only lines that begin with HOST:PID, alone or behind a launcher's prefix, are evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from checking import check, rules_of
from jobs import Job, lines, text
from quotes import FORMS, quoted

from suites import mark_sample

STEPS = "".join(f"step {number} loss {3 - number / 100:.3f}\n" for number in range(60))
SECOND = "nid001002"


def lines_of(log: str, *, of: str, network_only: bool = False) -> tuple[str, str]:
    """Return *log* without the lines of a process or node, and these lines."""
    about = re.compile("Using network|via NET|NET/|Selected" if network_only else "")
    rest, own = [], []
    for line in log.splitlines(keepends=True):
        (own if of in line and about.search(line) else rest).append(line)
    return "".join(rest), "".join(own)


def of_another_job(log: str) -> str:
    return re.sub(r"(nid\d+):(\d)", r"\1:9\2", log)


@pytest.fixture(scope="module", params=["nccl-2.10", "nccl-2.24", "rccl-2.22"])
def good(request: pytest.FixtureRequest) -> str:
    return text(Job(dialect=request.param, ranks_per_node=2))


@pytest.fixture(scope="module")
def fallen() -> str:
    job = Job(dialect="nccl-2.24", ranks_per_node=2, fallen=frozenset({1}))
    return of_another_job(text(job))


@pytest.mark.parametrize("form", mark_sample(FORMS, every=8))
def test_quoted_lines_prove_nothing_good(form: str, good: str) -> None:
    one, other = lines_of(good, of=SECOND)
    process = max(re.findall(rf"{SECOND}:\d+:", good))
    less, network = lines_of(good, of=process, network_only=True)
    forged = {
        "all": STEPS + quoted(form, good) + STEPS,
        "a node, behind": one + quoted(form, other) + STEPS,
        "a node, before": quoted(form, other) + one,
        "a process": less + quoted(form, network),
    }
    answers = {name: check(log).verdict for name, log in forged.items()}
    assert answers == dict.fromkeys(forged, "inconclusive")


@pytest.mark.parametrize("form", mark_sample(FORMS, every=8))
def test_quoted_lines_prove_nothing_bad(form: str, good: str, fallen: str) -> None:
    for log in (
        good + quoted(form, fallen) + STEPS,
        quoted(form, fallen) + good + STEPS,
    ):
        report = check(log)
        assert report.verdict == "ok", report.summary
        assert "lines-quoted" in rules_of(report)


@pytest.mark.parametrize("form", ["tqdm", "text-is", "logging-basic"])
def test_a_quoted_fault_of_this_job_leaves_doubt(form: str) -> None:
    bad = text(Job(ranks_per_node=2, errors={0: ("recv-failed",)}))
    faults = [line for line in bad.splitlines() if "NCCL WARN" in line]
    log = bad
    for line in faults:
        log = log.replace(line, quoted(form, line).rstrip("\n"))
    assert check(log).verdict == "inconclusive"


# Prefixes of launchers and services: of the time only, and of the writer.
STAMP = "2026-03-14T09:26:53.123456"
TIMES: dict[str, str] = {
    "cri": f"{STAMP}789Z stdout F ",
    "cri-stderr": f"{STAMP}789+00:00 stderr F ",
    "syslog-of-rfc-5424": f"<13>1 {STAMP}Z nid001001 slurmstepd 1234 - - ",
    "syslog-iso": f"{STAMP}+00:00 login01 slurmstepd[1234]: ",
    "journald-iso": "2026-03-14T09:26:53+0000 login01 srun[77]: ",
    "dockerd": "Mar 14 09:26:53 login01 dockerd[99]: ",
    "ts-seconds": "1773480413.123456 ",
    "ts": "Mar 14 09:26:53 ",
    "iso": f"{STAMP}Z ",
    "cloudwatch": f"{STAMP}000Z ",
    "carriage-return": "\r",
    "reset": "\x1b[0m",
    "reset-and-erase": "\x1b[0m\x1b[K",
    "return-and-reset": "\r\x1b[0m",
}
WRITERS: dict[str, Callable[[int], str]] = {
    "torch-cpp": lambda r: (
        f"[rank{r}]:[I1125 09:26:53.123456789 ProcessGroupNCCL.cpp:905] "
    ),
    "default": lambda r: f"{r // 2}: [default{r % 2}]:",
    "default-of-srun": lambda r: f"{r // 2}: [default0]:",
    "sagemaker": lambda r: f"[1,mpirank:{r},algo-{1 + r // 2}]<stdout>:",
    "prrte": lambda r: f"[prterun-nid001001-77@1,{r}]<stdout>: ",
    "aws-logs-tail": lambda r: f"{STAMP}+00:00 train/algo-{1 + r // 2}-1773480413 ",
    "skypilot": lambda r: (
        f"(worker{r // 2}, rank={r // 2}, pid=77, ip=10.0.0.{r // 2}) "
    ),
    "torchx": lambda r: f"trainer/{r // 2} ",
    "nemo-run": lambda r: f"train.torchrun/{r // 2} [default{r % 2}]:",
}


def prefixed(job: Job, prefix: Callable[[int], str]) -> str:
    return "".join(f"{prefix(line.rank)}{line.text}\n" for line in lines(job))


@pytest.mark.parametrize("name", [*TIMES, *WRITERS])
def test_a_prefix_of_a_launcher_hides_nothing(name: str) -> None:
    prefix = WRITERS.get(name) or (lambda _: TIMES[name])
    job = Job(dialect="nccl-2.24", ranks_per_node=2)
    assert check(prefixed(job, prefix)).verdict == "ok"
    sockets = Job(dialect="nccl-2.24", ranks_per_node=2, network="socket")
    assert check(prefixed(sockets, prefix)).verdict == "degraded"


@pytest.mark.parametrize("engine", ["stdout", "stderr"])
def test_lines_of_docker_are_evidence(engine: str) -> None:
    job = Job(dialect="nccl-2.24", ranks_per_node=2)
    log = "".join(
        json.dumps({"log": f"{line.text}\n", "stream": engine, "time": f"{STAMP}Z"})
        + "\n"
        for line in lines(job)
    )
    assert check(log).verdict == "ok"


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "default"])
def test_a_prefix_of_one_writer_in_front_of_all_nodes_is_a_quote(name: str) -> None:
    job = Job(dialect="nccl-2.24", ranks_per_node=2)
    assert check(prefixed(job, lambda _: WRITERS[name](0))).verdict == "inconclusive"


MARKS = {
    "box": "│ {} │",
    "bar": "| {} |",
    "mail": "> {}",
    "ticks": "`{}`",
    "item": "- `{}`",
    "quotes": '"{}"',
}
SHOWN = {
    "socket": "nid001:1:2 [0] NCCL INFO Using network Socket\n"
    "nid001:1:2 [0] NCCL INFO Channel 00/0 : 0[c1000] -> 1[c1000] [send] via NET/Socket/0\n",
    "error": "nid001:1:2 [0] transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion from peer "
    "10.0.0.2<40001> with status=12 opcode=0 len=0 vendor err 129\n",
    "good": "nid001:1:2 [0] NCCL INFO Using network IB\n"
    "nid001:1:2 [0] NCCL INFO Channel 00/0 : 0[c1000] -> 1[c1000] [send] via NET/IB/0/GDRDMA\n",
}


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    ("name", "verdict"),
    [("socket", "degraded"), ("error", "broken"), ("good", "inconclusive")],
)
def test_marks_around_all_lines_hide_no_fault_and_prove_nothing_good(
    mark: str, name: str, verdict: str
) -> None:
    lines = SHOWN[name].splitlines()
    report = check("".join(f"{MARKS[mark].format(line)}\n" for line in lines))
    assert report.verdict == verdict, report.summary
