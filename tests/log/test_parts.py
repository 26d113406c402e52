"""Several jobs, steps and attempts in one log: none makes another look better."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from checking import check
from jobs import Job, lines, text

from envcfg.log.job_files import FileMarks, by_job
from envcfg.log.verdict import WORST_FIRST
from support import envcfg

OLD, NEW = "nccl-2.12", "nccl-2.24"


def again(log: str) -> str:
    """Return *log* as other processes of the same nodes write it."""
    log = re.sub(r"(?m)^(nid\d+):(\d+):(\d+)", r"\1:7\2:7\3", log)
    return re.sub(r"commId 0x(\w)", r"commId 0xa\1", log)


def lonely(dialect: str) -> str:
    """Return the log of four processes, each a world of its own."""
    one = text(Job(nodes=1, ranks_per_node=1, dialect=dialect))
    return "".join(
        re.sub(r"(?m)^(nid\d+):(\d+):", rf"\1:\g<2>{number}:", one).replace(
            "commId 0x", f"commId 0x{number}"
        )
        for number in range(4)
    )


OTHERS: dict[str, dict[str, object]] = {
    "one node": {"nodes": 1},
    "one node, as many ranks": {"nodes": 1, "ranks_per_node": 8},
    "a rank is missing": {"missing": frozenset({3})},
    "smaller, a rank is missing": {"ranks_per_node": 2, "missing": frozenset({3})},
    "a rank stopped": {"stopped": frozenset({3})},
    "no rank came up": {"stopped": frozenset(range(8))},
    "network only": {"subsystems": "NET"},
    "no start": {"subsystems": "^INIT"},
    "one process": {"nodes": 1, "ranks_per_node": 1},
    "fallen": {"fallen": frozenset({1})},
}


@pytest.mark.parametrize("dialect", [OLD, "rccl-2.21", NEW])
@pytest.mark.parametrize("name", [*OTHERS, "worlds of one"])
def test_two_jobs_are_no_better_than_the_worse(name: str, dialect: str) -> None:
    good = text(Job(ranks_per_node=4, dialect=dialect))
    fields = {"ranks_per_node": 4, "dialect": dialect, **OTHERS.get(name, {})}
    other = again(text(Job(**fields)) if name in OTHERS else lonely(dialect))  # type: ignore[arg-type]
    assert check(good).verdict == "ok" != check(other).verdict
    for log in (good + other, other + good):
        report = check(log)
        order = WORST_FIRST.index
        assert order(report.verdict) <= order(check(other).verdict), report.summary
        assert report.verdict != "ok"


ONE_NODE = "inconclusive: {} processes on nid001001, a part of their own: ranks 0-{} ran on one node, so no network was used"


@pytest.mark.parametrize(
    ("other", "summary"),
    [
        (
            Job(nodes=1, ranks_per_node=2, dialect=NEW),
            ONE_NODE.format(2, 1),
        ),
        (
            Job(nodes=1, ranks_per_node=8, dialect=NEW),
            ONE_NODE.format(8, 7),
        ),
        (
            Job(ranks_per_node=4, dialect=NEW, subsystems="NET"),
            "inconclusive: ranks 2,6 do not show their network",
        ),
    ],
)
def test_the_part_that_is_in_doubt_is_named(other: Job, summary: str) -> None:
    good = text(Job(ranks_per_node=4, dialect=NEW))
    report = check(good + again(text(other)))
    assert report.verdict == "inconclusive"
    assert report.unknowns[0].what == summary.partition(": ")[2]
    assert report.unknowns[0].remedy
    assert report.job.ranks_seen == tuple(range(8))


def test_every_process_a_world_of_its_own_beside_a_good_job() -> None:
    report = check(text(Job(ranks_per_node=4, dialect=NEW)) + again(lonely(NEW)))
    assert report.summary == (
        "broken: 4 processes on nid001001, a part of their own: 4 processes, each a world "
        "of 1 rank"
    )
    assert [each.rule for each in report.findings if each.severity == "error"] == [
        "worlds-of-one"
    ]


def test_what_is_expected_is_expected_of_the_job_and_not_of_each_part() -> None:
    good = text(Job(ranks_per_node=4, dialect=NEW))
    small = again(text(Job(ranks_per_node=2, dialect=NEW)))
    assert check(good + small, ranks=8).verdict == "ok"
    assert check(good + small, ranks=4).verdict == "broken"


def test_two_good_jobs_are_good() -> None:
    good = text(Job(ranks_per_node=4, dialect=NEW))
    for other in (
        Job(ranks_per_node=4, dialect=NEW),
        Job(ranks_per_node=2, dialect=NEW),
    ):
        assert check(good + again(text(other))).verdict == "ok"


def notes_of(log: str) -> list[str]:
    """Return the notes of several jobs on *log*."""
    findings = check(log).findings
    return [each.message for each in findings if each.rule == "several-jobs"]


OLDER = {"two nodes": Job(dialect=NEW), "small": Job(ranks_per_node=2, dialect=NEW)}
NEWER: dict[str, dict[str, object]] = {
    "sockets": {"network": "socket"},
    "plugin missing on a node": {"fallen": frozenset({1})},
    "a rank is missing": {"missing": frozenset({3})},
    "one node": {"nodes": 1},
    "no GPU RDMA": {"gdr": False},
    "slow provider": {"provider": "tcp"},
    "a rank stopped": {"stopped": frozenset({1})},
}


@pytest.mark.parametrize("hosts", [(), ("gpu001", "gpu002")], ids=["same", "other"])
@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("newer", NEWER)
def test_an_old_log_that_is_printed_in_full_makes_no_job_ok(
    older: str, newer: str, hosts: tuple[str, ...]
) -> None:
    fields = {"ranks_per_node": 4, "dialect": NEW, "hosts": hosts, "seed": 7}
    new = text(Job(**fields | NEWER[newer]))  # type: ignore[arg-type]
    old = text(OLDER[older])
    assert check(old).verdict == "ok" != check(new).verdict
    for log in (old + new, new + old):
        assert check(log).verdict != "ok"


@pytest.mark.parametrize("hosts", [(), ("gpu001", "gpu002")], ids=["same", "other"])
def test_a_log_of_two_jobs_says_so(hosts: tuple[str, ...]) -> None:
    old = text(Job(ranks_per_node=4, dialect=NEW))
    new = again(text(Job(ranks_per_node=4, dialect=NEW, hosts=hosts)))
    second = ", ".join(hosts) or "nid001001, nid001002"
    words = "lines of 2 jobs or starts, one after another; the worst counts: "
    assert notes_of(old + new) == [f"{words}nid001001, nid001002, then {second}"]
    assert notes_of(old) == []


def test_groups_of_one_job_are_no_jobs() -> None:
    job = Job(ranks_per_node=4, dialect=NEW, groups=("node", "across"))
    assert notes_of(text(job)) == []
    # Without the communicator of all ranks, the groups of each node are all there is.
    lines_of_groups = [
        line for line in text(job).splitlines() if "nranks 8" not in line
    ]
    assert notes_of("\n".join(lines_of_groups)) == []


def test_attempts_that_old_lines_do_not_tell_apart() -> None:
    good = text(Job(ranks_per_node=4, dialect=OLD))
    report = check(good + again(good))
    assert report.summary == (
        "inconclusive: NCCL has several processes for one rank: attempts or jobs that "
        "cannot be told apart"
    )


@pytest.mark.parametrize(
    ("files", "jobs"),
    [
        (["slurm-1.out"], {"1": ["slurm-1.out"]}),
        (["a.log", "b.log"], {"": ["a.log", "b.log"]}),
        (["slurm-1.out", "slurm-1.err"], {"1": ["slurm-1.out", "slurm-1.err"]}),
        (["x/slurm-1.out", "slurm-2.out"], {"1": ["x/slurm-1.out"], "2": ["slurm-2.out"]}),
        (["slurm-1_0.out", "slurm-1_1.out"], {"1_0": ["slurm-1_0.out"], "1_1": ["slurm-1_1.out"]}),
        (["a-1_1.out", "a-1_1.err", "a-1_2.out"], {"1_1": ["a-1_1.out", "a-1_1.err"], "1_2": ["a-1_2.out"]}),
        (["a.o1.0", "a.o1.1"], {"1_0": ["a.o1.0"], "1_1": ["a.o1.1"]}),
        (["train-11.out", "gpt2-12.out"], {"11": ["train-11.out"], "12": ["gpt2-12.out"]}),
        (["11.out", "12.out"], {"11": ["11.out"], "12": ["12.out"]}),
        (["train-11.log", "train-12.log.gz"], {"11": ["train-11.log"], "12": ["train-12.log.gz"]}),
        (["train-11.out", "train-11.err"], {"11": ["train-11.out", "train-11.err"]}),
        (["train-0.out", "train-1.out"], {"": ["train-0.out", "train-1.out"]}),
        (["a-11-rank0.out", "a-11-rank1.out"], {"11": ["a-11-rank0.out", "a-11-rank1.out"]}),
        (["nccl.nid1.71.log", "nccl.nid2.72.log"], {"": ["nccl.nid1.71.log", "nccl.nid2.72.log"]}),
        (["node-1.err", "node-2.err"], {"": ["node-1.err", "node-2.err"]}),
        (["shard_1.log", "shard_2.log"], {"": ["shard_1.log", "shard_2.log"]}),
        (["nccl-71.log", "nccl-72.log"], {"": ["nccl-71.log", "nccl-72.log"]}),
        (["slurm-1-0.out", "slurm-1-1.out.gz"], {"1": ["slurm-1-0.out", "slurm-1-1.out.gz"]}),
        (["slurm-1.out", "nccl-nid1-7.log"], {"1": ["slurm-1.out", "nccl-nid1-7.log"]}),
        (
            ["slurm-1.out", "slurm-2.out", "c.log"],
            {"1": ["slurm-1.out"], "2": ["slurm-2.out"], "": ["c.log"]},
        ),
        (["train.o11", "train.e11"], {"11": ["train.o11", "train.e11"]}),
        (["train.o11", "train.o12"], {"11": ["train.o11"], "12": ["train.o12"]}),
        (["flux-fA1b.out", "flux-fA2b.out"], {"fA1b": ["flux-fA1b.out"], "fA2b": ["flux-fA2b.out"]}),
        (["rank-1.out", "rank-2.out"], {"": ["rank-1.out", "rank-2.out"]}),
    ],
)  # fmt: skip
def test_jobs_by_the_names_of_their_files(
    files: list[str], jobs: dict[str, list[str]]
) -> None:
    assert by_job(files) == jobs


def number(job: str) -> FileMarks:
    return job, frozenset()


def comm(*ids: bytes) -> FileMarks:
    return "", frozenset(ids)


@pytest.mark.parametrize(
    ("marks", "jobs"),
    [
        ({"a.log": number("7"), "b.log": number("8")}, {"7": ["a.log"], "8": ["b.log"]}),
        ({"a.log": number("7"), "b.log": number("7")}, {"7": ["a.log", "b.log"]}),
        ({"rank-1.out": number("7"), "rank-2.out": number("8")}, {"7": ["rank-1.out"], "8": ["rank-2.out"]}),
        # The id of an array's task differs from its name.
        ({"slurm-7_1.out": number("9"), "slurm-7_1.err": comm(), "slurm-7_2.out": comm()},
         {"7_1": ["slurm-7_1.out", "slurm-7_1.err"], "7_2": ["slurm-7_2.out"]}),
        # Ranks of one job share its communicator.
        ({"run-1.out": comm(b"0xa"), "run-2.out": comm(b"0xa", b"0xb")}, {"": ["run-1.out", "run-2.out"]}),
        ({"run-1.out": comm(b"0xa"), "run-2.out": comm(b"0xb")}, {"1": ["run-1.out"], "2": ["run-2.out"]}),
        ({"slurm-7_1.out": comm(b"0xa"), "slurm-7_2.out": comm(b"0xa")}, {"7": ["slurm-7_1.out", "slurm-7_2.out"]}),
    ],
)  # fmt: skip
def test_jobs_by_the_lines_of_their_files(
    marks: dict[str, FileMarks], jobs: dict[str, list[str]]
) -> None:
    assert by_job([*marks], marks) == jobs


TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 1, in <module>
    import webdataset
ModuleNotFoundError: No module named 'webdataset'
"""
ENDED = "slurmstepd: error: *** JOB {} ON nid001234 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n"


@pytest.mark.parametrize(
    ("names", "jobs"),
    [
        (("train-11.out", "train-12.out"), ("job 11", "job 12")),
        (("slurm-71_1.out", "slurm-71_2.out"), ("job 71_1", "job 71_2")),
        (("first.log", "job 12.log"), ("first.log", "job 12")),
    ],
)
def test_each_file_of_a_job_is_judged_by_itself(
    tmp_path: Path, names: tuple[str, str], jobs: tuple[str, str]
) -> None:
    (tmp_path / names[0]).write_text(TRACEBACK)
    (tmp_path / names[1]).write_text(ENDED.format(12))
    (tmp_path / "slurm-40.out").write_text(text(Job(ranks_per_node=4)))
    (tmp_path / "notes.txt").write_text("Segmentation fault is in the older version\n")
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    summaries = {row["name"]: row["summary"] for row in report["jobs"]}
    assert {*summaries} == {*jobs, "job 40"}
    assert "webdataset" in summaries[jobs[0]]
    assert "time limit" in summaries[jobs[1]]
    note = report["findings"][-1]["message"]
    assert ("no job known, judged alone: first.log" in note) == ("first.log" in jobs)


def test_files_of_several_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("slurm-1.out").write_text("no line of NCCL\n")
    Path("slurm-2.out").write_text(text(Job(ranks_per_node=4)))
    Path("slurm-3.out").write_text(text(Job(ranks_per_node=4, fallen=frozenset({1}))))
    done = envcfg("check-log", "slurm-1.out", "slurm-2.out")
    assert done.code == 3
    assert done.text.startswith("inconclusive: job 1: the log has no line of NCCL")
    worst = json.loads(envcfg("check-log", "--json", ".").text)
    assert worst["summary"].startswith("degraded: job 3: 4 of 8 ranks use TCP")
    note = worst["findings"][-1]
    assert (note["rule"], note["severity"]) == ("several-jobs", "note")
    assert note["message"] == (
        "one of 3 jobs, each judged by itself: job 1 inconclusive, job 2 ok, job 3 degraded"
    )
    assert worst["coverage"]["files"] == 3
    assert worst["coverage"]["size"] == sum(
        p.stat().st_size for p in tmp_path.iterdir()
    )


def test_files_of_many_jobs_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(9):
        Path(f"slurm-{number}.out").write_text(text(Job(ranks_per_node=2)))
    done = envcfg("check-log", ".")
    assert done.code == 0
    assert done.text.startswith("ok: job 0: all 4 ranks on 2 nodes")
    assert "one of 9 jobs, each judged by itself: 9 ok" in done.text


@pytest.mark.parametrize(
    ("change", "several"),
    [({}, True), ({"nid00": "nid00"}, False), ({"commId 0x": "commId 0x"}, False)],
)
def test_files_that_name_no_communicator_in_common_are_several_jobs(
    tmp_path: Path, change: dict[str, str], several: bool
) -> None:
    one = text(Job(dialect=NEW, ranks_per_node=2))
    other = text(Job(dialect=NEW, ranks_per_node=2, fallen=frozenset({1})))
    for old, new in {"nid00": "nid01", "commId 0x": "commId 0xf", **change}.items():
        other = other.replace(old, new)
    (tmp_path / "a.log").write_text(one)
    (tmp_path / "b.log").write_text(other)
    (tmp_path / "run.sh").write_text("srun python train.py\n")
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    verdicts = {each["name"]: each["verdict"] for each in report["jobs"]}
    if not several:
        assert verdicts == {}
        return
    assert verdicts == {"a.log": "ok", "b.log": "degraded"}
    assert report["summary"].startswith("degraded: b.log: 2 of 4 ranks use TCP sockets")
    junit = envcfg("check-log", "--format", "junit", str(tmp_path)).text
    assert '<testcase classname="envcfg" name="job a.log"' in junit
    shown = envcfg("check-log", str(tmp_path)).text.splitlines()
    assert shown[1].startswith("  b.log  degraded: 2 of 4 ranks")
    assert shown[2].startswith("  a.log  ok: all 4 ranks")


def test_a_file_for_each_process_is_one_job(tmp_path: Path) -> None:
    job = Job(dialect=NEW, ranks_per_node=2, groups=("node", "alone"))
    for rank, line in lines(job):
        with (tmp_path / f"nccl-{rank}.log").open("a") as file:
            file.write(f"{line}\n")
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    assert (report["verdict"], report["jobs"]) == ("ok", [])
    assert report["coverage"]["files"] == 4


def test_what_a_file_of_no_communicator_says_counts(tmp_path: Path) -> None:
    for number in (0, 1):
        log = text(Job(dialect=NEW, ranks_per_node=2))
        log = log.replace("commId 0x", f"commId 0x{number}f")
        log = log.replace("nid00", f"nid0{number}")
        (tmp_path / f"{number}.log").write_text(log)
    assert envcfg("check-log", str(tmp_path)).code == 0
    ended = "srun: error: nid001: task 3: Exited with exit code 1\n"
    (tmp_path / "all.err").write_text(ended)
    done = envcfg("check-log", str(tmp_path))
    assert done.code == 1
    assert done.text.startswith(
        "broken: files without a communicator: rank 3 (nid001) ended with exit code 1"
    )


def test_files_of_old_versions_that_hold_all_ranks_are_jobs_of_their_own(
    tmp_path: Path,
) -> None:
    """Before NCCL 2.16 a communicator has no id."""
    for number in (1, 2):
        log = text(Job(dialect=OLD, ranks_per_node=2)).replace("nid00", f"nid0{number}")
        (tmp_path / f"{number}.log").write_text(log)
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    verdicts = {each["name"]: each["verdict"] for each in report["jobs"]}
    assert verdicts == {"1.log": "ok", "2.log": "ok"}


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_files_of_processes_that_are_worlds_of_their_own_are_one_job(
    tmp_path: Path, dialect: str
) -> None:
    for number in range(4):
        log = text(Job(nodes=1, ranks_per_node=1, dialect=dialect))
        log = log.replace("commId 0x", f"commId 0x{number}")
        log = log.replace("nid00", f"nid0{number}")
        (tmp_path / f"{number}.log").write_text(log)
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    assert (report["verdict"], report["jobs"]) == ("broken", [])
    assert "worlds-of-one" in {each["rule"] for each in report["findings"]}


@pytest.mark.parametrize("dialect", [OLD, NEW])
@pytest.mark.parametrize("hosts", [(), ("gpu001", "gpu002")], ids=["same", "other"])
def test_networks_of_two_starts_are_not_compared(
    dialect: str, hosts: tuple[str, ...]
) -> None:
    one = text(Job(ranks_per_node=2, dialect=dialect))
    two = again(text(Job(ranks_per_node=2, dialect=dialect, network="ib", hosts=hosts)))
    for log in (one + two, two + one):
        report = check(log)
        assert report.verdict == "inconclusive"
        assert "network-mixed" not in {each.rule for each in report.findings}


FOREIGN = "gpu001:9:9 [0] NCCL INFO "
OF_TWO_JOBS = {
    "one rank on two nodes": (
        "nid1:7:7 [0] NCCL INFO comm 0x1 rank 1 nranks 4 cudaDev 0 busId a - Init COMPLETE\n",
        f"{FOREIGN}comm 0x2 rank 1 nranks 4 cudaDev 0 busId a - Init COMPLETE\n",
    ),
    "two sizes": (
        "nid1:7:7 [0] NCCL INFO comm 0x1 rank 0 nranks 4096 cudaDev 0 busId a - Init COMPLETE\n",
        f"{FOREIGN}comm 0x2 rank 1 nranks 16 cudaDev 0 busId a - Init COMPLETE\n",
    ),
    "days between": (
        "| 2024-12-31T05:27:39.072Z | nid1:7:7 [0] NCCL INFO Bootstrap : Using hsn0:10.0.0.1<0>\n",
        f"[2025-01-02 05:27:39] {FOREIGN}Bootstrap : Using hsn0:10.0.0.1<0>\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_TWO_JOBS)
def test_files_that_contradict_each_other_are_two_jobs(
    name: str, tmp_path: Path
) -> None:
    one, two = OF_TWO_JOBS[name]
    one += "nid1:7:7 [0] NCCL INFO Using network IB\n"
    (tmp_path / "a.log").write_text(one)
    (tmp_path / "b.log").write_text(f"{two}{FOREIGN}Using network Socket\n")
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    rows = {row["name"]: row["verdict"] for row in report["jobs"]}
    assert rows == {"a.log": "inconclusive", "b.log": "inconclusive"}
    # The same lines of another node of the job.
    other = two.replace("rank 1 nranks 16", "rank 1 nranks 4096")
    other = other.replace("rank 1 nranks 4 ", "rank 2 nranks 4 ")
    other = other.replace("2025-01-02 05", "2025-01-01 05")
    (tmp_path / "b.log").write_text(f"{other}{FOREIGN}Using network Socket\n")
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    assert (report["verdict"], report["jobs"]) == ("broken", [])


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_file_for_each_rank_of_two_starts(nodes: int, tmp_path: Path) -> None:
    """Old lines have no id, and other nodes show the second start."""
    one = Job(dialect=OLD, nodes=nodes, ranks_per_node=2)
    starts = {"a": one, "b": replace(one, network="ib", hosts=("gpu001", "gpu002"))}
    for name, start in starts.items():
        for rank, line in lines(start):
            with (tmp_path / f"{name}-rank{rank}.log").open("a") as file:
                file.write(f"{line}\n")
    report = json.loads(envcfg("check-log", "--json", str(tmp_path)).text)
    assert "network-mixed" not in {each["rule"] for each in report["findings"]}
    assert {row["verdict"] for row in report["jobs"]} == (
        {"ok"} if nodes == 2 else {"inconclusive"}
    )
