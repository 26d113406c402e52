"""What nodes and ranks say may be anything: it is read, judged and shown all the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import HOSTS, WANTED

from envcfg.common.characters import one_line
from envcfg.nodes.preflight.collective import STAGES
from envcfg.nodes.preflight.preflight_judge import Answers, judge_all
from envcfg.nodes.preflight.preflight_lines import RankReader
from envcfg.nodes.preflight.progress import Limits, NodeProgress, RankProgress
from envcfg.nodes.probe.node_answer import NodeReader
from envcfg.report.preflight_report import preflight_json, preflight_lines

KEYS = ("memlock network device folder variable plugin end begin clock unmet "
        "absent torch lacks with pair multiply sum wrong failed").split()  # fmt: skip
WORD = st.one_of(
    st.sampled_from(
        [*HOSTS, "-", "yes", "no", "0", "1", "2", "-1", "nan", "inf", "1e999"]
    ),
    st.sampled_from(
        [
            "9" * 5000,
            "9" * 400,
            "1e-320",
            "\u00b2",
            "\x1b[2J",
            "\ud800",
            "up",
            "address",
            "cpu",
        ]
    ),
    st.text(max_size=8),
)
LINE = st.builds(
    lambda mark, host, key, words: " ".join([*mark, host, key, *words]),
    st.sampled_from([("envcfg-node",), ("envcfg-rank", "0"), ("envcfg-rank", "1")]),
    st.sampled_from([*HOSTS, "other", "a.b"]),
    st.sampled_from([*KEYS, *STAGES]),
    st.lists(WORD, max_size=5),
)


@given(st.lists(st.one_of(LINE, st.text(max_size=40)), max_size=30))
def test_no_line_can_break_it(lines: list[str]) -> None:
    nodes, ranks = NodeReader(HOSTS), RankReader(HOSTS)
    limits = Limits()
    progress = NodeProgress(HOSTS, limits, 0.0), RankProgress(limits, 0.0)
    for now, line in enumerate(lines):
        nodes.feed(line)
        ranks.feed(line)
        progress[0].deadline(nodes.answers, float(now))
        progress[1].deadline(ranks.answers, ranks.world, float(now))
    seen = Answers(nodes.answers, {}, ranks.answers, ranks.world, {}, 1, has_ranks=True)
    report = judge_all(WANTED, seen, needs_fast=True)
    for _, text in preflight_lines(report, WANTED, 1.0):
        assert one_line(text) or not text
    text = preflight_json(report, WANTED, 1.0)
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


MANY = ("9" * 400, "9" * 5000, "\u00b2", "-1", "0x9")


@pytest.mark.parametrize("number", MANY)
@pytest.mark.parametrize(
    "line",
    [
        "memlock {}",
        "folder no {} /tmp",
        "device {} /dev/x",
        "variable SLURM_GPUS_ON_NODE {}",
    ],
)
def test_a_number_that_is_none_stays_unknown(line: str, number: str) -> None:
    nodes = NodeReader(HOSTS)
    nodes.feed(f"envcfg-node {HOSTS[1]} memlock unlimited")
    nodes.feed(f"envcfg-node {HOSTS[0]} {line.format(number)}")
    for host in HOSTS:
        nodes.feed(f"envcfg-node {host} end")
    wanted = WANTED._replace(is_fast=True)
    report = judge_all(wanted, Answers(nodes.answers, {}), needs_fast=True)
    assert all(one_line(text) or not text for _, text in preflight_lines(report, wanted, 1.0))  # fmt: skip
    preflight_json(report, wanted, 1.0)
