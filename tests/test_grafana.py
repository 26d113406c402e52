"""The dashboard of examples/grafana: by Grafana's own types, and only with our metrics."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from envcfg.common.datafile import load_yaml
from support import ROOT

DASHBOARD = json.loads((ROOT / "examples/grafana/envcfg-jobs.json").read_text())
NAMES = load_yaml(str(ROOT / "envcfg/report/metrics.yaml"))
PANELS = DASHBOARD["panels"]


def queries() -> Iterator[str]:
    for panel in PANELS:
        yield from (target["expr"] for target in panel["targets"])
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def test_every_metric_is_written_and_nearly_every_one_is_shown() -> None:
    used = {name for query in queries() for name in re.findall(r"\benvcfg_\w+", query)}
    assert used - {*NAMES} == set()
    assert {*NAMES} - used == {"envcfg_node_gpus"}


def test_every_metric_of_the_list_is_written_by_the_code() -> None:
    places = ("commands/step_metrics.py", "report/metrics.py")
    code = "".join((ROOT / "envcfg" / place).read_text() for place in places)
    for name in NAMES:
        stem = name.removeprefix("envcfg_")
        written = {f'"{name}"', f'"{stem}"'}
        if stem in ("node_bad", "node_finding"):
            written = {'f"envcfg_node_{name}"'}
        assert any(word in code for word in written), name


def test_panels_do_not_overlap_and_have_a_title() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        grid = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        assert panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def lost(value: Any, back: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """Yield the places of *value* that *back* does not have."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in back:
                yield f"{path}/{key}"
            else:
                yield from lost(part, back[key], f"{path}/{key}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from lost(part, back[number], f"{path}/{number}")
    elif value != back:
        yield path


if sys.version_info >= (3, 11):  # older ones cannot install Grafana's package

    def test_grafanas_own_types_know_every_key() -> None:
        dashboard = pytest.importorskip("grafana_foundation_sdk.models.dashboard")
        from grafana_foundation_sdk.cog import plugins
        from grafana_foundation_sdk.cog.encoder import JSONEncoder

        plugins.register_default_plugins()
        read = dashboard.Dashboard.from_json(DASHBOARD)
        back = json.loads(JSONEncoder(sort_keys=True).encode(read))
        assert [*lost(DASHBOARD, back)] == []
        wrong = {**DASHBOARD, "panls": []}
        back = json.loads(JSONEncoder().encode(dashboard.Dashboard.from_json(wrong)))
        assert [*lost(wrong, back)] == ["/panls"]
