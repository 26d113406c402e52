"""Which rules of lint count, from envcfg.toml: select, ignore, and ignores for files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from envcfg.common.toml_document import parse_toml
from support import ROOT, envcfg

# EC101 in line 3, EC419 in line 4.
BAD = "#!/bin/bash\n#SBATCH --nodes=2\nexport RANK=$SLURM_PROCID\nexport MASTER_PORT=29500\nsrun python train.py\n"
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs/envcfg.toml.json").read_text()))


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ENVCFG_PROFILE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "clone"
    (folder / "tests").mkdir(parents=True)
    for name in ("job.sh", "tests/job.sh", "tests/other.sh"):
        (folder / name).write_text(BAD)
    monkeypatch.chdir(folder)
    return folder


def rules(*words: str) -> dict[str, set[str]]:
    """Return the rules that lint finds, by the file as it was given."""
    done = envcfg("lint", "--json", *words)
    assert done.code in {0, 1}, done.err
    checked = json.loads(done.text)["checked"]
    return {row["name"]: {f["rule"] for f in row["findings"]} for row in checked}


def write(folder: Path, text: str) -> None:
    (folder / "envcfg.toml").write_text(text)
    assert SCHEMA.is_valid(parse_toml(text.encode(), "envcfg.toml"))


BOTH = {"EC101", "EC419"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[lint]\nselect = ["EC1"]\n', {"EC101"}),
        ('[lint]\nselect = "EC1,EC4"\n', BOTH),
        ('[lint]\nignore = ["EC419"]\n', {"EC101"}),
        ('lint.ignore = "port,EC101"\n', set()),
        ('lint = {ignore = ["EC419", "EC1"]}\n', set()),
        ('[lint]\nselect = ["EC1", "EC4"]\nignore = ["EC101"]\n', {"EC419"}),
    ],
)
def test_a_file_of_defaults_chooses_rules(
    clone: Path, text: str, expected: set[str]
) -> None:
    assert rules("job.sh")["job.sh"] >= BOTH
    write(clone, text)
    assert rules("job.sh")["job.sh"] & BOTH == expected
    assert rules("--no-default=all", "job.sh")["job.sh"] >= BOTH


def test_the_command_line_replaces_select_and_adds_to_ignore(clone: Path) -> None:
    write(clone, '[lint]\nselect = ["EC1"]\nignore = ["EC419"]\n')
    assert rules("--select", "EC4", "job.sh")["job.sh"] == set()
    (clone / "envcfg.toml").write_text('[lint]\nselect = ["EC1"]\n')
    assert rules("--select", "EC4", "job.sh")["job.sh"] == {"EC419"}
    assert rules("--ignore", "EC101", "job.sh")["job.sh"] == set()


def test_each_default_of_lint_is_said_and_shown(clone: Path) -> None:
    write(clone, '[lint]\nignore = ["EC419"]\n')
    done = envcfg("lint", "job.sh")
    path = clone / "envcfg.toml"
    assert f"by default: --ignore=EC419 ({path}:2)" in done.err
    assert "--no-default ignore leaves it out" in done.err
    assert rules("--no-default", "ignore", "job.sh")["job.sh"] >= BOTH
    shown = envcfg("doctor").text
    assert re.search(rf"lint\.ignore +{path}:2, in force", shown)
    assert (
        "default"
        not in envcfg("wrap", "--profile=workstation", "--container=none").text
    )


def test_fix_leaves_what_is_ignored(clone: Path) -> None:
    text = (
        "#!/bin/bash\n#SBATCH --nodes=1\nexport A=$(SLURM_NPROCS)\nsrun python t.py\n"
    )
    (clone / "job.sh").write_text(text)
    write(clone, '[lint]\nignore = ["EC104"]\n')
    envcfg("lint", "--fix", "job.sh")
    assert (clone / "job.sh").read_text() == text
    (clone / "envcfg.toml").unlink()
    assert "job.sh: mended EC104" in envcfg("lint", "--fix", "job.sh").err


WRONG = {
    "lint = 1\n": "envcfg.toml:1:1: lint: takes a table",
    '[lint]\nselct = "EC1"\n': "envcfg.toml:2:1: lint.selct: there is no option",
    "[lint]\nselect = 1.5\n": "there is no rule '1.5'",
    '[lint]\nselect = [["EC1"]]\n': "lint.select: takes a text or a number, not a list",
    '[lint]\nignore = "EC999"\n': "there is no rule 'EC999'",
    "[lint]\nignore = true\n": "lint.ignore: takes a text or a number, not true or false",
    'select = "EC1"\n': "select: there is no option of this name",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said(clone: Path, text: str) -> None:
    (clone / "envcfg.toml").write_text(text)
    done = envcfg("lint", "job.sh")
    assert (done.code, WRONG[text] in done.err) == (2, True), done.err


def test_options_of_a_step_do_not_change_the_rules(clone: Path) -> None:
    write(clone, 'setup = "s.sh"\n[lint]\nignore = "EC419"\n')
    assert rules("job.sh")["job.sh"] & BOTH == {"EC101"}


@pytest.mark.parametrize(
    "name", ["EC101", "EC1", "rank-var-in-batch-shell", "rank-var"]
)
def test_what_is_taken_as_the_beginning_of_a_name_chooses_rules(
    clone: Path, name: str
) -> None:
    assert "EC101" in rules("--select", name, str(clone / "job.sh")).popitem()[1]
    assert "EC101" not in rules("--ignore", name, str(clone / "job.sh")).popitem()[1]
