"""The generator of logs itself: what it makes is what a job says."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from jobs import (
    BENIGN,
    DIALECTS,
    ERRORS,
    LABELS,
    WRAPPERS,
    Failure,
    Job,
    benign_of,
    errors_of,
    lines,
    text,
    training_output,
    wrapped,
)

from suites import mark_sample

HOST = r"[A-Za-z][A-Za-z0-9_-]*"
STAMP = r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?"
PREFIX = re.compile(
    rf"{STAMP}{HOST}:\d+:\d+ \[-?\d+\] (?:NCCL INFO \S|(?:\S.*):\d+(?: \(\w+\))? NCCL WARN \S)"
)
BANNER = re.compile(
    r"(?:NCCL version|NCCL git|RCCL version|HIP|ROCm|Hostname|Librccl)\b"
)
PLUGIN = re.compile(r"(?:No plugin found|Could not find: lib|dlerror=)")
SEND = re.compile(
    r"(\d+)(?:\[\w+\])? -> (\d+)(?:\[\w+\])? \[send\] via NET/([^/]+)/(\d+)(.*)"
)


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("network", ["ofi", "ib", "socket"])
def test_every_line_is_of_the_library_in_every_dialect(
    dialect: str, network: str
) -> None:
    job = Job(
        dialect=dialect, network=network, groups=("node", "across", "alone"), ended=True
    )
    for line in lines(job):
        assert PREFIX.match(line.text) or BANNER.match(line.text), line


def test_a_job_says_the_same_each_time_and_another_seed_differs(dialect: str) -> None:
    assert text(Job(dialect=dialect)) == text(Job(dialect=dialect))
    assert text(Job(dialect=dialect)) != text(Job(dialect=dialect, seed=1))


def test_the_lines_of_a_rank_keep_their_order(dialect: str) -> None:
    """The order of ranks is drawn by lot; within one it is that of a job of its own."""
    mixed = lines(Job(dialect=dialect, errors={3: ("miopen-locked", "ibv-wrapper")}))
    numbers = {line.rank for line in mixed}
    assert numbers == set(range(16))
    runs = sum(a.rank != b.rank for a, b in pairwise(mixed))
    assert runs > 64
    for rank in (0, 3, 15):
        own = [line.text for line in mixed if line.rank == rank]
        steps = ["Bootstrap", "Trees", "Init COMPLETE"]
        places = [
            next(i for i, said in enumerate(own) if step in said) for step in steps
        ]
        assert places == sorted(places)


def test_each_rank_has_one_network(dialect: str) -> None:
    said = text(Job(dialect=dialect))
    used = re.findall(r"Using network (.+)", said)
    if DIALECTS[dialect].version < (2, 6, 4):
        assert not used
        assert said.count("NET/OFI Selected Provider is cxi") == 16
    else:
        assert used == [DIALECTS[dialect].plugin.network] * 16
    assert not PLUGIN.search(said)


def test_a_fallen_node_says_why_and_uses_sockets(dialect: str) -> None:
    said = lines(Job(dialect=dialect, fallen=frozenset({1})))
    missing = {line.rank for line in said if PLUGIN.search(line.text)}
    sockets = {line.rank for line in said if "NET/Socket : Using [0]hsn0" in line.text}
    assert missing == sockets == set(range(8, 16))


def test_a_plugin_that_fails_is_followed_by_sockets(dialect: str) -> None:
    said = lines(Job(dialect=dialect, failed=frozenset({0})))
    failed = {line.rank for line in said if "initialization failed" in line.text}
    sockets = {line.rank for line in said if "NET/Socket : Using" in line.text}
    assert failed == sockets == set(range(8))


def test_a_pinned_network_that_is_not_there_ends_the_rank(dialect: str) -> None:
    said = lines(Job(dialect=dialect, fallen=frozenset({1}), pinned=True))
    ended = [
        line.rank
        for line in said
        if re.search(r"network .* not found|any NET", line.text)
    ]
    assert sorted(ended) == list(range(8, 16))
    complete = {line.rank for line in said if line.text.endswith("Init COMPLETE")}
    assert complete == set(range(8))


def test_both_ends_of_a_channel_between_nodes_speak(dialect: str) -> None:
    said = text(Job(nodes=3, ranks_per_node=4, dialect=dialect))
    edges = {
        way: sorted(
            re.findall(rf"(\d+)(?:\[\w+\])? -> (\d+)(?:\[\w+\])? \[{way}\]", said)
        )
        for way in ("send", "receive")
    }
    assert edges["send"] == edges["receive"] != []


def test_channels_without_gdr_are_those_of_the_ranks_without(dialect: str) -> None:
    said = lines(Job(dialect=dialect, channels=8, gdr=frozenset({3, 9})))
    sends = [(line.rank, found) for line in said if (found := SEND.search(line.text))]
    without = {rank for rank, found in sends if "/GDRDMA" not in found[5]}
    assert without == {3, 9}
    assert all(int(found[1]) == rank for rank, found in sends)
    if DIALECTS[dialect].version >= (2, 24):
        assert "use ring PXN 0 GDR 0" in text(Job(dialect=dialect, gdr=frozenset({3})))
        assert "use ring PXN 0 GDR 1" in text(Job(dialect=dialect))


def test_missing_ranks_are_silent_and_stopped_ones_never_complete(dialect: str) -> None:
    job = Job(dialect=dialect, missing=frozenset({5}), stopped=frozenset({6, 7}))
    said = lines(job)
    assert {line.rank for line in said} == set(range(16)) - {5}
    complete = {line.rank for line in said if line.text.endswith("Init COMPLETE")}
    assert complete == set(range(16)) - {5, 6, 7}


def test_a_process_of_several_gpus_loads_the_plugin_once(dialect: str) -> None:
    job = Job(dialect=dialect, processes="node")
    said = lines(job)
    pids = {
        re.match(rf"{HOST}:(\d+):", line.text)[1]
        for line in said
        if PREFIX.match(line.text)
    }
    assert len(pids) == 2
    assert sum("Selected" in line.text for line in said) == 2
    each = 16 if DIALECTS[dialect].version >= (2, 13) else 2
    each = 0 if DIALECTS[dialect].version < (2, 6, 4) else each
    assert sum("Using network" in line.text for line in said) == each


@pytest.mark.parametrize(
    ("subsystems", "shown", "hidden"),
    [
        ("NET", ["NET/OFI", "[send]"], ["Using network", "Init COMPLETE", "all rings"]),
        ("^INIT", ["NET/OFI", "[send]"], ["Using network", "Init COMPLETE"]),
        (
            "INIT,COLL",
            ["Using network", "Init COMPLETE", "[send]", "AllReduce"],
            ["SOCKET"],
        ),
        ("ALL", ["Using network", "GPU Direct RDMA Enabled", "SOCKET_IFNAME"], []),
        ("COLL", ["AllReduce"], ["NET/OFI", "Using network", "[send]"]),
    ],
)
def test_subsystems_hide_lines(
    subsystems: str, shown: list[str], hidden: list[str]
) -> None:
    said = text(Job(subsystems=subsystems))
    assert [each for each in shown if each not in said] == []
    assert [each for each in hidden if each in said] == []


def test_less_than_info_leaves_versions_and_warnings(dialect: str) -> None:
    error = next(name for name in errors_of(dialect) if name.startswith("peer-closed"))
    job = Job(dialect=dialect, debug="WARN", errors={4: (error,)})
    said = [line.text for line in lines(job) if line.text]
    warnings = [line for line in said if "NCCL WARN" in line]
    assert len(warnings) == 1
    assert all(BANNER.match(line) for line in said if line not in warnings)
    assert text(Job(dialect=dialect, debug="", errors={4: (error,)})) == ""


@pytest.mark.parametrize("name", mark_sample([*ERRORS, *BENIGN], every=4))
def test_every_failure_is_said_by_one_rank(name: str) -> None:
    failure: Failure = ERRORS.get(name) or BENIGN[name]
    speakers = [dialect for dialect in DIALECTS if failure.fits(dialect)]
    assert speakers
    for dialect in speakers:
        fields = {"ranks_per_node": 2, "dialect": dialect, "subsystems": "ALL"}
        job = Job(**fields, errors={3: (name,)})
        fine = text(Job(**fields))
        added = [
            line for line in lines(job) if f"{line.text}\n" not in fine or not line.text
        ]
        assert {line.rank for line in added} <= {3}
        assert "$" not in "".join(line.text for line in added)


# One wording of each kind, with what the versions beside it say otherwise.
WORDS = [
    (
        {"dialect": "nccl-2.4"},
        "Ring 00 : 15 -> 0 [receive] via NET/AWS Libfabric/0/GDRDMA",
    ),
    (
        {"dialect": "nccl-2.4"},
        "Bootstrap : Using [0]hsn0:10.150.0.1<0> [1]hsn1:10.151.0.1<0>",
    ),
    (
        {"dialect": "nccl-2.7"},
        "Channel 00 : 7[bd000] -> 8[7000] [send] via NET/AWS Libfabric/3/",
    ),
    ({"dialect": "nccl-2.12"}, "Channel 00/0 : 7[bd000] -> 8[7000] [send] via NET/AWS"),
    ({"dialect": "nccl-2.16"}, "Loaded net plugin AWS Libfabric (v5)"),
    (
        {"dialect": "nccl-2.18"},
        "Channel 00/0 : 7[7] -> 8[0] [send] via NET/AWS Libfabric/3",
    ),
    ({"dialect": "nccl-2.18"}, "NET/OFI Selected Provider is cxi (found 4 nics)"),
    (
        {"dialect": "nccl-2.19", "fallen": {0}},
        "NET/Plugin : dlerror=libnccl-net.so: cannot",
    ),
    ({"dialect": "nccl-2.21"}, "NET/OFI Initializing aws-ofi-nccl 1.9.1-aws"),
    ({"dialect": "nccl-2.23"}, "[0] NCCL INFO NCCL version 2.23.4+cuda12.4"),
    ({"dialect": "nccl-2.24"}, "Loaded net plugin Libfabric (v9)"),
    ({"dialect": "nccl-2.24"}, "Bootstrap: Using hsn0:10.150.0.2<0>"),
    ({"dialect": "nccl-2.27"}, "Successfully loaded external plugin libnccl-net.so"),
    (
        {"dialect": "nccl-2.28"},
        "Successfully loaded external network plugin libnccl-net.so",
    ),
    (
        {"dialect": "nccl-2.28", "network": "socket"},
        "NET/IB : Using [RO]; OOB hsn0:10.150.0.1",
    ),
    ({"dialect": "nccl-2.30"}, "[Rank 9] ncclCommInitRankConfig comm 0x"),
    ({"dialect": "nccl-2.30", "gdr_mode": "PCI"}, "via NET/Libfabric/0/GDRDMA(PCI)"),
    ({"dialect": "nccl-2.30", "proxies": True}, "[send] via NET/Libfabric/3(0)/GDRDMA"),
    (
        {"dialect": "rccl-2.20", "fallen": {1}},
        "No plugin found (librccl-net.so), using internal",
    ),
    (
        {"dialect": "rccl-2.21", "fallen": {1}},
        "NET/Plugin: No plugin found (librccl-net.so)\n",
    ),
    ({"dialect": "rccl-2.21"}, " via NET/AWS Libfabric/0/GDRDMA comm 0x"),
    ({"dialect": "rccl-2.21"}, "\nRCCL version : 2.21.5-HEAD:"),
    ({"dialect": "rccl-2.26"}, "[0] NCCL INFO RCCL version : 2.26.6-HEAD:"),
    ({"dialect": "rccl-2.27", "fallen": {1}}, "Could not find: libnccl-net.so \n"),
    (
        {"dialect": "rccl-2.27"},
        "Selected provider is cxi, fabric is cxi (found 4 nics)",
    ),
    ({"network": "ib"}, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB"),
    ({"provider": "tcp"}, "NET/OFI Selected Provider is tcp"),
]


@pytest.mark.parametrize(("fields", "words"), WORDS)
def test_a_version_has_its_words(fields: dict[str, object], words: str) -> None:
    assert words in text(Job(**fields))  # type: ignore[arg-type]


def test_a_warning_begins_with_an_empty_line(dialect: str) -> None:
    said = [line.text for line in lines(Job(dialect=dialect, errors={9: ("ofi-cq",)}))]
    at = next(i for i, line in enumerate(said) if "NCCL WARN" in line)
    assert said[at - 1] == ""
    assert said[at].startswith("[2026-") == (DIALECTS[dialect].version >= (2, 26))


def test_every_dialect_has_errors_and_harmless_lines(dialect: str) -> None:
    assert len(errors_of(dialect)) > 25
    assert "ibv-wrapper" in benign_of(dialect)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_every_wrapper_keeps_the_text(wrapper: str) -> None:
    job = Job(ranks_per_node=2, errors={1: ("ibv-wrapper",)})
    plain, said = list(wrapped(job)), list(wrapped(job, wrapper))
    if wrapper == "ray-repeated":
        assert 0 < len(said) < len(plain)
        return
    for bare, line in zip(plain, said, strict=True):
        kept = re.sub(r"\x1b\[\d+m", "", line)
        assert bare in kept
        assert (kept == bare) == (wrapper in {"none", "ansi"})


def test_wrappers_go_around_each_other() -> None:
    first = next(
        wrapped(Job(missing=frozenset(range(15))), "default", "srun-node", "crlf")
    )
    assert first.startswith("1: [default7]:nid001002:")
    assert first.endswith("\r")
    assert set(LABELS) < set(WRAPPERS)


def test_training_output_is_as_long_as_asked_and_says_nothing_of_nccl() -> None:
    made = training_output(5_000, seed=3)
    assert made == training_output(5_000, seed=3) != training_output(5_000, seed=4)
    assert len(made) == 5_000
    assert any("\r" in line for line in made)
    assert max(map(len, made)) > 10_000
    assert not any("NCCL" in line or "\n" in line for line in made)
