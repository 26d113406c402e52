"""One rank does, several do: what is said agrees with whom it is said of."""

from __future__ import annotations

import re

import pytest
from checking import check
from jobs import Job, text

from envcfg.log.numbers import said_of
from envcfg.log.verdict import LogReport
from envcfg.report.log.log_text import log_lines

SAID = [
    (1, "use TCP sockets", "uses TCP sockets"),
    (2, "use TCP sockets", "use TCP sockets"),
    (1, "do not show their network", "does not show its network"),
    (1, "do not show how many NICs they have", "does not show how many NICs it has"),
    (1, "do not show whether they have GPU RDMA", "does not show whether it has GPU RDMA"),
    (3, "do not show whether they have GPU RDMA", "do not show whether they have GPU RDMA"),
    (1, "send over eth0", "sends over eth0"),
    (1, "see 2 of 4 NICs", "sees 2 of 4 NICs"),
    (1, "lost the plugin", "lost the plugin"),
    (1, "use sockets while 1 other does not", "uses sockets while 1 other does not"),
]  # fmt: skip


def shown(report: LogReport) -> str:
    return "".join(f"{line}\n" for line, _ in log_lines(report))


@pytest.mark.parametrize(("count", "detail", "expected"), SAID)
def test_a_verb_agrees_with_the_count(count: int, detail: str, expected: str) -> None:
    assert said_of(count, detail) == expected


TWICE = text(Job(ranks_per_node=1, fallen=frozenset({1}))) + text(
    Job(ranks_per_node=1, fallen=frozenset({1}), seed=1)
)
# One rank, several ranks, one rank in two processes: the job was started twice.
LOGS = {
    "one": text(Job(ranks_per_node=1, fallen=frozenset({1}))),
    "all": text(Job(fallen=frozenset(range(16)))),
    "one twice": TWICE,
    "one twice, not all shown": "".join(
        line for line in TWICE.splitlines(True) if "NET/" not in line or ":0:" in line
    ),
    "not shown": re.sub(r".*(NET/|via|Channel).*\n", "", text(Job(ranks_per_node=1))),
}
DISAGREES = re.compile(
    r"\brank \d+(?: \([^)]*\))?:? (?:do|use|have|see|send|are)\b"
    r"|\brank \d+ \w+ [^.;\n]*\b(?:their|they)\b"
    r"|\branks \d+[-,][-,\d]*(?: \([^)]*\))?:? (?:does|uses|has|sees|sends|is)\b"
    r"|\b1 (?:ranks|processes|nodes|lines|files)\b"
    r"|\bNCCL no "
)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize(
    "expected", [{}, {"gdr": True}, {"nics": 4}, {"provider": "cxi"}], ids=str
)
def test_a_report_says_of_one_rank_what_one_does(
    name: str, expected: dict[str, object]
) -> None:
    report = shown(check(LOGS[name], **expected))
    for line in re.sub(r"\n    +", " ", report).splitlines():
        assert not DISAGREES.search(line), line


def test_a_rank_of_two_processes_is_one_rank() -> None:
    report = shown(check(LOGS["one twice"]))
    assert "rank 1 (nid001002): uses TCP sockets" in report
    hidden = shown(check(LOGS["one twice, not all shown"], gdr=True))
    assert re.search(r"rank \d does not show", hidden)
