"""The lines about a running step's GPUs, and when each of them is printed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lines import gpu_lines, node_lines, used
from watching import Answer, Clock, Nodes, Watched

from envcfg.common.errors import JobError
from envcfg.common.findings import Finding
from envcfg.core import step_nodes
from envcfg.core.step_nodes import NodeWatch, Probing
from envcfg.nodes.monitor.health_log import HealthLog
from envcfg.nodes.monitor.outliers import NodeFinding
from envcfg.nodes.monitor.step_health import StepHealth

BUSY = [97, 95, 96, 98]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(step_nodes, "time", made)
    return made


def answer_of(
    *uses: object, host: str = "n1", others: Sequence[object] = BUSY
) -> Answer:
    """Return nodes that answer; those of *host* with *uses*."""

    def answer(number: int, name: str) -> Sequence[str]:
        values = uses if name == host else others
        return [
            *node_lines(name, number, at=60.0 * number),
            *gpu_lines(used(*values), name, number),
        ]

    return answer


def test_nothing_is_printed_before_its_time_and_then_one_line(clock: Clock) -> None:
    watched = Watched(clock, Nodes(answer_of(*BUSY)))
    assert watched.run(299) == []
    assert watched.run(10_000) == ["all 8 GPUs busy, network fast"]
    assert watched.nodes.starts == 1


def test_a_question_is_asked_once_a_minute(clock: Clock) -> None:
    numbers: list[int] = []
    answer = answer_of(*BUSY)

    def counting(number: int, host: str) -> Sequence[str]:
        numbers.append(number)
        return answer(number, host)

    Watched(clock, Nodes(counting)).run(3600)
    assert max(numbers) <= 60


def test_idle_gpus_are_named_until_they_compute(clock: Clock) -> None:
    nodes = Nodes(answer_of(97, 0, 0, 98))
    watched = Watched(clock, nodes)
    idle = "warning: n1: GPUs 1-2 (of 4) are idle (below 5 %)  [gpu-idle]"
    assert watched.run(900) == [idle]
    nodes.answer = answer_of(97, 80, 0, 98)
    assert watched.run(900) == [
        "warning: n1: GPU 2 (of 4) is idle (below 5 %)  [gpu-idle]"
    ]
    nodes.answer = answer_of(*BUSY)
    assert watched.run(900) == ["all 8 GPUs busy, network fast"]


def test_a_single_low_sample_is_no_finding(clock: Clock) -> None:
    good, low = answer_of(*BUSY), answer_of(0, 0, 0, 0, others=[0, 0, 0, 0])
    nodes = Nodes(lambda number, host: (low if number % 3 == 0 else good)(number, host))
    assert Watched(clock, nodes).run(3600) == ["all 8 GPUs busy, network fast"]


def test_a_finding_that_comes_and_goes_is_printed_three_times(clock: Clock) -> None:
    nodes = Nodes(answer_of(*BUSY))
    watched = Watched(clock, nodes)
    for number in range(10):
        nodes.answer = answer_of(*([0] * 4 if number % 2 else BUSY))
        watched.run(600)
    assert len([line for line in watched.lines if "are idle" in line]) == 3
    assert len([line for line in watched.lines if "busy" in line]) == 3
    assert watched.lines[-2].endswith(" [gpu-idle]")
    assert watched.lines[-1] == (
        "note: n1: gpu-idle changes often, and is printed again only if it lasts"
    )


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("changes", [4, 5, 6, 7, 8])
def test_frequent_changes_leave_no_wrong_last_line(
    clock: Clock, changes: int, first: int
) -> None:
    nodes = Nodes(answer_of(*BUSY))
    watched = Watched(clock, nodes)
    for number in range(first, first + changes):
        is_idle = number % 2 == 1
        nodes.answer = answer_of(*([*BUSY[:3], 0] if is_idle else BUSY))
        watched.run(600)
    last = watched.lines[-1]
    right, wrong = ("is idle", "busy") if is_idle else ("busy", "is idle")
    assert right in last or "changes often" in last
    assert wrong not in last
    watched.run(6000)
    assert right in [line for line in watched.lines if "often" not in line][-1]
    assert len(watched.lines) < 12


def test_a_silent_node_is_unknown_and_nothing_is_called_busy(clock: Clock) -> None:
    good = answer_of(*BUSY)
    nodes = Nodes(lambda number, host: good(number, host) if host == "n1" else ())
    (line,) = Watched(clock, nodes).run(900)
    assert line == "unknown: n2: did not answer  [node-silent]"


def test_a_node_that_falls_silent_is_unknown(clock: Clock) -> None:
    nodes = Nodes(good := answer_of(*BUSY))
    watched = Watched(clock, nodes)
    assert watched.run(400) == ["all 8 GPUs busy, network fast"]
    nodes.answer = lambda number, host: good(number, host) if host == "n1" else ()
    (line,) = watched.run(400)
    assert line.startswith("unknown: n2: did not answer for ")
    nodes.answer = good
    assert watched.run(400) == ["all 8 GPUs busy, network fast"]


MISSING = {
    "no tool on one node": gpu_lines([], "n2", tool="none"),
    "a tool that fails": gpu_lines(["Unable to talk to the driver"], "n2", status=9),
    "a use that the tool does not know": gpu_lines(used("[N/A]", 97, 97, 97), "n2"),
    "a tool that hangs": ["envcfg-probe n2 1 gpus waits\n"],
}


@pytest.mark.parametrize("case", MISSING)
def test_unknown_gpus_are_never_called_busy(clock: Clock, case: str) -> None:
    good = answer_of(*BUSY)

    def answer(number: int, host: str) -> Sequence[str]:
        if host == "n1":
            return good(number, host)
        lines = [line.replace("n2 1 ", f"n2 {number} ") for line in MISSING[case]]
        return [*node_lines(host, number, at=60.0 * number), *lines]

    (line,) = Watched(clock, Nodes(answer)).run(900)
    assert line.startswith("unknown: n2: "), line


def test_nodes_without_gpus_get_one_note(clock: Clock) -> None:
    def answer(number: int, host: str) -> Sequence[str]:
        return [*node_lines(host, number), *gpu_lines([], host, number, tool="none")]

    assert Watched(clock, Nodes(answer)).run(900) == [
        "note: GPUs are not checked: the nodes have no tool that shows them"
    ]


def test_gpus_that_the_job_asked_for_and_does_not_have_are_named(clock: Clock) -> None:
    nodes = Nodes(answer_of(*BUSY[:3]))
    nodes.asked_gpus = 4
    (line,) = Watched(clock, nodes).run(900)
    assert line == (
        "error: n1: shows 3 GPUs of 4 (the job asked for them)  [gpu-missing]"
    )


def test_fewer_gpus_than_on_other_nodes_are_unknown(clock: Clock) -> None:
    assert Watched(clock, Nodes(answer_of(*BUSY[:3]))).run(900) == [
        "unknown: n1: shows 3 GPUs, and other nodes show 4 of this kind  [gpu-unseen]"
    ]


def test_low_use_is_a_number_and_not_busy(clock: Clock) -> None:
    nodes = Nodes(answer_of(30, 31, 29, 30, others=[30, 30, 30, 30]))
    watched = Watched(clock, nodes)
    assert watched.run(900, "network not verified") == [
        "all 8 GPUs in use, 30 % of the time (lowest: n1, GPU 2, 29 %), network not verified"
    ]


def test_a_gpu_that_hardly_computes_is_never_called_busy(clock: Clock) -> None:
    def answer(number: int, host: str) -> Sequence[str]:
        return answer_of(100, 0 if number % 5 else 6)(number, host)

    assert Watched(clock, Nodes(answer, ["n1"])).run(3600) == [
        "all 2 GPUs in use, 51 % of the time (lowest: n1, GPU 1, 1 %), network fast"
    ]


def test_questions_become_rare(clock: Clock) -> None:
    numbers: list[int] = []

    def answer(number: int, host: str) -> Sequence[str]:
        numbers.append(number)
        return answer_of(*BUSY)(number, host)

    watched = Watched(clock, Nodes(answer), after=5)
    watched.run(1800)
    numbers.clear()
    watched.run(3600)
    assert numbers[-1] - numbers[0] <= 60


def test_idle_gpus_that_change_are_few_lines(clock: Clock) -> None:
    def answer(number: int, host: str) -> Sequence[str]:
        idle = number // 6 % 5
        uses = [0 if gpu == idle else use for gpu, use in enumerate(BUSY)]
        return answer_of(*uses)(number, host)

    lines = Watched(clock, Nodes(answer), after=50).run(60_000)
    assert len([line for line in lines if "is idle" in line]) == 3
    assert len(lines) < 10


def test_after_a_hundred_lines_one_says_so() -> None:
    log = HealthLog()
    lines: list[str] = []
    for number in range(300):
        mark = Finding("gpu-idle", "warning", f"n{number}", "GPU 1 is idle")
        finding = NodeFinding(mark, (1,))
        lines += log.lines(StepHealth((finding,)), "network fast")
    assert len(lines) == 101
    assert lines[-1] == "note: 100 lines about the nodes are printed, the rest is not"


def test_a_job_that_asked_for_no_gpu_gets_no_note(clock: Clock) -> None:
    def answer(number: int, host: str) -> Sequence[str]:
        return [*node_lines(host, number), *gpu_lines([], host, number, tool="none")]

    nodes = Nodes(answer)
    nodes.asked_gpus = 0
    assert Watched(clock, nodes).run(900) == []
    nodes = Nodes(answer_of(*BUSY))  # Slurm does not count the GPUs of this system
    nodes.asked_gpus = 0
    assert Watched(clock, nodes).run(900) == ["all 8 GPUs busy, network fast"]


@pytest.mark.parametrize("when", ["start", "answer", "exit"])
def test_a_bug_ends_the_nodes_alone(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    nodes = Nodes(answer_of(*BUSY))

    def fail(*_: object) -> Probing:
        raise ZeroDivisionError(when)

    if when == "answer":
        nodes.answer = fail  # type: ignore[assignment]
    elif when == "start":
        monkeypatch.setattr(nodes, "start", fail)
    else:
        monkeypatch.setattr(Nodes, "__exit__", fail)
    watched = Watched(clock, nodes)
    if when == "exit":
        with watched.watch:
            watched.run(400)
        assert watched.lines == ["all 8 GPUs busy, network fast"]
    else:
        (line,) = watched.run(3600)
        assert line.endswith(f" for their GPUs: ZeroDivisionError('{when}')")


def test_a_probe_that_ends_is_started_again(clock: Clock) -> None:
    nodes = Nodes(answer_of(*BUSY))
    watched = Watched(clock, nodes)
    watched.run(400)
    nodes.is_over = True
    nodes.answer = answer_of(0, 0, 0, 0)
    assert watched.run(900) == [
        "warning: n1: GPUs 0-3 (of 4) are idle (below 5 %)  [gpu-idle]"
    ]
    assert nodes.starts == 2


def test_a_probe_that_cannot_start_is_unknown_once(clock: Clock) -> None:
    nodes = Nodes(answer_of(*BUSY))
    watched = Watched(clock, nodes)

    def start() -> Probing:
        nodes.starts += 1
        raise JobError("cannot run srun")

    watched.watch = NodeWatch(300, start, watched.lines.append)
    assert watched.run(3600) == [
        "unknown: the nodes cannot be asked for their GPUs: cannot run srun"
    ]
    assert nodes.starts == 3


def test_a_thousand_bad_nodes_are_few_lines(clock: Clock) -> None:
    hosts = [f"nid{number:06}" for number in range(1024)]

    def answer(number: int, host: str) -> Sequence[str]:
        idle = [use if gpu != int(host[-2:]) % 4 else 0 for gpu, use in enumerate(BUSY)]
        return [
            *node_lines(host, number, at=60.0 * number),
            *gpu_lines(used(*idle), host, number),
        ]

    lines = Watched(clock, Nodes(answer, hosts)).run(400)
    assert lines == [
        f"warning: nid00000{gpu}, nid00000{gpu + 4}, nid0000{gpu + 8:02} and 253 more: "
        f"GPU {gpu} (of 4) is idle (below 5 %)  [gpu-idle]"
        for gpu in range(4)
    ]


def test_the_pace_of_the_program_is_in_the_line_once(clock: Clock) -> None:
    watched = Watched(clock, Nodes(answer_of(*BUSY)))
    for tenths in range(20, 40):
        watched.run(60, f"network fast, {tenths / 10:.3g} s per step")
    assert watched.lines == ["all 8 GPUs busy, network fast, 2.5 s per step"]
    slow = Finding("steps-slow", "warning", "the program", "a step takes 4 s")
    watched.more = [slow]
    assert watched.run(600) == ["warning: the program: a step takes 4 s  [steps-slow]"]
