"""Lists of nodes in short form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.nodes.preflight.node_list import fold_nodes
from envcfg.nodes.probe.node_answer import job_name


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["login"], "login"),
        (["nid001000"], "nid001000"),
        (["nid001001", "nid001000"], "nid[001000-001001]"),
        (["n9", "n10", "n11"], "n[10-11],n9"),
        (["n09", "n10", "n12", "n13"], "n[09-10,12-13]"),
        (["a1", "b1", "a1"], "a1,b1"),
        (["x1000c0s0b0n0", "x1000c0s0b0n1"], "x1000c0s0b0n[0-1]"),
    ],
)
def test_names_are_folded(names: list[str], folded: str) -> None:
    assert fold_nodes(names) == folded


def unfolded(text: str) -> list[str]:
    found = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        head, _, ranges = part.partition("[")
        for each in ranges.rstrip("]").split(",") if ranges else [""]:
            first, _, last = each.partition("-")
            numbers = range(int(first or 0), int(last or first or 0) + 1)
            found += [f"{head}{n:0{len(first)}}" if first else head for n in numbers]
    return found


NAME = st.from_regex(r"[a-z]{1,2}[0-9]{0,3}", fullmatch=True)


@given(st.sets(NAME))
def test_what_is_folded_names_the_same_nodes(names: set[str]) -> None:
    assert sorted(unfolded(fold_nodes(names))) == sorted(names)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("n1", "n1"),
        ("n1.site.org", "n1"),
        ("n2", "n2.hsn.site.org"),
        ("n3", "n3"),
    ],
)
def test_a_node_goes_by_the_name_that_the_job_has_for_it(host: str, name: str) -> None:
    assert job_name(host, ("n1", "n2.hsn.site.org")) == name
