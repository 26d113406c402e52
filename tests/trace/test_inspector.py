"""Lines of the Inspector become operations, and operations speeds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.log.trace.inspector import is_inspector, read_operations, speeds_of


def line(rank: int = 0, busbw: float = 100.0, **more: object) -> str:
    """Return a line of the plugin; *more* are parts of its report on a collective."""
    return json.dumps(
        {
            "header": {
                "id": "0x7f8c496ae9f661",
                "comm_name": "unknown",
                "rank": rank,
                "n_ranks": 8,
                "nnodes": 2,
            },
            "metadata": {
                "inspector_output_format_version": "v4.0",
                "git_rev": "",
                "rec_mechanism": "nccl_profiler_interface",
                "dump_timestamp_us": 1748030377748202,
                "hostname": f"nid00100{rank // 4}",
                "pid": 4711 + rank,
            },
            "coll_perf": {
                "coll": "AllReduce",
                "coll_sn": 1407,
                "coll_msg_size_bytes": 1 << 30,
                "coll_exec_time_us": 61974,
                "coll_timing_source": "kernel_gpu",
                "coll_algobw_gbs": busbw / 1.75,
                "coll_busbw_gbs": busbw,
                **more,
            },
        },
        separators=(",", ":"),
    )


SEND = json.dumps(
    {
        "header": {
            "id": "0x1",
            "comm_name": "PP",
            "rank": 1,
            "n_ranks": 2,
            "nnodes": 2,
        },
        "metadata": {"hostname": "nid001001", "pid": 7},
        "p2p_perf": {
            "p2p": "Send",
            "p2p_sn": 3,
            "p2p_peer": 0,
            "p2p_msg_size_bytes": 4096,
            "p2p_exec_time_us": 10,
            "p2p_timing_source": "kernel_cpu",
            "p2p_algobw_gbs": 0.4,
            "p2p_busbw_gbs": 0.4,
        },
    }
)


def test_a_collective() -> None:
    (found,) = read_operations([line(5)])
    assert (found.comm, found.comm_name, found.rank) == ("7f8c496ae9f661", "", 5)
    assert (found.host, found.name) == ("nid001001", "AllReduce")
    assert (found.bytes, found.busbw) == (1 << 30, 100.0)


def test_a_send() -> None:
    (found,) = read_operations([SEND])
    assert (found.name, found.bytes, found.comm_name) == ("Send", 4096, "PP")


def test_what_is_no_line_is_left_out() -> None:
    spoilt = [
        "",
        "x",
        line()[:-9],
        "{}",
        "[]",
        line(coll_sn="a"),
        line(coll_busbw_gbs=-1),
        "[" * 9999,
    ]
    assert list(read_operations([*spoilt, line()])) == list(read_operations([line()]))


def test_speeds() -> None:
    lines = [line(rank, 100 + turn) for rank in range(8) for turn in range(5)]
    (speed,) = speeds_of(read_operations(lines))
    assert (speed.name, speed.count, speed.busbw, speed.slow) == (
        "AllReduce",
        40,
        102,
        (),
    )
    lines += [line(9, 20)] * 5
    (speed,) = speeds_of(read_operations(lines))
    assert speed.slow == ((9, "nid001002", 20.0),)
    assert speeds_of(()) == ()


def test_few_operations_tell_nothing_of_a_rank() -> None:
    lines = [line(rank) for rank in range(8) for _ in range(5)] + [line(9, 20)] * 3
    assert speeds_of(read_operations(lines))[0].slow == ()


@pytest.mark.parametrize(
    ("head", "is_one"), [(line(), True), (SEND, True), ("{}", False), ("", False)]
)
def test_it_is_known_by_its_beginning(head: str, is_one: bool) -> None:
    assert is_inspector(head[:512]) == is_one


_ANY = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.none())
)


@given(st.sampled_from(["header", "metadata", "coll_perf"]), st.data())
def test_fields_of_any_kind(part: str, data: st.DataObject) -> None:
    record: dict[str, Any] = json.loads(line())
    key = data.draw(st.sampled_from(sorted(record[part])))
    record[part][key] = data.draw(_ANY)
    speeds_of(read_operations([json.dumps(record), line()]))
