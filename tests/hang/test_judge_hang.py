"""Who is named, for what, and when nobody is."""

from __future__ import annotations

import pytest
from views import (
    IN_LOADER,
    IN_SUM,
    IN_SYNCHRONIZE,
    RUNS,
    SLEEPS,
    STOPPED,
    WAITS,
    evidence,
    rank,
)

from envcfg.nodes.hang.hang_judge import judge, wants_another_look
from envcfg.nodes.hang.hang_records import Evidence, HangRank, LaggingRanks, LastLine
from envcfg.nodes.hang.hang_rules import hang_rules, span
from envcfg.nodes.hang.rank_activity import activity

OLD = LastLine("/log", line=7, text="step 3", age=700.0)
FRESH = OLD._replace(age=2.0)
BEHIND = LaggingRanks("RAS", (3,), 3, "AllReduce", "#0-0", 6, 7)


def still(*numbers: int) -> frozenset[tuple[str, int]]:
    return frozenset((rank(each).host, rank(each).pid) for each in numbers)


def four(*does: dict[str, object]) -> list[HangRank]:
    return [rank(number, **each) for number, each in enumerate(does)]


CASES: dict[str, tuple[Evidence, str, list[tuple[str, str]]]] = {
    "one is stopped": (
        evidence(*four(WAITS, WAITS, WAITS, STOPPED)),
        "named",
        [("hang-rank-stopped", "rank 3 on node2")],
    ),
    "one is stuck in the kernel": (
        evidence(*four(WAITS, {"state": "D", "channel": "rpc_wait_bit"}, WAITS, WAITS)),
        "named",
        [("hang-rank-disk", "rank 1 on node1")],
    ),
    "one has ended and is not collected": (
        evidence(*four(WAITS, WAITS, WAITS, {"state": "Z"})),
        "named",
        [("hang-rank-missing", "rank 3 on node2")],
    ),
    "one is gone": (
        evidence(*four(WAITS, WAITS, WAITS)),
        "named",
        [("hang-rank-missing", "rank 3")],
    ),
    "all of a node are gone": (
        evidence(*four(WAITS, WAITS)),
        "named",
        [("hang-node-empty", "node2")],
    ),
    "a node does not answer": (
        evidence(*four(WAITS, WAITS), silent=("node2",)),
        "named",
        [("hang-node-silent", "node2")],
    ),
    "one sleeps": (
        evidence(*four(WAITS, WAITS, SLEEPS, WAITS)),
        "named",
        [("hang-rank-apart", "rank 2 on node2")],
    ),
    "one of two sleeps": (
        evidence(rank(0, world=2, **WAITS), rank(1, host="node2", **SLEEPS, world=2)),
        "named",
        [("hang-rank-apart", "rank 1 on node2")],
    ),
    "all sleep": (evidence(*four(SLEEPS, SLEEPS, SLEEPS, SLEEPS)), "unclear", []),
    "half sleep, half run": (
        evidence(*four(SLEEPS, SLEEPS, RUNS, RUNS)),
        "unclear",
        [],
    ),
    "all wait": (evidence(*four(WAITS, WAITS, WAITS, WAITS)), "unclear", []),
    "one runs": (
        evidence(*four(WAITS, RUNS, WAITS, WAITS)),
        "unclear",
        [("hang-rank-busy", "rank 1 on node1")],
    ),
    "all but one run, as in a collective of NCCL": (
        evidence(*four(RUNS, RUNS, RUNS, WAITS)),
        "named",
        [("hang-rank-apart", "rank 3 on node2")],
    ),
    "one is not in the collective, by its stack": (
        evidence(
            *four(*[{**WAITS, "stack": IN_SUM}] * 3, {**WAITS, "stack": IN_LOADER})
        ),
        "named",
        [("hang-rank-apart", "rank 3 on node2")],
    ),
    "all are in the collective, by their stacks": (
        evidence(*four(*[{**WAITS, "stack": IN_SUM}] * 4)),
        "unclear",
        [],
    ),
    "NCCL knows who is behind": (
        evidence(*four(RUNS, RUNS, RUNS, RUNS), behind=(BEHIND,)),
        "named",
        [("hang-rank-behind", "rank 3 on node2")],
    ),
    "NCCL does not name them": (
        evidence(*four(RUNS, RUNS), behind=(BEHIND._replace(ranks=()),)),
        "named",
        [("hang-node-empty", "node2"), ("hang-rank-behind", "communicator #0-0")],
    ),
    "they are out of step": (
        evidence(
            *four(RUNS, RUNS, RUNS, RUNS), behind=(BEHIND._replace(differs="size"),)
        ),
        "named",
        [("hang-ranks-out-of-step", "rank 3 on node2")],
    ),
    "the log moves": (
        evidence(*four(WAITS, WAITS, WAITS, WAITS), log=OLD._replace(age=2.0)),
        "moves",
        [("hang-log-moves", "job 12")],
    ),
    "the log moves, and one is stopped": (
        evidence(*four(WAITS, WAITS, WAITS, STOPPED), log=OLD._replace(age=2.0)),
        "named",
        [("hang-rank-stopped", "rank 3 on node2")],
    ),
    "the log moves, and one is apart now": (
        evidence(*four(RUNS, RUNS, RUNS, WAITS), log=OLD._replace(age=2.0)),
        "moves",
        [("hang-rank-apart", "rank 3 on node2"), ("hang-log-moves", "job 12")],
    ),
    "the log moves, and NCCL counts ranks that are apart now": (
        evidence(*four(RUNS, RUNS, RUNS, RUNS), log=OLD._replace(age=2), behind=(BEHIND,)),
        "moves",
        [("hang-rank-behind", "rank 3 on node2"), ("hang-log-moves", "job 12")],
    ),
    "the log moves, and others have waited for long": (
        evidence(
            *four(RUNS, RUNS, RUNS, RUNS),
            log=OLD._replace(age=2.0),
            behind=(BEHIND._replace(since=700.0),),
        ),
        "named",
        [("hang-rank-behind", "rank 3 on node2")],
    ),
    "the log moves, and no rank has between two looks": (
        evidence(
            *four(WAITS, WAITS, SLEEPS, WAITS), log=FRESH, still=still(0, 1, 2, 3)
        ),
        "named",
        [("hang-rank-apart", "rank 2 on node2"), ("hang-stands-still", "job 12")],
    ),
    "the log moves, and so does a rank that evaluates": (
        evidence(*four(WAITS, WAITS, RUNS, WAITS), log=FRESH, still=still(0, 1, 3)),
        "moves",
        [("hang-rank-busy", "rank 2 on node2"), ("hang-log-moves", "job 12")],
    ),
    "the log moves, one sleeps, and the others have gone on": (
        evidence(*four(RUNS, RUNS, SLEEPS, RUNS), log=FRESH, still=still(2)),
        "moves",
        [("hang-rank-apart", "rank 2 on node2"), ("hang-log-moves", "job 12")],
    ),
    "the log moves, all stand still, and nobody is apart": (
        evidence(
            *four(WAITS, WAITS, WAITS, WAITS), log=FRESH, still=still(0, 1, 2, 3)
        ),
        "moves",
        [("hang-log-moves", "job 12")],
    ),
    "the log moves, no communicator has, and neither has who is behind": (
        evidence(
            *four(RUNS, RUNS, RUNS, SLEEPS),
            log=FRESH,
            behind=(BEHIND._replace(stands=True),),
            still=still(3),
        ),
        "named",
        [("hang-rank-behind", "rank 3 on node2"), ("hang-stands-still", "job 12")],
    ),
    "the log moves, no communicator has, and who is behind computes": (
        evidence(
            *four(RUNS, RUNS, RUNS, RUNS),
            log=FRESH,
            behind=(BEHIND._replace(stands=True),),
            still=still(0),
        ),
        "moves",
        [("hang-rank-behind", "rank 3 on node2"), ("hang-log-moves", "job 12")],
    ),
    "one of two programs has a rank that sleeps": (
        evidence(
            *four(WAITS, WAITS, SLEEPS, WAITS),
            *(each._replace(pid=each.pid + 50, step="1") for each in four(*[WAITS] * 4)),
        ),
        "named",
        [("hang-rank-apart", "rank 2 on node2 of the batch script")],
    ),
    "one of two programs of a step lacks a rank": (
        evidence(
            *(each._replace(step="0", port="1") for each in four(WAITS, WAITS, WAITS)),
            *(
                each._replace(pid=each.pid + 50, step="0", port="2")
                for each in four(*[WAITS] * 4)
            ),
        ),
        "named",
        [("hang-rank-missing", "rank 3 of step 0, port 1")],
    ),
    "of two programs that have gone different ways nobody is apart": (
        evidence(
            *four(WAITS, WAITS, WAITS, WAITS),
            *(each._replace(pid=each.pid + 50, step="1") for each in four(*[RUNS] * 4)),
        ),
        "unclear",
        [],
    ),
    "the log is silent, and others have waited for a moment": (
        evidence(
            *four(RUNS, RUNS, RUNS, RUNS), log=OLD, behind=(BEHIND._replace(since=0.4),)
        ),
        "moves",
        [("hang-rank-behind", "rank 3 on node2"), ("hang-ranks-move", "job 12")],
    ),
    "the log is silent, one sleeps, and collectives were called only now": (
        evidence(*four(WAITS, WAITS, SLEEPS, WAITS), log=OLD, called=0.2),
        "moves",
        [("hang-rank-apart", "rank 2 on node2"), ("hang-ranks-move", "job 12")],
    ),
    "one sleeps, and the last collective was called long ago": (
        evidence(*four(WAITS, WAITS, SLEEPS, WAITS), log=OLD, called=700.0),
        "named",
        [("hang-rank-apart", "rank 2 on node2")],
    ),
    "others have waited for a moment in one group, for long in another": (
        evidence(
            *four(RUNS, RUNS, RUNS, RUNS),
            log=OLD,
            behind=(BEHIND._replace(since=0.4), BEHIND._replace(since=700.0)),
        ),
        "named",
        [("hang-rank-behind", "rank 3 on node2")] * 2,
    ),
    "some nodes are looked at, whose ranks know of more": (
        Evidence("12", evidence(*four(WAITS, WAITS)).nodes[:1], is_part=True),
        "unclear",
        [],
    ),
    "some nodes are looked at, and one runs no rank": (
        evidence(*four(WAITS, WAITS), is_part=True),
        "unclear",
        [],
    ),
    "one runs and one is not told, where most wait": (
        evidence(*(rank(n, host="node1", world=8, **does) for n, does in enumerate(
            [RUNS, {"state": "S", "call": 0}, *[WAITS] * 6])), is_part=True),
        "named",
        [("hang-rank-busy", "rank 0 on node1"), ("hang-rank-apart", "rank 1 on node1")],
    ),
    "two programs, of which one computes and one waits": (
        evidence(*(rank(n, host=f"node{node}", world=3, **does) for n in range(3)
                   for node, does in ((1, WAITS), (2, RUNS)) if (n, node) != (2, 1))),
        "unclear",
        [],
    ),
    "one is in a barrier, the others wait for their GPUs": (
        evidence(
            *four({**WAITS, "stack": IN_SUM}, *[{**RUNS, "stack": IN_SYNCHRONIZE}] * 3)
        ),
        "named",
        [("hang-rank-apart", "rank 0 on node1")],
    ),
    "nobody is a rank": (evidence(), "unclear", []),
    "one rank": (evidence(rank(0, world=1, **WAITS)), "unclear", []),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "verdict", "rules"), CASES.values(), ids=CASES)
def test_who_is_named(
    seen: Evidence, verdict: str, rules: list[tuple[str, str]]
) -> None:
    judgement = judge(seen)
    found = [
        (each.rule, each.subject)
        for each in judgement.findings
        if not each.rule.endswith("-absent") and each.rule != "hang-unclear"
    ]
    assert (judgement.verdict, found) == (verdict, rules)
    unclear = [each for each in judgement.findings if each.rule == "hang-unclear"]
    assert len(unclear) == (verdict == "unclear") == judgement.is_inconclusive


@pytest.mark.parametrize("age", [2.0, 700.0])
def test_where_the_job_moves_what_is_seen_of_one_moment_is_a_note(age: float) -> None:
    moment = BEHIND._replace(since=0.4)
    ranks = four(RUNS, RUNS, RUNS, WAITS)
    seen = evidence(*ranks, log=OLD._replace(age=age), behind=(moment,))
    assert {each.severity for each in judge(seen).findings} == {"note"}


def messages(seen: Evidence) -> dict[str, str]:
    return {each.rule: each.message for each in judge(seen).findings}


def test_a_silent_node_is_told_with_its_ranks_and_what_slurm_says() -> None:
    seen = evidence(*four(WAITS, WAITS), silent=("node2",))
    last = seen.nodes[1]._replace(reason="No route to host", state="allocated*")
    said = messages(seen._replace(nodes=(seen.nodes[0], last)))["hang-node-silent"]
    assert said == (
        "does not answer (No route to host), with ranks 2-3; Slurm has it as allocated*"
    )


@pytest.mark.parametrize(
    ("does", "rule", "said"),
    [
        (
            {"state": "D", "channel": "rpc_wait_bit"},
            "hang-rank-disk",
            "each cannot be interrupted in the kernel (rpc_wait_bit) (state D)",
        ),
        (
            SLEEPS,
            "hang-rank-apart",
            "each sleeps; 10 of 10 others: waits for another thread (a lock)",
        ),
        (RUNS, "hang-rank-busy", "each computes, while 10 others wait"),
    ],
)
def test_many_ranks_that_do_the_same_are_one_finding(
    does: dict[str, object], rule: str, said: str
) -> None:
    ranks = [
        rank(number, host=f"node{1 + number % 2}", world=15, **how)
        for number, how in enumerate([does] * 5 + [WAITS] * 10)
    ]
    found = [each for each in judge(evidence(*ranks)).findings if each.rule == rule]
    assert [(each.subject, each.message) for each in found] == [
        ("ranks 0-4 on node1, node2", said)
    ]


def test_of_several_programs_it_is_said_that_they_are() -> None:
    ranks = [rank(0, host=f"node{node}", world=1, **WAITS) for node in (1, 2)]
    assert messages(evidence(*ranks))["hang-unclear"] == (
        "I cannot tell: several programs run in it, as rank 0 is on node1 and on node2"
    )


def test_where_the_log_goes_on_it_is_said_for_how_long_nothing_has_moved() -> None:
    seen = evidence(*four(WAITS, WAITS, SLEEPS, WAITS), log=FRESH)
    assert wants_another_look(seen, judge(seen))
    again = seen._replace(still=still(0, 1, 2, 3), watched=21.3)
    assert not wants_another_look(again, judge(again))
    assert messages(again)["hang-stands-still"] == (
        "its log goes on, but no rank has moved for 21 s"
    )


def test_another_look_is_for_jobs_whose_log_alone_moves() -> None:
    apart = four(WAITS, WAITS, SLEEPS, WAITS)
    for seen in (
        evidence(*apart, log=OLD),
        evidence(*apart, log=OLD, called=0.2),
        evidence(*four(*[WAITS] * 4), log=FRESH),
    ):
        assert not wants_another_look(seen, judge(seen))


def test_what_follows_from_a_stopped_process_says_so() -> None:
    ranks = four(RUNS, RUNS, RUNS, STOPPED)
    first, second, *_ = judge(evidence(*ranks, behind=(BEHIND,))).findings
    assert (first.rule, first.cause) == ("hang-rank-stopped", True)
    assert (second.rule, second.cause) == ("hang-rank-behind", False)


def test_since_when_a_rank_has_not_moved_is_said() -> None:
    behind = (BEHIND._replace(same=True),)
    seen = evidence(*four(RUNS, RUNS, RUNS, SLEEPS), behind=behind)
    said = judge(seen._replace(watched=900.0)).findings[0].message
    assert said.endswith("3 others 7, as 15 min ago (RAS)")
    assert judge(seen).findings[0].message.endswith("3 others 7 (RAS)")


FLIGHT = LaggingRanks(
    *("Flight Recorder", (3,), 3, "all_reduce of 16 Float", "default_pg"),
    *(3, 4, 700.0, "train.py:64"),
)
SAID = {
    "RAS": (BEHIND, "sleeps; has begun 6 AllReduce of communicator #0-0, 3 others 7 (RAS)"),
    "Flight Recorder": (
        FLIGHT,
        (
            "sleeps; has called 3 collectives of default_pg; 3 wait in number 4 of "
            "default_pg, all_reduce of 16 Float for 12 min at train.py:64 (Flight Recorder)"
        ),
    ),
    "no dump": (
        FLIGHT._replace(number=None, since=None, where=""),
        (
            "sleeps; has written no dump; 3 wait in number 4 of default_pg, "
            "all_reduce of 16 Float (Flight Recorder)"
        ),
    ),
    "several": (
        BEHIND._replace(ranks=(2, 3), waiting=1),
        "have begun 6 AllReduce of communicator #0-0, 1 other 7 (RAS)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("behind", "said"), SAID.values(), ids=SAID)
def test_who_is_behind_is_said_with_the_collective(
    behind: LaggingRanks, said: str
) -> None:
    ranks = four(RUNS, RUNS, RUNS, SLEEPS)
    assert messages(evidence(*ranks, behind=(behind,)))["hang-rank-behind"] == said


def test_the_first_finding_has_the_line_of_the_log_that_was_last() -> None:
    first, *rest = judge(
        evidence(*four(WAITS, WAITS, WAITS, STOPPED), log=OLD)
    ).findings
    assert first.evidence is not None
    assert first.evidence == ("/log", 7, "step 3")
    assert all(each.evidence is None for each in rest)


def test_what_was_missing_is_said_and_nothing_that_was_there() -> None:
    ranks = four(*[{**WAITS, "stack": IN_SUM}] * 4)
    bare = messages(evidence(*four(WAITS, WAITS, WAITS, WAITS)))
    assert {each for each in bare if each.endswith("-absent")} == {
        *("hang-ras-absent", "hang-flight-absent", "hang-stacks-absent")
    }
    assert bare["hang-stacks-absent"] == "no Python stack of ranks 0-3"
    full = messages(evidence(*ranks, ras_read=("node1",), flights=(0, 1, 2, 3)))
    assert not [each for each in full if each.endswith("-absent")]
    denied = four(*[{**WAITS, "stack_problem": "Permission denied"}] * 4)
    said = messages(evidence(*denied, problems={"RAS": "port 1 is silent"}))
    assert said["hang-stacks-absent"].endswith(": Permission denied")
    assert said["hang-ras-absent"] == "port 1 is silent"


def test_a_job_without_gpus_has_no_sources_of_nccl_to_miss() -> None:
    bare = evidence(*four(WAITS, WAITS, WAITS, WAITS))
    no_gpus = tuple(node._replace(tool="none") for node in bare.nodes)
    rules = messages(bare._replace(nodes=no_gpus))
    assert [rule for rule in rules if rule.endswith("-absent")] == [
        "hang-stacks-absent"
    ]
    # An open port without an answer is a fact about this job.
    odd = bare._replace(nodes=no_gpus, problems={"RAS": "port 1 is silent"})
    assert messages(odd)["hang-ras-absent"] == "port 1 is silent"


def test_ranks_that_compute_are_no_contradiction_to_an_open_verdict() -> None:
    said = messages(evidence(*four(RUNS, WAITS, WAITS, WAITS)))
    assert "computes, while 3 others wait" in said["hang-rank-busy"]
    assert said["hang-unclear"] == (
        "ranks that compute may hold it up, and nothing proves it"
    )


def test_workers_of_ray_have_no_ranks() -> None:
    bare = evidence()
    nodes = tuple(node._replace(ray=n) for n, node in enumerate(bare.nodes, 1))
    said = messages(bare._replace(nodes=nodes))
    assert said["hang-unclear"] == (
        "I cannot tell: 3 busy workers of Ray have no ranks; ray stack on a node shows "
        "their lines"
    )


@pytest.mark.parametrize(
    ("channel", "call", "said"),
    [
        ("hrtimer_nanosleep", 230, "sleeps"),
        ("", 230, "sleeps"),
        ("", 115, "sleeps"),
        ("", 202, "waits for something that the kernel does not show"),
        ("futex_wait_queue", 202, "waits for another thread (a lock)"),
        ("futex_wait_queue_me", 202, "waits for another thread (a lock)"),
        ("do_epoll_wait", None, "waits for a connection (epoll)"),
        ("ep_poll", None, "waits for a connection (epoll)"),
        ("poll_schedule_timeout.constprop.0", None, "waits for a connection (poll)"),
        ("anon_pipe_read", None, "waits for a pipe"),
        ("do_wait", None, "waits for a process that it has started"),
        ("locks_lock_inode_wait", None, "waits for the lock of a file"),
        ("ldlm_completion_ast", None, "waits for a file system"),
        ("something_new", None, "waits in something_new"),
    ],
)
def test_what_the_kernel_says_in_words(
    channel: str, call: int | None, said: str
) -> None:
    assert activity(rank(0, state="S", channel=channel, call=call)).phrase == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"),
        (99, "99 s"),
        (120, "2 min"),
        (5000, "83 min"),
        (12000, "3 h 20 min"),
    ],
)
def test_a_time_as_people_say_it(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_each_rule_has_words_and_can_be_found() -> None:
    rules = hang_rules()
    judged = {rule for _, _, found in CASES.values() for rule, _ in found}
    judged.add("hang-link-down")  # judged below
    absent = {"hang-ras-absent", "hang-flight-absent", "hang-stacks-absent"}
    assert judged | absent | {"hang-unclear"} == set(rules)
    for rule in rules.values():
        assert rule.meaning
        assert rule.fix
        assert rule.source
        assert not rule.meaning.endswith(".")


UP = {"lo": "up", "eth0": "up", "hsn0": "up", "hsn1": "up", "docker0": "down"}
CUT = {**UP, "hsn0": "down", "hsn1": "down"}


@pytest.mark.parametrize(
    ("links", "subjects"),
    [
        ((UP, CUT), ["node2"]),
        ((CUT, UP), ["node1"]),
        ((UP, UP), []),
        ((CUT, CUT), []),
        ((UP, {}), []),
        ((UP, {**UP, "wlan0": "down"}), []),
    ],
)
def test_a_node_without_its_links_is_named(
    links: tuple[dict[str, str], dict[str, str]], subjects: list[str]
) -> None:
    known = evidence(*(rank(number, **WAITS) for number in range(4)))
    nodes = [n._replace(links=own) for n, own in zip(known.nodes, links, strict=True)]
    judged = judge(known._replace(nodes=tuple(nodes)))
    errors = [each for each in judged.findings if each.severity == "error"]
    assert [each.subject for each in errors] == subjects
    assert judged.verdict == ("named" if subjects else "unclear")
    for each in errors:
        assert each.rule == "hang-link-down"
        assert each.message == (
            "its interfaces hsn0, hsn1 are down, and up on most other nodes"
        )


@pytest.mark.parametrize("lost", ["links", "ranks", "answer"])
def test_no_victim_on_another_node_is_the_cause(lost: str) -> None:
    ranks = [rank(number, **WAITS) for number in range(4)]
    silent = ("node2",) if lost == "answer" else ()
    known = evidence(*(ranks[:2] if lost == "ranks" else ranks), silent=silent)
    behind = LaggingRanks("RAS", (1,), 3, "AllReduce", "#0-0", 3, 4)
    nodes = list(known.nodes)
    if lost == "links":
        nodes = [nodes[0]._replace(links=UP), nodes[1]._replace(links=CUT)]
    judged = judge(known._replace(nodes=tuple(nodes), behind=(behind,)))
    causes = [e.subject for e in judged.findings if e.severity == "error" and e.cause]
    assert causes == ["node2"]
