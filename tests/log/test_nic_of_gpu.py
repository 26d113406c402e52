"""Ranks that use the NIC of another GPU, by the table of the profile and NCCL's own lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from checking import check

from envcfg.log.expectations import Expectations, expectations_of
from envcfg.log.verdict import LogReport
from envcfg.profile.catalog import Catalog

BUSES = ("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de")
NICS = ("hsn0", "hsn0", "hsn1", "hsn1", "hsn2", "hsn2", "hsn3", "hsn3")
TABLE = Expectations(attached=NICS, buses=BUSES)
OWN = dict(zip(range(8), (0, 0, 1, 1, 2, 2, 3, 3), strict=True))


def lines(
    nics: Mapping[int, int],
    *,
    network: str = "AWS Libfabric",
    found: int | None = 4,
    buses: Sequence[str] = BUSES,
    bracket: str = "{bus}000",
    proxy: str = "",
    more: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the log of two nodes with eight GPUs, whose ranks use *nics* by local rank."""
    for rank in range(16):
        local, node = rank % 8, rank // 8
        own = bracket.format(bus=buses[local], local=local)
        there = (rank + 8) % 16
        head = f"nid00100{node}:{700 + local}:{800 + local} [{local}] NCCL INFO"
        yield f"{head} NCCL version 2.18.3+hip6.2"
        yield f"{head} NET/OFI Initializing aws-ofi-rccl 1.4.0"
        if found is not None:
            yield f"{head} NET/OFI Selected Provider is cxi (found {found} nics)"
        for line in more:
            yield f"{head} {line}"
        yield f"{head} Using network {network}"
        bus = f"{buses[local]}000"
        yield (
            f"{head} comm 0x{rank + 1:x}0 rank {rank} nranks 16 cudaDev {local} nvmlDev {local} "
            f"busId {bus} commId 0xabc - Init START"
        )
        via = f"NET/{network}/{nics[local]}{proxy}/GDRDMA"
        yield f"{head} Channel 00/0 : {there}[{own}] -> {rank}[{own}] [receive] via {via} comm 0x{rank + 1:x}0 nRanks 16"
        yield f"{head} Channel 00/0 : {rank}[{own}] -> {there}[{own}] [send] via {via} comm 0x{rank + 1:x}0 nRanks 16"
        yield f"{head} Connected all rings"
        yield (
            f"{head} comm 0x{rank + 1:x}0 rank {rank} nranks 16 cudaDev {local} nvmlDev {local} "
            f"busId {bus} commId 0xabc - Init COMPLETE"
        )


def notes(report: LogReport) -> list[str]:
    return [each.message for each in report.findings if each.rule == "nic-of-other-gpu"]


def look(expect: Expectations = TABLE, **how: object) -> LogReport:
    nics = how.pop("nics", OWN)
    text = "\n".join(lines(nics, **how)) + "\n"  # type: ignore[arg-type]
    return check(text, **expect._asdict())


def test_ranks_with_their_own_nics_have_no_finding() -> None:
    report = look()
    assert notes(report) == []
    assert report.verdict == "ok"


def test_a_rank_with_the_nic_of_another_gpu_is_a_note() -> None:
    report = look(nics={**OWN, 1: 3, 6: 0})
    assert len(notes(report)) == 2
    one, other = sorted(notes(report))
    assert "use hsn0, and their GPU is attached to hsn3" in one
    assert "use hsn3, and their GPU is attached to hsn0" in other
    assert report.verdict == "ok"
    (finding,) = [f for f in report.findings if "hsn3, and" in f.message]
    assert finding.severity == "note"
    assert finding.evidence is not None
    assert "/3/GDRDMA" in finding.evidence.text
    assert "1,9" in f"{finding.subject} {finding.message}"


@pytest.mark.parametrize(
    "how",
    [
        {"expect": Expectations()},  # a system without a table
        {"proxy": "(6)"},  # PXN: the card of the rank in brackets
        {"found": 8},  # two names for each card: the numbers mean something else
        {"found": None},
        {"bracket": "{local}"},  # the number of a GPU that may be masked
        {"buses": ("11", "12", "13", "14", "15", "16", "17", "18")},
        {"nics": dict.fromkeys(range(8), 9)},
        {"more": ["NCCL_CROSS_NIC set by environment to 0."]},  # asked for
        {"network": "IB"},  # its numbers are not those of the table
        {"network": "Socket"},  # without a list of interfaces
    ],
)
def test_what_cannot_be_decided_is_no_finding(how: dict[str, object]) -> None:
    how.setdefault("nics", dict.fromkeys(range(8), 3))
    assert notes(look(**how)) == []  # type: ignore[arg-type]


def test_sockets_are_named_by_their_list() -> None:
    using = "NET/Socket : Using [0]hsn0:10.0.0.1<0> [1]hsn1:10.1.0.1<0> [2]hsn2:10.2.0.1<0> [3]hsn3:10.3.0.1<0>"
    how = {"network": "Socket", "more": [using], "found": None}
    assert notes(look(**how)) == []  # type: ignore[arg-type]
    (one,) = notes(look(nics={**OWN, 0: 2}, **how))  # type: ignore[arg-type]
    assert "use hsn2, and their GPU is attached to hsn0" in one


@pytest.mark.parametrize("name", ["lumi-g", "frontier"])
def test_the_table_is_that_of_the_profile(name: str, built_in: Catalog) -> None:
    expect = expectations_of(built_in.load(name))
    assert (expect.attached, expect.buses) == (NICS, BUSES)


def test_a_published_line_of_frontier_agrees_with_the_table(built_in: Catalog) -> None:
    """GCD 5 (d6) sends by card 2: hsn2."""
    expect = expectations_of(built_in.load("frontier"))
    table = dict(zip(expect.buses, expect.attached, strict=True))
    assert table["d6"] == "hsn2"
