"""What the README promises is so."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from envcfg.commands import ALIASES
from support import ROOT, bash, envcfg

README = (ROOT / "README.md").read_text()
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = [
    shlex.split(found[1])
    for path in DOCS
    for found in re.finditer(
        r"(?:\$ |<\(|^)(envcfg (?:wrap|job(?=.* --account)) [^\n)]*?)(?: \|\| echo exit \$\?\))?$",
        path.read_text(),
        re.M,
    )
    # test_idiom.py sources arrays; only a shell replaces $USER.
    if "[@]" not in found[1] and "$USER" not in found[1]
]


def test_it_is_short_and_its_picture_is_there() -> None:
    assert len(README.splitlines()) <= 130
    assert (ROOT / "docs/images/readme.svg").exists()


def test_its_first_command_prints_its_first_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command, answer = re.findall(r"(?m)^\$ envcfg (.*)\n(.+)$", README)[0]
    monkeypatch.chdir(ROOT)
    assert envcfg(*shlex.split(command)).text.partition("\n")[0] == answer


def test_its_scripts_name_an_account() -> None:
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", README, re.S)
    assert "#SBATCH --account=" in script


def test_it_counts_the_profiles_as_the_list_of_systems_does() -> None:
    rows = (ROOT / "docs/systems/index.md").read_text().count("\n| [")
    assert re.findall(r"(\d+) (?:systems|profiles)", README) == [str(rows)] * 2


def test_each_list_has_the_same_commands_and_aliases_have_a_line() -> None:
    page, shown = (ROOT / "docs/command-line.md").read_text(), envcfg("--help-all").text
    table = README.partition("## Commands\n")[2].partition("\n## ")[0]
    rows = [row for row in table.splitlines() if " job |" in row]
    names = re.findall(r"`([a-z-]+)`", "".join(rows))
    assert len(names) == 15
    assert re.findall(r"(?m)^\| `envcfg ([a-z-]+)` \|", page) == names
    assert (
        re.findall(r"(?m)^  ([a-z][a-z-]*)  +[a-z]", shown.partition("examples:")[0])
        == names
    )
    for text in (page, shown, envcfg("job", "--help-all").text):
        for alias in ALIASES:
            assert f"envcfg {alias}" in text


def test_the_two_commands_are_there_and_ci_calls_the_second() -> None:
    for name in ("demo", "test"):
        assert f"$ ./scripts/{name}\n" in README
        assert (ROOT / "scripts" / name).stat().st_mode & 0o111
    assert 'exec ./scripts/test "$@"\n' in (ROOT / ".ci/run").read_text()


def test_commands_are_found() -> None:
    assert len(COMMANDS) >= 6


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_works(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "lumi")
    begun = (
        "mymachine",
        "--extends",
        "slingshot-cuda",
        "--blank",
        "-o",
        "mymachine.yaml",
    )
    assert envcfg("profiles", "new", *begun).code == 0
    done = envcfg(*command[1:])
    assert done.code == 0, done.err


SOURCED = [
    line
    for path in (
        *DOCS,
        ROOT / "envcfg/commands/wrap.py",
        *(ROOT / "examples").glob("*.sbatch"),
    )
    if path.name not in {"EC141.md", "EC742.md"}  # whose samples are what must not be
    for line in path.read_text().splitlines()
    if line.strip().startswith("source <(envcfg ")
    and r"\$" not in line  # Groovy, of which Nextflow makes bash: tests/cluster runs it
]


def test_no_line_of_a_job_goes_on_where_envcfg_is_absent() -> None:
    assert SOURCED[0] in README
    assert len(SOURCED) >= 8
    for line in SOURCED:
        whole = line if line.endswith(")") else line.rstrip("\\") + "|| echo exit $?)"
        for before in ("", "set -euo pipefail; "):
            done = bash(f"{before}{whole}\necho goes on", PATH="/usr/bin:/bin")
            assert (done.returncode, done.stdout) == (127, b""), whole
            assert b"envcfg: command not found" in done.stderr


def test_links_lead_somewhere() -> None:
    for path in DOCS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / target).exists(), (path, target)


def test_exit_codes_are_those_of_the_help() -> None:
    for code in ("70 a bug", "130 interrupted", "2 wrong usage"):
        assert code in (ROOT / "docs/command-line.md").read_text()
        assert code in envcfg("--help").text


def test_each_symptom_has_its_ten_reasons() -> None:
    pages = [
        each
        for each in (ROOT / "docs/my-job").iterdir()
        if each.stem not in {"index", "use", "verify"}
    ]
    found = {each.stem: each.read_text().count("\n## ") for each in pages}
    symptoms = ["slow", "hangs", "dies", "refused", "cannot-find", "runs-out"]
    assert found == dict.fromkeys(symptoms, 10)


def test_the_demo_ends_well() -> None:
    text = (ROOT / "scripts/demo").read_text()
    lines = [
        line for line in text.splitlines() if not line.startswith(("cd ", "scripts/"))
    ]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.defpath}"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for words in (b"sum of all ranks is 1\n", b"\ndegraded: 4 of 8 ranks", b"2 errors"):
        assert words in done.stdout
