"""Launchers and services put things in front of lines; none of it changes the answer."""

from __future__ import annotations

import pytest
from checking import check
from jobs import WRAPPERS, Job, text
from wrappers import QUOTES

from suites import mark_sample

DROPS_LINES = {"ray-repeated"}


@pytest.mark.parametrize("dialect", ["rccl-2.21", "nccl-2.27", "nccl-2.12"])
@pytest.mark.parametrize("wrapper", mark_sample(WRAPPERS, every=3))
def test_wrapper(wrapper: str, dialect: str) -> None:
    good = check(text(Job(dialect=dialect), wrapper))
    fallen = check(text(Job(dialect=dialect, fallen=frozenset({1})), wrapper))
    if wrapper in QUOTES:
        # A quote may come from another job, but a fault in it is a fault to look at.
        assert (good.verdict, fallen.verdict) == ("inconclusive", "degraded")
        assert "quoted" in good.summary
        assert "nid001002" in fallen.summary
        return
    if wrapper in DROPS_LINES:
        assert good.verdict == "inconclusive"
        assert any("RAY_DEDUP_LOGS" in each.remedy for each in good.unknowns)
    else:
        assert good.verdict == "ok", good.summary
        assert good.job.ranks_seen == tuple(range(16))
    assert fallen.verdict == "degraded", fallen.summary
    assert "nid001002" in fallen.summary


@pytest.mark.parametrize(
    "wrappers",
    [("default", "srun-node"), ("rank", "iso"), ("srun", "pdsh"), ("trainer", "json")],
)
def test_wrapper_in_a_wrapper(wrappers: tuple[str, ...]) -> None:
    report = check(text(Job(), *wrappers))
    assert (report.verdict, report.job.ranks_seen) == ("ok", tuple(range(16))), (
        report.summary
    )
