"""Versions of the scheduler are facts: what is said of a script depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from following import HEAD

from support import envcfg

SCRIPT = f"{HEAD}#SBATCH --cpus-per-task=7\nsrun python train.py\n"


@pytest.mark.parametrize(
    ("version", "code", "said"),
    [
        ("21.08", 0, ""),
        ("22.05", 1, "EC626"),
        ("23.02.7", 1, "EC626"),
        ("23.11", 0, ""),
        ("24.05.1", 0, ""),
        ("23", 0, "note"),
        (None, 0, "note"),
    ],
)
def test_cores_are_not_repeated_as_slurm_has_it(
    version: str | None, code: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "job.sh").write_text(SCRIPT)
    stated = ["--fact", f"slurm={version}"] if version else []
    done = envcfg("lint", "--select", "EC626", *stated, tmp_path / "job.sh")
    assert done.code == code
    assert said in done.text
    assert ("EC626" in done.text) == bool(said)


@pytest.mark.parametrize(("version", "code"), [("22.05.8", 1), ("24.11.0", 0)])
def test_slurm_of_this_machine_is_asked(
    version: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.sh").write_text(SCRIPT)
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\necho slurm-wlm {version}\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    done = envcfg("lint", "--select", "EC626", tmp_path / "job.sh")
    assert done.code == code


def test_a_wrong_fact_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(SCRIPT)
    done = envcfg("lint", "--fact", "slurm=new", tmp_path / "job.sh")
    assert done.code == 2
    assert "not a version" in done.err
