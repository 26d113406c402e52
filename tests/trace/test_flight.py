"""Dumps of PyTorch's Flight Recorder, made by PyTorch itself, and what is made of them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.log.collective.flight_recorder import (
    FlightDump,
    is_flight,
    rank_of,
    read_flight,
)
from envcfg.log.collective.lagging_ranks import (
    culprits,
    lag,
    open_transfers,
    out_of_step,
)
from envcfg.log.collective.trace_fields import TraceError

# Four ranks over gloo, PyTorch 2.13.0: three collectives of all ranks, one of two of them,
# and then what the folder says: one rank stays away, or one calls something else.
DUMPS = Path(__file__).parent / "dumps"


def dumps(case: str) -> list[FlightDump]:
    """Return the dumps of a case, in the order of their ranks."""
    files = sorted((DUMPS / case).glob("nccl_trace_rank_*"))
    return [read_flight(each.read_bytes(), rank_of(each.name) or 0) for each in files]


def entry(seq: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an operation as a dump of NCCL has it."""
    return {
        "record_id": seq,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_000_000_000 + seq,
        "input_sizes": [[4, 4]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 4]],
        "output_dtypes": ["Float"],
        "state": "completed",
        "time_discovered_started_ns": 1,
        "time_discovered_completed_ns": 2,
        "retired": True,
        "timeout_ms": 600000,
        "is_p2p": False,
        **more,
    }


def dump(rank: int, *entries: dict[str, Any], size: int = 2, **more: Any) -> FlightDump:  # noqa: ANN401
    """Return the dump of *rank*, pickled as Python does it."""
    ranks = str(list(range(size)))
    data = {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}},
        "pg_status": {},
        "entries": list(entries),
        **more,
    }
    return read_flight(pickle.dumps(data), rank)


def test_what_one_rank_recorded() -> None:
    first, *_ = dumps("lag")
    assert (first.rank, len(first.entries)) == (0, 5)
    done, last = first.entries[0], first.entries[-1]
    assert (done.backend, done.name, done.seq, done.done) == (
        "gloo",
        "all_reduce",
        1,
        True,
    )
    assert (last.name, last.seq, last.done, last.state) == (
        "all_gather",
        4,
        False,
        "scheduled",
    )
    assert last.input_sizes == ((16,),)
    assert last.dtypes == ("Float", "Float")
    assert last.place == "/home/user/train_2.py:16"


def test_no_lag_where_all_is_well() -> None:
    assert lag(dumps("ok")) == ()
    assert out_of_step(dumps("ok")) == ()


def test_a_rank_that_stays_away() -> None:
    (found,) = lag(dumps("lag"))
    assert (found.desc, found.seq, found.operation) == (
        "default_pg",
        4,
        "all_gather of 16 Float",
    )
    assert found.absent == {2: 3}
    assert found.waiting == dict.fromkeys((0, 1, 3), "scheduled")
    assert found.place == "/home/user/train_2.py:16"
    assert out_of_step(dumps("lag")) == ()


def test_a_rank_that_calls_something_else() -> None:
    (found,) = out_of_step(dumps("mismatch"))
    assert (found.seq, found.differs) == (4, "operation")
    assert [ranks for _, ranks in found.calls] == [(0, 2, 3), (1,)]
    assert found.calls[1][0] == "broadcast of 16 Float"


@pytest.mark.parametrize("case", ["ok/fr_0", "mismatch/fr_1"])
def test_json_says_the_same(case: str) -> None:
    path = DUMPS / f"{case}.json"
    assert is_flight(path.read_bytes()[:512])
    rank = rank_of(path.name) or 0
    given_, other = read_flight(path.read_bytes(), rank), dumps(path.parent.name)[rank]
    plain = [each._replace(place="") for each in other.entries]
    assert list(given_.entries) == plain


def test_sizes_and_types_differ() -> None:
    for differs, change in (
        ("size", {"input_sizes": [[4, 5]]}),
        ("type", {"input_dtypes": ["Half"]}),
    ):
        (found,) = out_of_step([dump(0, entry(7)), dump(1, entry(7, **change))])
        assert (found.seq, found.differs) == (7, differs)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("nccl:broadcast", {"input_sizes": [[9]]}),  # of the root alone
        ("nccl:all_to_all", {"input_sizes": [[9]]}),
        ("nccl:all_reduce", {"input_sizes": [[16]]}),  # as many, in another shape
    ],
)
def test_sizes_may_differ(name: str, change: dict[str, Any]) -> None:
    ours = dump(0, entry(7, profiling_name=name))
    assert out_of_step([ours, dump(1, entry(7, profiling_name=name, **change))]) == ()


def test_the_end_of_a_full_buffer_is_compared_alone() -> None:
    old = dump(0, *(entry(seq) for seq in range(1, 9)))
    new = dump(1, *(entry(seq) for seq in range(6, 9)))
    assert lag([old, new]) == ()
    assert out_of_step([old, new]) == ()


def test_a_collective_that_timed_out() -> None:
    waits = dump(0, entry(1), entry(2, state="started", retired=False))
    gone = dump(0, entry(1), entry(2, state="started", retired=True))
    late = dump(1, entry(1))
    assert [each.timed_out for each in lag([waits, late]) + lag([gone, late])] == [
        False,
        True,
    ]
    (found,) = lag([gone, late])
    assert (found.absent, found.waiting) == ({1: 1}, {0: "started"})


def test_ranks_without_a_dump() -> None:
    (found,) = lag([dump(0, entry(1, state="started"), size=4), dump(1, size=4)])
    assert found.unseen == (2, 3)
    assert found.absent == {1: 0}


def test_operations_that_are_launched_together() -> None:
    part = entry(2, state="scheduled", retired=False)
    for state, found in (("completed", 0), ("started", 1)):
        whole = entry(2, profiling_name="nccl:coalesced", state=state, retired=False)
        ranks = [dump(rank, entry(1), part, part, whole) for rank in range(2)]
        assert len(lag(ranks)) == found
        assert out_of_step(ranks) == ()


def test_sends_and_receives_are_no_collectives() -> None:
    send = entry(3, profiling_name="nccl:send 0->1", is_p2p=True, state="started")
    assert lag([dump(0, entry(3), send), dump(1, entry(3))]) == ()


def test_how_far_a_group_is_as_a_whole_counts_sends_too() -> None:
    """Gloo and NCCL number sends and receives as well, in which ranks need not agree."""
    status = {"0": {"last_enqueued_collective": 90, "last_completed_collective": 88}}
    waits = entry(2, state="started", retired=False)
    (found,) = lag(
        [
            dump(0, entry(1), waits, pg_status=status),
            dump(1, entry(1), pg_status=status),
        ]
    )
    assert (found.seq, found.absent, found.waiting) == (2, {1: 1}, {0: "started"})


def grouped(rank: int, *entries: dict[str, Any]) -> FlightDump:
    """Return the dump of one of four ranks in pairs: tp 0-1 and 2-3, dp 0-2 and 1-3."""
    config = {"tp": str([rank & 2, rank & 2 | 1]), "dp": str([rank & 1, rank & 1 | 2])}
    named = {name: {"desc": name, "ranks": own} for name, own in config.items()}
    return dump(rank, *entries, pg_config=named)


def of(name: str, seq: int, *, waits: bool = False) -> dict[str, Any]:
    more = {"state": "started", "retired": False} if waits else {}
    return entry(seq, process_group=(name, name), **more)


def test_who_waits_for_a_rank_that_waits_for_another() -> None:
    # Rank 3 stays away: 2 waits for it in tp, 1 in dp, and 0 waits for 2 in dp.
    done = (of("tp", 1), of("dp", 1))
    ranks = [
        grouped(0, *done, of("tp", 2), of("dp", 2, waits=True)),
        grouped(1, *done, of("tp", 2), of("dp", 2, waits=True)),
        grouped(2, *done, of("tp", 2, waits=True)),
        grouped(3, *done),
    ]
    found = lag(ranks)
    assert [(each.desc, each.absent) for each in found] == [
        ("dp", {3: 1}),
        ("tp", {3: 1}),
        ("dp", {2: 1}),
    ]
    assert culprits(ranks, found) == {3}
    assert found[-1].elsewhere == {2: "number 2 of tp, all_reduce of 4x4 Float"}


def test_ranks_that_wait_for_each_other_are_all_a_cause() -> None:
    ranks = [
        dump(0, of("a", 1), of("b", 1), of("a", 2, waits=True)),
        dump(1, of("a", 1), of("b", 1), of("b", 2, waits=True)),
    ]
    found = lag(ranks)
    assert [each.absent for each in found] == [{1: 1}, {0: 1}]
    assert culprits(ranks, found) == {0, 1}
    assert all(each.elsewhere for each in found)


def test_who_waits_in_a_receive_is_held_up_himself() -> None:
    receive = {"profiling_name": "nccl:recv 1<-0", "is_p2p": True, "state": "started"}
    ranks = {"size": 3}
    waits = entry(2, state="started", retired=False)
    found = lag(
        [
            dump(0, entry(1), **ranks),
            dump(1, entry(1), entry(1, retired=False, **receive), **ranks),
            dump(2, entry(1), waits, **ranks),
        ]
    )
    assert [(each.absent, each.elsewhere) for each in found] == [
        ({0: 1, 1: 1}, {1: "recv 1<-0 of 4x4 Float of default_pg"})
    ]


def test_a_transfer_that_has_not_ended() -> None:
    def moved(name: str, number: int, state: str, *, retired: bool) -> dict[str, Any]:
        more = {"state": state, "retired": retired, "p2p_seq_id": number}
        return entry(1, profiling_name=f"nccl:{name}", is_p2p=True, **more)

    # Of those that are launched together only the last, which launches them, has an end.
    ended = (
        moved("send 0->1", 1, "scheduled", retired=False),
        moved("recv 0<-1", 1, "scheduled", retired=False),
        moved("coalesced", 1, "completed", retired=True),
    )
    assert open_transfers([dump(0, *ended)]) == {}
    waits = moved("recv 0<-1", 2, "started", retired=False)
    assert open_transfers([dump(0, *ended, waits), dump(1)]) == {
        0: "recv 0<-1 of 4x4 Float of default_pg"
    }


def test_rank_of() -> None:
    assert rank_of("/x/nccl_trace_rank_12") == 12
    assert rank_of("fr_3.json") == 3
    assert rank_of("dump") is None


class _Evil:
    def __init__(self, trace: Path) -> None:
        self._trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._trace,)


def test_no_code_of_a_pickle_runs(tmp_path: Path) -> None:
    evil = _Evil(tmp_path / "trace")
    inside = {"entries": evil, "version": "2.10"}
    for data in (pickle.dumps(evil), pickle.dumps(inside, protocol=2)):
        with pytest.raises(TraceError):
            read_flight(data, 0)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Path("x")),
        b"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00idtR.",
        b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x02ios\nsystem\n.",
        b"\x80\x02\x82\x01.",  # of the registry of extensions
        b"\x80\x02]r\xff\xff\xff\x7f.",  # a place far away in the memo
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa.",  # a text of any length
        b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7fa.",
        b"\x80\x02(((((((.",
        b"\x80\x02.",
        b"\x80",
        b"\x80\x02}(]]u.",  # a list as a key
        b"\x80\x02}K\x01K\x02s.",  # a number as a key: numbers may all hash alike
        b"\x80\x02}N" + b"q\x00h\x00\x86" * 64 + b"Ns.",  # a key that takes 2^64 steps
        b"\x80\x02]q\x00h\x00a.",  # a list in itself
        b"\x80\x02" + b"(" * 100_000,
        b"\x80\x02" + b"]" + b"\x85" * 100_000 + b".",
        b"[" * 100_000,
        b'{"version": "2.1"}',
        b'{"version": "9.1", "entries": []}',
        b'{"entries": []}',
        b"hello",
        b"",
    ],
)
def test_what_is_refused(data: bytes) -> None:
    with pytest.raises(TraceError):
        read_flight(data, 0)


def test_a_pickle_of_too_many_instructions_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("envcfg.log.collective.trace_fields._STEPS", 1000)
    with pytest.raises(TraceError, match="too many values"):
        read_flight(b"\x80\x02" + b"}" * 1001, 0)


def test_one_operation_many_times_over_is_refused() -> None:
    with pytest.raises(TraceError, match="operations"):
        dump(0, *([entry(1)] * (1 << 18)))


def test_lists_that_hold_each_other_many_times_take_no_time() -> None:
    sizes: list[Any] = [[1] * 1000] * 1000
    wide = entry(1, input_sizes=sizes, frames=[{"filename": "/x/torch/y"}] * 100_000)
    assert len(dump(0, *([wide] * 20)).entries) == 20
    with pytest.raises(TraceError, match="sizes"):
        dump(0, *([wide] * 100_000))


def test_a_long_list_of_ranks_of_many_groups_is_read_once() -> None:
    long = {"ranks": str(list(range(20_000)))}
    config = {f"{number}": long for number in range(20_000)}
    found = dump(0, entry(1), pg_config=config)
    assert len(found.ranks) == 20_000


def test_split_groups_of_one_name_are_groups_of_their_own() -> None:
    # Older PyTorch counts them in each process: the pairs 0-1 and 2-3 are both "1".
    def split(rank: int, *entries: dict[str, Any]) -> FlightDump:
        own = [{**each, "process_group": ("1", "tp")} for each in entries]
        ranks = "[0, 1]" if rank < 2 else "[2, 3]"
        return dump(rank, *own, pg_config={"1": {"ranks": ranks}})

    ahead, apart = (entry(1), entry(2)), (entry(1, profiling_name="nccl:broadcast"),)
    dumps_ = [split(rank, *(ahead if rank < 2 else apart)) for rank in range(4)]
    assert lag(dumps_) == ()
    assert out_of_step(dumps_) == ()
    waits = entry(2, state="started", retired=False)
    (found,) = lag([*dumps_[:2], split(2, *apart, waits), split(3, *apart)])
    assert (found.absent, found.waiting) == ({3: 1}, {2: "started"})


def test_a_group_that_a_full_buffer_has_lost_is_not_known() -> None:
    # A stage of a pipeline: what it sends has pushed out the only barrier of all.
    sends = [
        entry(1, record_id=each, profiling_name="nccl:send 0->1", is_p2p=True)
        for each in range(4000, 4004)
    ]
    early = dump(1, entry(1))
    assert lag([dump(0, *sends), early]) == ()
    (found,) = lag([dump(0, *sends), dump(1, entry(1, state="started"))])
    assert (found.absent, found.unseen) == ({}, (0,))
    (found,) = lag([dump(0), early])
    assert found.absent == {0: 0}


REAL = (DUMPS / "lag/nccl_trace_rank_0").read_bytes()


@given(st.data())
def test_a_spoilt_dump_is_read_or_refused(data: st.DataObject) -> None:
    spoilt = bytearray(REAL)
    for _ in range(data.draw(st.integers(1, 4))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(
            st.integers(0, 255)
        )
    try:
        found = read_flight(bytes(spoilt), 0)
    except TraceError:
        return
    lag([found, *dumps("lag")[1:]])
    out_of_step([found, *dumps("lag")[1:]])


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(entry(1))), _ANY), _ANY, _ANY)
def test_fields_of_any_kind(
    more: dict[str, Any], status: object, config: object
) -> None:
    data = {
        "version": "2.10",
        "pg_config": config,
        "pg_status": status,
        "entries": [entry(1), entry(2, **more)],
    }
    one = read_flight(json.dumps(data).encode(), 0)
    lag([one, dump(1, entry(1))])
    out_of_step([one, dump(1, entry(1))])
