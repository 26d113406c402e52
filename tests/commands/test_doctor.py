"""``envcfg doctor``: the environment for a bug report, with real programs on PATH."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from schemas import errors
from support import envcfg

Fact = Mapping[str, str]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, a project folder and a PATH of their own; returns their parent."""
    for name in ("home", "project", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def program(bare: Path, name: str, text: str) -> None:
    path = bare / "bin" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def examined(code: int) -> list[Fact]:
    done = envcfg("doctor", "--json")
    assert (done.code, done.err) == (code, "")
    assert errors("doctor", done.text) == []
    document = json.loads(done.text)
    facts: list[Fact] = document["facts"]
    assert document["problems"] == sum(fact["state"] == "problem" for fact in facts)
    return facts


def problems(facts: list[Fact]) -> list[str]:
    return [fact["value"] for fact in facts if fact["state"] == "problem"]


def values(facts: list[Fact], part: str) -> dict[str, str]:
    return {fact["name"]: fact["value"] for fact in facts if fact["part"] == part}


@pytest.mark.usefixtures("bare")
def test_a_laptop_without_programs_has_no_problem() -> None:
    facts = examined(code=0)
    assert values(facts, "scheduler") == {"program": "", "this is a job of": ""}
    assert values(facts, "runtimes") == {"program": ""}


def test_each_program_is_asked_for_its_version(bare: Path) -> None:
    program(bare, "sbatch", "echo slurm 25.05.3")
    program(bare, "apptainer", "echo apptainer version 1.4.5; echo more")
    program(bare, "podman", "echo 'cannot open the store' >&2; exit 125")
    facts = examined(code=1)
    assert values(facts, "scheduler")["Slurm"] == f"{bare}/bin/sbatch: slurm 25.05.3"
    runtimes = values(facts, "runtimes")
    assert runtimes["apptainer"] == f"{bare}/bin/apptainer: apptainer version 1.4.5"
    assert problems(facts) == [f"{bare}/bin/podman: cannot open the store"]


def test_a_program_that_hangs_is_a_problem_and_ends(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVCFG_SCHEDULER_SECONDS", "1")
    program(bare, "sbatch", "exec /bin/sleep 60")
    (problem,) = problems(examined(code=1))
    assert "did not answer" in problem


@pytest.mark.usefixtures("bare")
def test_the_system_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "lumi")
    facts = examined(code=0)
    system = values(facts, "system")
    assert system["cluster"] == "lumi"
    assert system["profile"].startswith("lumi-g: ")


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ('profile = "lumi-g"\n', 0o666, "project/envcfg.toml: everybody may write it"),
        ("profile = \n", 0o644, "project/envcfg.toml:1:"),
    ],
)
def test_a_file_of_settings_that_does_not_count_is_a_problem(
    bare: Path, text: str, mode: int, message: str
) -> None:
    (bare / "project/envcfg.toml").write_text(text)
    (bare / "project/envcfg.toml").chmod(mode)
    (problem,) = problems(examined(code=1))
    assert message in problem


def test_a_profile_that_others_may_write_is_a_problem(bare: Path) -> None:
    path = bare / "home/.config/envcfg/profiles/shared.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("name: shared\nextends: workstation\n")
    path.chmod(0o666)
    (problem,) = problems(examined(code=1))
    assert "shared.yaml: everybody may write it" in problem


def test_home_folders_are_shortened_and_nothing_is_written(bare: Path) -> None:
    folder = bare / "home/.config/envcfg"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('account = "project_465000001"\n')
    before = sorted(os.walk(bare))
    done = envcfg("doctor")
    assert done.code == 0
    assert "~/.config/envcfg/config.toml" in done.text
    assert str(bare / "home") not in done.text
    assert "project_465000001" not in done.text
    assert sorted(os.walk(bare)) == before


def test_text_of_programs_cannot_change_the_terminal(bare: Path) -> None:
    program(bare, "apptainer", r"printf 'a\033[31m\007b\r\n'")
    assert "\x1b" not in envcfg("doctor").text


def test_the_skill_names_commands_and_options_that_exist() -> None:
    done = envcfg("doctor", "--skill")
    assert done.code == 0
    _, head, body = done.text.split("---\n", 2)
    fields = yaml.safe_load(head)
    assert set(fields) == {"name", "description"}
    assert fields["name"] == "envcfg"
    assert len(fields["description"]) <= 1024  # the limit of readers of skills
    lines = re.findall(r"`envcfg ([^`]+)`", body)
    assert len(lines) >= 15
    for line in lines:
        words = shlex.split(line.partition(" -- ")[0])
        name = 2 if words[0] == "profiles" else 1
        if words[0].isupper():
            continue
        shown = envcfg(*words[:name], "--help-all").text
        assert shown, line
        for option in (word for word in words if word.startswith("-")):
            assert option in shown, line
