"""Who takes part: attempts, parts of a world, networks that differ, names that are alike."""

from __future__ import annotations

import re

import pytest
from checking import check, rules_of
from jobs import Job, iter_lines, text

from suites import mark_sample


def log_of(job: Job, *, ranks: range | None = None, without: str = "") -> str:
    """Return what *ranks* of *job* say, but for lines that match *without*."""
    return "".join(
        f"{line.text}\n"
        for line in iter_lines(job)
        if (ranks is None or line.rank in ranks)
        and not (without and re.search(without, line.text))
    )


def again(log: str) -> str:
    """Return *log* as another attempt writes it: other processes, another commId."""
    log = re.sub(r"(?m)^(nid\d+):(\d+):(\d+)", r"\1:7\2:7\3", log)
    return re.sub(r"commId 0x(\w)", r"commId 0xa\1", log)


FIRST = Job(dialect="nccl-2.24", ranks_per_node=4)
SECOND = again(text(FIRST))


def test_a_job_that_was_started_again() -> None:
    report = check(text(FIRST) + SECOND)
    assert report.summary.startswith("ok: all 8 ranks on 2 nodes use")


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            log_of(FIRST, ranks=range(4)) + again(log_of(FIRST, ranks=range(4, 8))),
            "8 ranks of 8 are not in all 2 attempts (0-7)",
        ),
        (
            text(FIRST) + again(log_of(FIRST, ranks=range(1))),
            "7 ranks of 8 are not in all 2 attempts (1-7)",
        ),
        (
            text(FIRST) + again(log_of(FIRST, without=" comm |Channel|Connected|network")),
            "8 processes set NCCL up and joined no communicator",
        ),
        (
            text(FIRST) + again(log_of(Job(dialect="nccl-2.24", ranks_per_node=2, missing=frozenset({3})))),
            "ranks of a communicator of 4 are not in the log",
        ),
        (
            text(FIRST) + again(log_of(Job(dialect="nccl-2.24", ranks_per_node=2, stopped=frozenset(range(4))))),
            "4 processes began with a smaller communicator and did not finish it",
        ),
    ],
)  # fmt: skip
def test_one_attempt_proves_nothing_of_another(log: str, words: str) -> None:
    report = check(log)
    assert (report.verdict, report.unknowns[0].what) == ("inconclusive", words)


def grid(*, nodes: range = range(4), ranks_per_node: int = 4, dialect: str) -> str:
    """Return a job that never makes a communicator of all: one per node, and across."""
    job = Job(
        nodes=4,
        ranks_per_node=ranks_per_node,
        dialect=dialect,
        groups=("node", "across"),
        channels=0,
    )
    whole = re.compile(rf"n[rR]anks {4 * ranks_per_node}\b")
    lines = [
        line.text
        for line in iter_lines(job)
        if line.rank // ranks_per_node in nodes and not whole.search(line.text)
    ]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("dialect", ["nccl-2.21", "nccl-2.27", "rccl-2.22"])
@pytest.mark.parametrize(
    ("ranks_per_node", "words"),
    [
        (8, "ranks of 8 communicators of 4 are not in the log"),
        (2, "2 ranks of 4 are not in all 2 communicators of that size (2-3)"),
    ],
)
def test_smaller_communicators_show_who_is_absent(
    dialect: str, ranks_per_node: int, words: str
) -> None:
    half = grid(nodes=range(2), ranks_per_node=ranks_per_node, dialect=dialect)
    report = check(half)
    assert report.verdict == "inconclusive"
    assert words in [unknown.what for unknown in report.unknowns]


def test_no_communicator_of_all() -> None:
    report = check(grid(ranks_per_node=8, dialect="nccl-2.24"))
    assert report.summary.startswith(
        "inconclusive: NCCL joins 4 communicators of 8 ranks by smaller ones"
    )


ON_TWO_NETWORKS = [
    # how the second node differs: (pattern, replacement), verdict, rule
    (r"Using network \S.*|via NET/[\w ]+/", ("Using network IB", "via NET/IB/"), "broken", "network-mixed"),
    (r"rovider is cxi", ("rovider is verbs;ofi_rxm",), "broken", "providers-differ"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "words", "verdict", "rule"), ON_TWO_NETWORKS)
def test_ranks_on_networks_that_cannot_talk(
    pattern: str, words: tuple[str, ...], verdict: str, rule: str
) -> None:
    def swap(match: re.Match[str]) -> str:
        return next(
            (
                w
                for w in words
                if match[0].startswith(w.split("IB")[0].split("verbs")[0])
            ),
            words[0],
        )

    changed = "".join(
        (re.sub(pattern, swap, line.text) if line.rank >= 4 else line.text) + "\n"
        for line in iter_lines(FIRST)
    )
    report = check(changed)
    assert (report.verdict, rule in rules_of(report)) == (verdict, True)


def test_two_plugins_for_one_network() -> None:
    job = Job(dialect="nccl-2.24", network="ib", ranks_per_node=4)
    changed = "".join(
        (re.sub(r"(network |NET/)IB\b(?! :)", r"\1IBext_v8", line.text) if line.rank >= 4 else line.text)
        + "\n"
        for line in iter_lines(job)
    )  # fmt: skip
    report = check(changed)
    assert report.verdict == "inconclusive"
    assert "IB, IBext_v8" in report.summary


@pytest.mark.parametrize(
    ("network", "verdict"),
    [("RCCL-ANP", "ok"), ("RCCL", "ok"), ("AMD-NEW", "degraded")],
)
def test_the_plugin_for_amd_s_own_nics_is_the_network_that_its_profile_expects(
    network: str, verdict: str
) -> None:
    job = Job(dialect="nccl-2.24", network="ib", ranks_per_node=4)
    log = re.sub(r"(network |NET/)IB\b(?! ?:)", rf"\1{network}", text(job))
    assert f"via NET/{network}/" in log
    assert check(log, networks=("IB", "RCCL-ANP")).verdict == verdict


def test_containers_with_one_name_and_one_process_id() -> None:
    job = Job(dialect="nccl-2.24", nodes=4, ranks_per_node=1, hosts=("pytorch",) * 4)
    alike = re.sub(r"(?m)^pytorch:\d+:", "pytorch:1:", text(job))
    report = check(alike)
    assert report.summary.startswith("inconclusive: ranks 0-3 cannot be told apart")


def test_words_of_a_script_are_a_note() -> None:
    log = text(FIRST) + '+ grep "NCCL INFO Using network Socket" out.log\n'
    report = check(log)
    assert report.verdict == "ok"
    assert "lines-quoted" in rules_of(report)


@pytest.mark.parametrize("wrapper", ["mpich", "pals"])
def test_a_rank_that_is_known_by_its_label_only(wrapper: str) -> None:
    """NCCL 2.12 has no line for the begin of a start; the rest of the rank looks good."""
    job = Job(dialect="nccl-2.12", ranks_per_node=4, stopped=frozenset({5}))
    report = check(text(job, wrapper))
    assert report.verdict == "inconclusive"


@pytest.mark.parametrize("requested", ["none", "libnccl-net-none.so"])
def test_no_plugin_is_wanted_where_there_is_infiniband(requested: str) -> None:
    asked = f"NCCL INFO NET/Plugin: Plugin name set by env to {requested}"
    log = text(Job(dialect="nccl-2.24", network="ib"))
    line = next(line for line in log.splitlines() if "NET/Plugin" in line)
    head = line.partition("NCCL INFO")[0]
    assert check(log + f"{head}{asked}\n").verdict == "ok"


def test_rings_within_a_node_prove_no_gpu_rdma() -> None:
    """Each communicator votes on its own; one that stays on a node always says yes."""
    job = Job(dialect="nccl-2.24", network="ib", groups=("node",))
    ring = " via NET/|Connected all rings|NCCL INFO (Channel|Ring)"
    first = next(li.text for li in iter_lines(job) if "Connected all rings" in li.text)
    log = log_of(job, without=ring) + "".join(
        re.sub(r".*(\[\d\] NCCL INFO Connected.*)", rf"{line.text.split(' ')[0]} \1", first) + "\n"
        for line in iter_lines(job)
        if "Init COMPLETE" in line.text
    )  # fmt: skip
    report = check(log)
    assert report.verdict == "ok"
    assert report.job.gdr == "unknown"


def test_a_version_of_thousands_of_digits_is_no_reason_to_fail() -> None:
    check(text(FIRST).replace("NCCL version 2.", f"NCCL version {'9' * 5000}."))


def test_a_world_of_a_billion_ranks_is_no_world() -> None:
    log = text(FIRST).replace("nranks 8", "nranks 999999999", 1)
    assert check(log).job.world_size == 8


OLD = ("nccl-2.4", "nccl-2.7", "nccl-2.10", "nccl-2.12")
SHAPES = ((2, 2), (4, 1), (1, 4))


@pytest.mark.parametrize("dialect", mark_sample(OLD, every=4))
@pytest.mark.parametrize("hosts", [(), ("gpu1", "gpu2", "gpu3", "gpu4")])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("other", SHAPES)
def test_ranks_of_two_jobs_are_no_job_where_no_line_names_its_communicator(
    dialect: str, hosts: tuple[str, ...], shape: tuple[int, int], other: tuple[int, int]
) -> None:
    one = Job(dialect=dialect, nodes=shape[0], ranks_per_node=shape[1])
    two = Job(
        dialect=dialect,
        nodes=other[0],
        ranks_per_node=other[1],
        hosts=hosts[: other[0]],
        seed=7,
    )
    for cut in (range(1), range(2), range(1, 3), range(3)):
        rest = [line.text for line in iter_lines(one) if line.rank not in cut]
        own = [line.text for line in iter_lines(two) if line.rank in cut]
        for log in (rest + own, own + rest):
            assert check("\n".join((*log, ""))).verdict == "inconclusive"


@pytest.mark.parametrize("dialect", OLD)
@pytest.mark.parametrize(
    "job", [{}, {"proxies": True}, {"groups": ("across",)}, {"alltoall": 1}]
)
def test_ranks_of_one_job_are_one_without_the_name_of_their_communicator(
    dialect: str, job: dict[str, object]
) -> None:
    for nodes, ranks in ((2, 2), (4, 1), (3, 2), (8, 8)):
        log = text(Job(dialect=dialect, nodes=nodes, ranks_per_node=ranks, **job))  # type: ignore[arg-type]
        assert "cannot be told apart" not in check(log).summary


@pytest.mark.parametrize("dialect", OLD)
def test_logs_of_single_ranks_one_after_another_are_one_job(dialect: str) -> None:
    job = Job(dialect=dialect, ranks_per_node=2)
    log = "".join(log_of(job, ranks=range(rank, rank + 1)) for rank in range(4))
    assert check(log).verdict == "ok"


@pytest.mark.parametrize("dialect", OLD)
@pytest.mark.parametrize("wrapper", ["", "3: ", "[1,3]<stdout>:"])
def test_channels_show_ranks_whose_communicator_is_not_in_the_log(
    dialect: str, wrapper: str
) -> None:
    job = Job(dialect=dialect, ranks_per_node=2)
    log = "".join(
        f"{wrapper}{line.text}\n"
        for line in iter_lines(job)
        if line.rank != 3 or " comm 0x" not in line.text
    )
    report = check(log)
    assert (report.verdict, report.job.ranks_missing) == ("inconclusive", ())
    assert "never-joined" not in {each.rule for each in report.findings}
    assert "joined no communicator" not in str(report.unknowns)


def test_ranks_that_no_attempt_shows_are_not_in_the_log() -> None:
    line = "nid1:{0}:9 [0] NCCL INFO comm 0x{0} rank 0 nranks 8 cudaDev 0 busId d1000 commId 0xf{0} - Init {1}\n"
    report = check(line.format(70, "START") + line.format(71, "COMPLETE"))
    assert report.summary.endswith("7 ranks of 8 are not in the log (1-7)")
    assert "rank 0 began one attempt and did not finish it, and finished another" in [
        question.what for question in report.unknowns
    ]
