"""An image without the plug-in for its system's network: a warning, and no slow job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from imaging import SYSTEM, Image
from support import Wrap

LUMI, EFA, SLINGSHOT, FRONTIER = "lumi-g", "aws-p5", "setonix", "frontier"
FORCED = "AWS Libfabric"
MISSING, UNKNOWN = "image-without-plugin", "image-plugin-unknown"


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Image(tmp_path / "root")
    made.base()
    made.library(f"{SYSTEM}/librccl.so.1", words="RCCL version : 2.22.3")
    made.library(f"{SYSTEM}/libnccl.so.2", words="NCCL version 2.21.5+cuda12.4")
    return made


def plan(
    wrap: Wrap, image: Image | str, profile: str, *options: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the cases of NCCL_NET, and the severity of each finding on the plug-in."""
    name = image if isinstance(image, str) else str(image.root)
    words = ("--profile", profile, "--container", name, "--runtime", "apptainer")
    done = wrap(*words, "--json", *options, "--", "python3", "train.py")
    assert done.code == 0, done.err
    document = json.loads(done.text)
    cases = next(
        (e["branches"] for e in document["settings"] if e["name"] == "NCCL_NET"), []
    )
    findings = {
        finding["rule"]: finding["severity"]
        for finding in document["findings"]
        if "plugin" in finding["rule"]
        or finding["message"].startswith("depends on plug")
    }
    return {case["value"]: case["when"] for case in cases}, findings


@pytest.mark.parametrize("profile", [LUMI, EFA, SLINGSHOT])
def test_a_job_of_several_nodes_fails_instead_of_running_slowly(
    profile: str, wrap: Wrap, image: Image
) -> None:
    cases, findings = plan(wrap, image, profile, "--fact", "nodes=4")
    assert (cases, findings) == ({FORCED: []}, {MISSING: "warning"})
    cases, findings = plan(wrap, image, profile)  # decided in the job
    assert cases[FORCED] == ["nodes > 1"]
    assert findings == {MISSING: "warning"}


@pytest.mark.parametrize("profile", [LUMI, EFA, SLINGSHOT])
def test_one_node_needs_no_plugin(profile: str, wrap: Wrap, image: Image) -> None:
    cases, findings = plan(wrap, image, profile, "--fact", "nodes=1")
    assert FORCED not in cases
    assert findings.keys() <= {"fact-unknown"}


@pytest.mark.parametrize("value", ["Socket", "SOCKET"])
def test_who_asks_for_sockets_gets_them(value: str, wrap: Wrap, image: Image) -> None:
    words = ("--fact", "nodes=4", "--set", f"NCCL_NET={value}")
    assert plan(wrap, image, LUMI, *words) == ({value: []}, {})


def test_a_variable_that_is_taken_away_stays_away(wrap: Wrap, image: Image) -> None:
    cases, findings = plan(wrap, image, LUMI, "--unset", "NCCL_NET")
    assert (FORCED not in cases, findings) == (True, {MISSING: "warning"})


def test_a_profile_that_forces_the_plugin_keeps_its_value(
    wrap: Wrap, image: Image
) -> None:
    cases, findings = plan(wrap, image, FRONTIER, "--fact", "nodes=4")
    assert (cases, findings) == ({FORCED: []}, {MISSING: "warning"})


def test_a_plugin_in_the_image_is_enough(wrap: Wrap, image: Image) -> None:
    for name in ("librccl-net", "libnccl-net"):
        image.library(f"{SYSTEM}/{name}.so", words="Initializing aws-ofi-nccl 1.16.2")
    assert plan(wrap, image, LUMI, "--fact", "nodes=4") == ({}, {})


def test_a_plugin_of_another_network_is_not_taken_for_this_one(
    wrap: Wrap, image: Image
) -> None:
    image.library(f"{SYSTEM}/librccl-net.so", symbols=("ncclNetPlugin_v8",))
    assert plan(wrap, image, LUMI, "--fact", "nodes=4") == ({}, {UNKNOWN: "note"})


@pytest.mark.parametrize(
    "option",
    [
        ("--bind", "/opt/aws-ofi-rccl:/opt/plugin"),
        ("--set", "LD_LIBRARY_PATH=/opt/plugin"),
        ("--module", "rccl-net-plugin"),
    ],
)
def test_a_plugin_that_may_come_from_the_host_is_unknown(
    option: tuple[str, str], wrap: Wrap, image: Image
) -> None:
    words = ("--fact", "nodes=4", *option)
    assert plan(wrap, image, LUMI, *words) == ({}, {UNKNOWN: "note"})


def test_an_image_that_was_not_read_is_unknown(wrap: Wrap, image: Image) -> None:
    several = ("--fact", "nodes=4")
    for name, options in ((image, ["--no-inspect"]), ("docker://x/y:1", [])):
        assert plan(wrap, name, LUMI, *several, *options)[1] == {UNKNOWN: "note"}
    words = (*several, "--fact", "plugin=1.16.2", "--no-inspect")
    assert plan(wrap, image, LUMI, *words) == ({}, {})


def test_without_nccl_there_is_nothing_to_say(wrap: Wrap, image: Image) -> None:
    for name in ("librccl.so.1", "libnccl.so.2"):
        (image.root / SYSTEM / name).unlink()
    assert plan(wrap, image, LUMI, "--fact", "nodes=4") == ({}, {})


def test_a_network_that_nccl_speaks_itself_needs_none(wrap: Wrap, image: Image) -> None:
    words = ("--fact", "nodes=4")
    assert plan(wrap, image, "leonardo", *words) == ({}, {})
