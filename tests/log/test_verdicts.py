"""What whole jobs come to: every version family, every way in which a job goes wrong."""

from __future__ import annotations

import re

import pytest
from checking import check, rules_of
from jobs import DIALECTS, Job, text

FALLEN = frozenset({1})
ALL = frozenset(range(16))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "ok: all 16 ranks on 2 nodes use"),
        ({"network": "ib"}, "ok", "ok: all 16 ranks on 2 nodes use IB, with GPU RDMA"),
        ({"processes": "node"}, "ok", "ok: all 16 ranks on 2 nodes use"),
        ({"masked": True}, "ok", "ok: all 16 ranks on 2 nodes use"),
        ({"groups": ("node", "alone")}, "ok", "ok: all 16 ranks on 2 nodes use"),
        (
            {"fallen": FALLEN},
            "degraded",
            "degraded: 8 of 16 ranks use TCP sockets on hsn0; plugin not found on nid001002",
        ),
        (
            {"failed": FALLEN},
            "degraded",
            "degraded: 8 of 16 ranks use TCP sockets on hsn0; plugin failed to start on nid001002",
        ),
        ({"network": "socket"}, "degraded", "degraded: 16 of 16 ranks use TCP sockets"),
        (
            {"provider": "tcp"},
            "degraded",
            "degraded: 16 of 16 ranks use libfabric provider tcp, which is TCP",
        ),
        ({"gdr": False}, "degraded", "GPU RDMA"),
        ({"gdr": frozenset({7})}, "degraded", "GPU RDMA"),
        (
            {"missing": frozenset({3, 5})},
            "inconclusive",
            "2 ranks of 16 are not in the log (3,5)",
        ),
        ({"stopped": ALL}, "inconclusive", "inconclusive: "),
        ({"debug": "WARN"}, "inconclusive", "inconclusive: NCCL wrote warnings only"),
        ({"debug": ""}, "inconclusive", "inconclusive: "),
    ],
)
def test_job_of_two_nodes(
    dialect: str, change: dict[str, object], verdict: str, words: str
) -> None:
    report = check(text(Job(dialect=dialect, **change)))
    assert (report.verdict, words in report.summary) == (verdict, True), report.summary


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("network", ["ofi", "ib", "socket"])
def test_one_node_proves_nothing_about_the_network(dialect: str, network: str) -> None:
    report = check(text(Job(dialect=dialect, network=network, nodes=1)))
    assert report.verdict == "inconclusive"
    assert "one node" in report.summary or "do not show" in report.summary


@pytest.mark.parametrize("nodes", [2, pytest.param(512, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("dialect", ["rccl-2.20", "rccl-2.27"])
def test_slingshot_at_scale(nodes: int, dialect: str) -> None:
    good = Job(nodes=nodes, dialect=dialect)
    report = check(text(good))
    assert (report.verdict, report.job.gdr) == ("ok", "yes")
    assert (report.job.world_size, report.job.node_count) == (8 * nodes, nodes)
    assert len(report.ranks) == 8 * nodes
    assert report.job.provider == "cxi"

    fallen = check(text(Job(nodes=nodes, dialect=dialect, fallen=FALLEN)))
    assert fallen.verdict == "degraded"
    bad = [rank.rank for rank in fallen.ranks if rank.network == "Socket"]
    assert bad == list(range(8, 16))
    assert "nid001002" in fallen.summary


def test_fallen_node_without_a_connection_is_broken() -> None:
    job = Job(fallen=FALLEN, channels=0, dialect="nccl-2.24")
    said = [line for line in text(job).splitlines() if "Connected all" not in line]
    report = check("\n".join(said))
    assert report.verdict == "broken"
    assert "network-mixed" in rules_of(report)


def test_provider_that_is_not_shown_is_not_guessed() -> None:
    said = [line for line in text(Job()).splitlines() if "elected " not in line]
    report = check("\n".join(said))
    assert report.verdict == "inconclusive"
    assert "libfabric provider" in report.summary


@pytest.mark.parametrize(
    "subsystems", ["INIT", "NET", "INIT,COLL", "INIT,NET", "^INIT", "ALL"]
)
def test_hidden_subsystems_never_give_more_than_the_log_shows(subsystems: str) -> None:
    good = check(text(Job(dialect="nccl-2.24", subsystems=subsystems)))
    assert good.verdict in {"ok", "inconclusive"}
    bad = check(text(Job(dialect="nccl-2.24", subsystems=subsystems, fallen=FALLEN)))
    assert bad.verdict in {"degraded", "broken"}


def test_every_process_a_world_of_its_own() -> None:
    job = Job(nodes=1, ranks_per_node=1, dialect="nccl-2.24")
    lonely = text(job)
    log = "".join(
        lonely.replace(":", f"{number}:", 1) for number in range(4)
    ) + "".join(lonely.replace("nid001001", f"nid00200{number}") for number in range(4))
    report = check(log)
    assert report.verdict == "broken"
    assert "worlds-of-one" in rules_of(report)


def test_two_builds_of_nccl() -> None:
    one = text(Job(dialect="nccl-2.24"))
    other = text(Job(dialect="nccl-2.27"))
    log = "\n".join(
        [line for line in one.splitlines() if line.startswith("nid001001")]
        + [line for line in other.splitlines() if line.startswith("nid001002")]
    )
    report = check(log)
    assert report.verdict == "broken"
    assert "versions-differ" in rules_of(report)


def test_two_builds_that_only_their_wording_tells_apart() -> None:
    log = """\
nid001001:71:71 [0] NCCL INFO NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory
nid001001:71:90 [0] NCCL INFO Using network IB
nid001002:72:72 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory No plugin found (libnccl-net.so), using internal implementation
nid001002:72:91 [0] NCCL INFO Using network IB
"""
    report = check(log)
    assert (report.verdict, rules_of(report)) == ("broken", {"versions-differ"})


def test_wordings_that_one_process_mixes_tell_no_builds_apart() -> None:
    """A patched build, or a version whose words are told wrongly here."""
    said = """\
NCCL INFO NET/Plugin: libnccl-net.so: cannot open shared object file: No such file or directory
NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.
NCCL INFO Using network IB
"""
    hosts = ("nid001001:71:71 [0]", "nid001002:72:72 [0]")
    log = "".join(f"{host} {line}\n" for host in hosts for line in said.splitlines())
    assert "versions-differ" not in rules_of(check(log))


@pytest.mark.nightly
def test_counts_of_a_large_job() -> None:
    """4,096 ranks on 512 nodes; the benchmark does the same with two million lines."""
    report = check(text(Job(nodes=512, dialect="rccl-2.22", channels=1)))
    assert report.job.ranks_seen == tuple(range(4096))
    assert report.job.networks == {"AWS Libfabric": 4096}
    assert report.verdict == "ok"


def test_versions_known_to_fail_together_are_a_note_and_change_no_verdict() -> None:
    log = text(Job(dialect="nccl-2.27"))
    before = check(log)
    report = check(log.replace("NCCL version 2.27.3", "NCCL version 2.28.9"))
    found = [each for each in report.findings if each.rule.startswith("stack-")]
    assert [(each.rule, each.severity) for each in found] == [
        ("stack-nccl-ofi-2.28.9", "note")
    ]
    assert found[0].evidence
    assert report.verdict == before.verdict


STAGED = re.compile(r"(-> \d+\[\w+\] \[(send|receive)\] via NET/IB/\d+)/GDRDMA")


def test_sends_through_the_host_are_a_note_where_all_is_received_directly() -> None:
    """NCCL does so by itself on GPUs before Ampere without NVLink."""
    log = text(Job(network="ib"))
    sends = STAGED.sub(lambda m: m[1] if m[2] == "send" else m[0], log)
    assert sends != log
    report = check(sends)
    assert (report.verdict, report.job.gdr) == ("ok", "partial")
    assert rules_of(report) == {"gdr-sends-staged"}
    assert check(sends, gdr=True).verdict == "degraded"
    # Of one rank alone it is another reason, such as a NIC that is far.
    receives = STAGED.sub(lambda m: m[1] if m[2] == "receive" else m[0], log)
    assert check(receives).verdict == "degraded"
    far = sends.replace("/GDRDMA", "", 1)
    assert far != sends
    assert check(far).verdict == "degraded"
    # Who has asked for it does without on any GPU.
    asked = sends.replace("NCCL_SOCKET_IFNAME set", "NCCL_NET_GDR_READ set")
    assert asked != sends
    assert check(asked).verdict == "degraded"


@pytest.mark.parametrize(
    ("interfaces", "verdict"),
    [
        ("[0]eth0:10.1.1.7<0> [1]veth1a2b3c4:fe80::1%veth1a2b3c4<0>", "inconclusive"),
        ("[0]docker0:172.17.0.1<0>", "degraded"),
        ("[0]eth0:10.1.1.7<0> [1]nmn0:10.2.1.7<0>", "degraded"),
    ],
)
def test_a_bridge_beside_others_is_no_fault_of_what_may_be_one_node(
    interfaces: str, verdict: str
) -> None:
    log = f"gpu-07:900:955 [0] NCCL INFO NET/Socket : Using {interfaces}\n"
    assert check(log).verdict == verdict
    both = log + log.replace("gpu-07", "gpu-08")
    comm = (
        " [0] NCCL INFO comm 0x7 rank {0} nRanks 2 nNodes 2 localRanks 1 localRank 0\n"
    )
    both += "gpu-07:900:955" + comm.format(0) + "gpu-08:900:955" + comm.format(1)
    assert check(both).verdict == "degraded"
