"""Faults that shellcheck finds, in the report of lint: real shellcheck, and stand-ins that fail."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from envcfg.lint import shellcheck
from support import envcfg

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --time=1:00:00\n"
FAULT = f"{HEAD}srun python train.py >train.log 2>1\n"
REAL = shutil.which("shellcheck")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(FAULT)
    return tmp_path


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH, before all others, for a program named shellcheck."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "bin/shellcheck"


def replace(program: Path, text: str, version: str = "0.9.0") -> None:
    program.write_text(
        f"#!/bin/bash\nif [[ $1 == --version ]]; then echo 'version: {version}'; exit; fi\n{text}\n"
    )
    program.chmod(0o755)


def rules(*words: str) -> list[tuple[str, int]]:
    """Return rule and line of each finding with a code of shellcheck, or without a rule."""
    done = envcfg("lint", "--json", *words)
    return [
        (finding["rule"], finding["place"]["line"])
        for checked in json.loads(done.text)["checked"]
        for finding in checked["findings"]
        if not finding["rule"].startswith("EC")
    ]


def test_a_code_is_a_finding_in_each_format() -> None:
    assert rules("job.sh") == [("SC2210", 4)]
    done = envcfg("lint", "job.sh")
    assert done.code == 1
    assert "job.sh:4:34: error: 2>1 writes a file with the name 1\n" in done.text
    [run] = json.loads(envcfg("lint", "--format", "sarif", "job.sh").text)["runs"]
    assert "SC2210" in [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert envcfg("explain", "SC2210").text.startswith("SC2210 file-named-one (error)")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--select", "SC"], [("SC2210", 4)]),
        (["--select", "file-named-one"], [("SC2210", 4)]),
        (["--select", "EC"], []),
        (["--ignore", "SC"], []),
        (["--ignore", "SC2210"], []),
    ],
)
def test_codes_are_selected_like_rules(
    words: list[str], expected: list[tuple[str, int]]
) -> None:
    assert rules("job.sh", *words) == expected


def test_a_code_that_is_off_needs_its_full_name(folder: Path) -> None:
    (folder / "job.sh").write_text(f"{HEAD}srun python train.py $DATA\n")
    assert rules("job.sh") == rules("job.sh", "--select", "SC") == []
    for name in ("SC2086", "unquoted-value"):
        assert rules("job.sh", "--select", name) == [("SC2086", 4)]


@pytest.mark.parametrize(
    "comment", ["# envcfg: ignore SC2210", "# shellcheck disable=SC2210"]
)
def test_a_comment_disables_a_code(folder: Path, comment: str) -> None:
    lines = FAULT.splitlines(keepends=True)
    (folder / "job.sh").write_text("".join([*lines[:3], f"{comment}\n", lines[3]]))
    assert rules("job.sh") == []


def test_one_process_reads_all_scripts_by_their_content(
    folder: Path, stand_in: Path
) -> None:
    replace(stand_in, f'echo run >>"{folder}/runs"\nexec {REAL} "$@"')
    for name in ("--norc.sh", "b c.sh", "c.sbatch"):
        (folder / name).write_text(FAULT)
    (folder / "d.zsh").write_text(FAULT.replace("/bash", "/zsh"))
    (folder / "e.sh").write_bytes(HEAD.encode() + b"srun python \xff train.py 2>1\n")
    (folder / ".shellcheckrc").write_text("disable=SC2210\n")
    assert rules(".") == [("SC2210", 4)] * 5
    assert (folder / "runs").read_text() == "run\n"


def test_a_sourced_file_is_not_read(folder: Path) -> None:
    (folder / "more.sh").write_text("$X=5\n")
    (folder / "job.sh").write_text(f"{HEAD}source more.sh\nsrun python train.py\n")
    assert rules("job.sh") == []


def test_columns_count_characters(folder: Path) -> None:
    (folder / "job.sh").write_text(f"{HEAD}srun python 'größe\t→' >a 2>1\r\n", "utf-8")
    found = json.loads(envcfg("lint", "--json", "job.sh").text)["checked"][0]
    [column] = [
        each["place"]["column"]
        for each in found["findings"]
        if each["rule"] == "SC2210"
    ]
    assert column == 27


def test_without_shellcheck_or_with_an_old_one_no_code_is_reported(
    folder: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(stand_in, "echo called >>runs", version="0.7.2")
    assert rules("job.sh") == []
    monkeypatch.setenv("PATH", str(folder / "nothing"))
    assert rules("job.sh") == []
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("exec sleep 600", "did not answer"),
        ("exec cat /dev/zero", "printed more than"),
        ("echo no memory >&2; exit 251", "no memory"),
        ("echo x", "its answer is not JSON"),
    ],
)
def test_a_shellcheck_that_fails_is_named(
    stand_in: Path, text: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shellcheck, "_SECONDS", 1)
    replace(stand_in, text)
    assert rules("job.sh") == [("part-not-read", 1)]
    assert why in envcfg("lint", "job.sh").text


def test_a_fault_of_both_is_reported_once(folder: Path) -> None:
    (folder / "job.sh").write_text(
        f"{HEAD}rsync --archive data/ \\\n  # the copy\n  --delete copy/\n"
    )
    done = envcfg("lint", "job.sh")
    assert ("EC763" in done.text, "SC2215" in done.text) == (True, False)
    assert rules("job.sh", "--select", "SC") == [("SC2215", 6)]
