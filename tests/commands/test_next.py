"""A person at a terminal finds the next command in what each command says."""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envcfg import commands
from envcfg.cli import build_parser
from envcfg.commands import ALIASES, NAMES, ROLES, texts
from envcfg.commands.printing import next_step
from envcfg.commands.profiles import ACTIONS
from support import ROOT

LOCAL = ("--profile", "workstation", "--container", "none")
JOB = ("--profile", "lumi-g", "--container", "none", "--account", "project_465000001")
JOB = (*JOB, "--partition", "standard-g", "--time", "30")
# What a person types, and the command that is named next.
STEPS: dict[str, tuple[tuple[str, ...], str]] = {
    "list": (("profiles", "list"), "envcfg profiles show"),
    "show": (("profiles", "show", "lumi-g"), "envcfg wrap --profile lumi-g"),
    "diff": (("profiles", "diff", "lumi-g", "frontier"), "envcfg profiles show"),
    "validate": (("profiles", "validate", str(ROOT / "profiles/mahti.yaml")), "envcfg profiles show"),
    "new": (("profiles", "new", "mine", "--extends", "efa", "-o", "-"), "envcfg profiles validate"),
    "detect": (("profiles", "detect"), "envcfg profiles list"),
    "wrap": (("wrap", *LOCAL, "--", "true"), "envcfg check-log"),
    "wrap -o": (("wrap", *LOCAL, "-o", "a b.sh", "--", "true"), "run 'a b.sh' in a job"),
    "wrap --from": (("wrap", "--from", "old.sh", *LOCAL), "envcfg lint old.sh"),
    "sbatch -o": (("sbatch", *JOB, "-o", "job.sh", "--", "true"), "envcfg submit job.sh; after the job"),
    "sbatch": (("sbatch", *JOB, "--", "true"), "envcfg check-log"),
    "lint": (("lint", "old.sh"), "envcfg wrap --from old.sh"),
    "lint, with repairs": (("lint", "bad.sh"), "envcfg lint --fix bad.sh makes the safe repairs"),
    "lint, without repairs": (("lint", "lost.sh"), "envcfg explain RULE"),
    "check-log": (("check-log", "empty.out"), "envcfg explain RULE"),
    "explain": (("explain",), "envcfg explain RULE"),
    "explain a variable": (("explain", "NCCL_NET"), "envcfg wrap --set"),
    "completion": (("completion", "bash"), "envcfg completion --help"),
}  # fmt: skip


def at_terminal(words: tuple[str, ...], folder: Path, **env: str) -> str:
    """Return what envcfg says on stderr, which is a terminal; stdout is none."""
    mine, its = pty.openpty()
    argv = [sys.executable, "-m", "envcfg", *words]
    quiet = {"HOME": str(folder), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    subprocess.run(
        argv,
        stdout=subprocess.DEVNULL,
        stderr=its,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **quiet, **env},
        check=False,
    )
    os.close(its)
    said = b""
    try:
        while part := os.read(mine, 65536):
            said += part
    except OSError:  # the other end is closed
        pass
    os.close(mine)
    return said.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py\n"
    )
    (tmp_path / "bad.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=2\nsrun python a.py $*\n"
    )
    (tmp_path / "lost.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=2\nexport RANK=$SLURM_PROCID\nsrun python a.py\n"
    )
    (tmp_path / "empty.out").write_text("nothing\n")
    return tmp_path


@pytest.mark.parametrize("name", STEPS)
def test_a_person_is_told_what_comes_next(name: str, folder: Path) -> None:
    words, wanted = STEPS[name]
    said = at_terminal(words, folder)
    (told,) = re.findall(r"envcfg: try: (.*)\r\n", said)
    assert wanted in told
    assert at_terminal(words, folder, ENVCFG_QUIET="1").count("try:") == 0


def test_after_a_submission_the_options_of_the_project_can_be_saved(
    folder: Path,
) -> None:
    (folder / "bin").mkdir()
    sbatch = folder / "bin/sbatch"
    sbatch.write_text("#!/bin/sh\ncat >/dev/null\necho Submitted batch job 12\n")
    sbatch.chmod(0o755)
    words = ("submit", *JOB, "--", "true")
    path = f"{folder}/bin:/usr/bin:/bin"
    offer = "--save-defaults with the next job keeps profile,account,partition,container in an"
    assert f"envcfg: try: {offer}" in at_terminal(words, folder, PATH=path)
    (folder / "envcfg.toml").write_text("")
    assert "envcfg: try: wait for the job" in at_terminal(words, folder, PATH=path)


def test_a_program_is_told_nothing(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "envcfg", "profiles", "list"],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
    )
    assert done.stderr == ""


def test_a_person_who_types_envcfg_alone_sees_what_there_is(folder: Path) -> None:
    said = at_terminal((), folder)
    assert [each for each in ROLES if f"\n{each}:" not in said.replace("\r", "")] == []
    assert "no command given" in said


def rows() -> dict[str, dict[str, str | list[str]]]:
    names = [*({*NAMES} - {*ALIASES}), *(f"profiles.{each}" for each in ACTIONS)]
    assert texts().keys() - {"look", "envcfg"} == {*names}
    return {name: texts()[name]["next"] for name in names if name != "profiles"}


def test_each_command_has_a_role_and_something_next() -> None:
    folder = Path(str(commands.__file__)).parent
    modules = {
        str(path.relative_to(folder)).split("/")[0].removesuffix(".py")
        for path in folder.rglob("*.py")
        if path.parent != folder or path.name != "__init__.py"
        if "\ndef run(" in path.read_text()
    }
    known = {name.replace("-", "_") for name in NAMES}
    assert known - {*ALIASES, "submit"} == modules
    assert [name for name, each in rows().items() if "usual" not in each] == []


def test_what_is_named_next_is_a_command() -> None:
    for each in rows().values():
        for text in each.values():
            for command in re.findall(r"envcfg ([a-z-]+)", str(text)):
                assert command in NAMES, text


def test_a_name_from_outside_is_one_word_of_one_line() -> None:
    given = {"command_name": "lint", "files": ["a\n\x1b[31m b; rm x"]}
    told = next_step(argparse.Namespace(**given), 0)
    assert told is not None
    assert "\n" not in told
    assert "\x1b" not in told
    assert next_step(argparse.Namespace(**given), 4) is None
    assert build_parser().roles is ROLES
