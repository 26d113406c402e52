"""``inspect`` names versions that are known not to go together, with the profile's settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from imaging import Image
from support import envcfg


@pytest.fixture
def image(tmp_path: Path) -> Image:
    made = Image(tmp_path / "root")
    made.text("usr/bin/env", "")
    return made


def rules(image: Image, *options: str) -> set[str]:
    done = envcfg("inspect", "--json", *options, str(image.root))
    assert done.code in {0, 1}, done.err
    return {each["rule"] for each in json.loads(done.text)["findings"]}


def test_versions_that_fail_together_are_named(image: Image) -> None:
    labels = {"org.envcfg.plugin": "1.17.2", "org.envcfg.nccl": "2.28.9"}
    image.text(".singularity.d/labels.json", json.dumps(labels))
    assert "stack-nccl-ofi-2.28.9" in rules(image)


def test_what_the_profile_sets_counts(image: Image) -> None:
    image.text(".singularity.d/Singularity", "From: lumi-multitorch-x.sif\n")
    image.text("opt/rocm/.info/version", "7.0.2\n")
    found = rules(image, "--profile", "lumi-g")
    assert not any(each.startswith("stack-") for each in found)
