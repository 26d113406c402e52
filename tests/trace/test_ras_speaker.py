"""Answers of RAS of jobs of any kind: text and JSON come to the same, as far as each tells."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from ras_speaker import Comm, Member, Peer, State, as_json, as_text

from envcfg.log.collective.ras import is_ras, laggards, read_ras
from envcfg.log.collective.ras_records import RasReport


@st.composite
def states(draw: st.DrawFn) -> State:
    """Draw a job of some nodes, most of whose ranks are alike."""
    many = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    shift = draw(st.sampled_from([0, 4]))
    peers = [
        Peer(
            f"10.0.0.{node}" if node else "fd00::1", 1000 * node + gpu, gpu, gpu + shift
        )
        for node, count in enumerate(many)
        for gpu in range(count)
    ]
    for at in draw(st.lists(st.integers(1, 24), max_size=3)):
        if at < len(peers):
            state = draw(st.sampled_from(["missing", "dead"]))
            peers[at] = peers[at]._replace(state=state)
    comms = []
    for number in range(draw(st.integers(0, 3))):
        own = range(draw(st.integers(1, len(peers))))
        usual = Member(
            0, counts=tuple(draw(st.lists(st.integers(0, 9), min_size=5, max_size=5)))
        )
        members = [usual._replace(peer=peer) for peer in own]
        for at in draw(st.lists(st.integers(0, 24), max_size=4)):
            if 0 < at < len(members):
                members[at] = members[at]._replace(**draw(changes))
        comms.append(
            Comm((number + 1) << draw(st.sampled_from([0, 60])), tuple(members))
        )
    return State(tuple(peers), tuple(comms), draw(st.integers(0, 2)))


changes = st.fixed_dictionaries(
    {},
    optional={
        "init": st.sampled_from([0, 0, 7, 2, 6]),
        "later": st.sampled_from([0, 0, 7, 6, 1]),
        "finalized": st.booleans(),
        "aborted": st.booleans(),
        "left": st.booleans(),
        "counts": st.tuples(*[st.integers(0, 9)] * 5),
    },
)


def told(report: RasReport) -> dict[str, dict[str, dict[object, int]]]:
    """Return how many ranks of each communicator have which value, where they differ."""
    return {
        comm.hash: {
            spread.subject: {share.value: share.count for share in spread.shares}
            for spread in comm.spreads
        }
        for comm in report.comms
        if comm.spreads
    }


@settings(max_examples=100, deadline=None)
@given(states(), st.booleans())
def test_text_and_json_come_to_the_same(state: State, verbose: bool) -> None:
    said = as_text(state, verbose=verbose)
    text, data = read_ras(said), read_ras(as_json(state))
    assert is_ras(said[:512])
    assert text.is_complete
    assert told(text) == told(data)
    assert (text.missing, text.dead) == tuple(
        sum(each.state == kind for each in state.peers) for kind in ("missing", "dead")
    )
    known = {comm.hash: comm for comm in data.comms}
    for comm in text.comms:
        other = known[comm.hash]
        assert comm.size == other.size
        assert comm.failed == other.failed
        whole = {each.rank: each for each in other.ranks}
        for rank in comm.ranks:  # who is named, is named as JSON names him
            same = whole[rank.rank]
            assert (rank.host, rank.pid) == (same.host, same.pid)
            assert bool(rank.error) <= bool(same.error)  # of two, either is told
            assert rank.counts.items() <= same.counts.items()
    named = {
        (each.comm.hash, each.operation, each.share.value) for each in laggards(text)
    }
    assert named == {
        (each.comm.hash, each.operation, each.share.value) for each in laggards(data)
    }
    for each in laggards(text):
        if each.share.count == 1:
            assert len(each.share.ranks) == 1


@settings(max_examples=100, deadline=None)
@given(states(), st.integers(0, 4000))
def test_a_part_of_a_text_names_nobody_who_is_not_behind(
    state: State, end: int
) -> None:
    said = as_text(state, verbose=True)
    part, whole = read_ras(said[: 60 + end]), read_ras(said)
    known = {
        (each.comm.hash, each.operation, each.share.value) for each in laggards(whole)
    }
    assert {
        (each.comm.hash, each.operation, each.share.value) for each in laggards(part)
    } <= known
