"""How good the word for each value of the profiles is, and what no profile needs to say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from envcfg.profile.evidence import DEFAULT, defaults, evidence, evidence_of
from envcfg.profile.folders import built_in_folder
from support import envcfg

FILES = sorted(Path(built_in_folder()).glob("*.yaml"))


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (
            "https://github.com/eth-cscs/cscs-docs (commit 80abed1 of 2026-08-20, a.md)",
            "site",
        ),
        (
            "https://github.com/NVIDIA/nccl (commit 80abed1 of 2026-08-20, a.cc)",
            "vendor",
        ),
        ("https://github.com/BLAST-WarpX/warpx (commit 80abed1, a.rst)", "users"),
        ("https://docs.lxp.lu/first-steps/; https://gist.github.com/a/1", "site"),
        ("https://docs.lxp.lu/first-steps/, as a user keeps it", "users"),
        ("https://docs.nersc.gov/jobs/policy/ (as users' tools keep it)", "users"),
        ("https://gist.github.com/surak/5f3f236616e5db48f19d31df457b4350", "users"),
        ("scripts of several users on GitHub (Snellius, gpu_h100)", "users"),
        ("measured here: four nodes on 2026-11-20", "measured"),
        ("run: nccl-tests on two nodes", "measured"),
        ("https://example.org/whoever", ""),
    ],
)
def test_a_source_tells_whose_word_it_is(source: str, kind: str) -> None:
    assert evidence(source) == kind


def entries(node: object) -> Iterator[str]:
    """Yield every source below a node of YAML."""
    if isinstance(node, dict):
        if isinstance(node.get("source"), str):
            yield node["source"]
        for each in node.values():
            yield from entries(each)
    elif isinstance(node, list):
        for each in node:
            yield from entries(each)


def test_every_source_of_the_profiles_is_known() -> None:
    sources = {
        source
        for file in FILES
        for source in entries(yaml.safe_load(file.read_text(encoding="utf-8")))
    }
    own = {"envcfg", "scripts/demo"}  # a profile without a system
    unknown = [each for each in sorted(sources - own) if not evidence(each)]
    assert unknown == [], "name their owner or host in knowledge/evidence.yaml"


def test_a_value_that_its_library_takes_anyway_is_told_as_that() -> None:
    assert defaults("NCCL_NET_GDR_C2C") == {"1"}
    source = "https://github.com/NVIDIA/nccl (commit 80abed1 of 2026-08-20, a.cc)"
    assert evidence_of("env", "NCCL_NET_GDR_C2C", "1", source) == DEFAULT
    assert evidence_of("env", "NCCL_NET_GDR_C2C", "0", source) == "vendor"
    assert evidence_of("env", "NOBODY_KNOWS", "0", source) == "vendor"


def test_profiles_set_no_default_without_saying_why() -> None:
    needless = []
    for file in FILES:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name, entry in (data.get("env") or {}).items():
            for case in (entry or {}).get("cases", [entry or {}]):
                value = case.get("value")
                taken = value is not None and str(value) in defaults(name)
                if taken and "default" not in case["why"]:
                    needless.append(f"{file.stem} {name}")
    assert needless == []


def test_show_says_whose_word_each_value_is() -> None:
    shown = " ".join(envcfg("profiles", "show", "alps-clariden").text.split())
    assert "(site), 20" in shown
    assert "(vendor), 20" in shown


def test_a_weak_value_names_its_source_in_the_script() -> None:
    step = ("--container", "none", "--", "python", "-c", "1")
    script = envcfg("wrap", "--profile", "tuolumne", *step).text
    text = re.sub(r"\s*\n *# ", " ", script)
    weak = r"\(by users: https://github.com/\S+, \d{4}-\d\d-\d\d\) \[profiles/tuolumne"
    assert re.search(weak, text)
    # A value of the vendor has no such remark.
    assert "completion queue [profiles/slingshot.yaml:" in text


@pytest.mark.parametrize(
    ("system", "request_text", "limit"),
    [
        ("perlmutter", "-n 4 -c 64 -C gpu", "is 128"),
        ("dardel", "-p gpu --mem=900G", "is 456G"),
        ("horeka", "-p accelerated --mem-per-cpu=900G", "is 497500M"),
    ],
)
def test_lint_names_the_source_of_a_weak_limit(
    system: str, request_text: str, limit: str, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    head = f"#!/bin/bash\n#SBATCH --nodes=1 {request_text} --gpus-per-node=4\n"
    script.write_text(f"{head}srun python train.py\n")
    said = envcfg("lint", "--profile", system, "--select", "EC628", str(script)).text
    text = " ".join(said.split())
    assert re.search(rf"\(by users: http\S+, \d{{4}}-\d\d-\d\d\) {limit}", text), text
