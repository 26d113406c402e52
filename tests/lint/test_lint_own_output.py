"""Nothing that envcfg itself writes is a fault to it: all profiles, launchers and runtimes."""

from __future__ import annotations

from pathlib import Path

import pytest
from following import read_sources

from asking import NEEDED, asking
from envcfg.lint.lint_rule import load_rules
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_source import Sources
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from suites import FEW, mark_systems
from support import ROOT, envcfg

GOLDEN = sorted(
    [*(ROOT / "tests/golden").rglob("*.sh"), *(ROOT / "examples").glob("*.sbatch")]
)
CATALOG = Catalog([built_in_folder()])


def found(path: Path, profile: str | None = None) -> list[str]:
    sources = Sources()
    given = read_sources([str(path)], sources)
    system = CATALOG.load(profile) if profile else None
    result = judge(
        given, sources, rules=list(load_rules()), profile_of=lambda _: system
    )
    return [
        f"{r.finding.place}: {r.finding.rule}" for each in result.values() for r in each
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda each: each.stem)
def test_no_finding_on_what_we_write(path: Path) -> None:
    assert found(path) == []


@pytest.mark.parametrize("profile", mark_systems(NEEDED, FEW))
def test_no_finding_on_a_job_of_any_system(profile: str, tmp_path: Path) -> None:
    step = ("--container", "docker://a", "--", "python3", "train.py")
    done = envcfg("job", *asking(profile, 2), *step)
    assert done.code == 0, done.err
    (tmp_path / "job.sh").write_bytes(done.out)
    remarks = found(tmp_path / "job.sh", profile)
    # The user chose an image of a registry, which nodes without internet cannot reach.
    assert [each for each in remarks if not each.endswith(" EC759")] == []
