"""The file that a command runs, looked for on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.job.plan.program_file import literal_notes, program_notes
from support import LOCAL, Wrapped, envcfg

# A command line; what is said of it and the remedy, nothing where it is right.
CASES = {
    "a slip": ("python trian.py", "trian.py: does not exist", "did you mean train.py?"),
    "with Python's options": ("python3.11 -u -X dev trian.py --lr 1", "trian.py: does not exist", "train.py?"),
    "a path": ("/usr/bin/python src/man.py", "src/man.py: does not exist on this machine, in {here}/src;", "src/main.py?"),
    "nothing like it": ("python other.py", "other.py: does not exist", "as the job sees it"),
    "no folder": ("python no/such.py", "in {here}/no; the job checks again", "as the job sees it"),
    "a shell": ("bash rnu.sh", "rnu.sh: does not exist", "did you mean run.sh?"),
    "a shell's options": ("bash -euo pipefail --rcfile x rnu.sh", "rnu.sh: does not exist", "run.sh?"),
    "by its path": ("./rnu.sh", "./rnu.sh: does not exist on this machine, in {here};", "./run.sh?"),
    "Python alone": ("train.py --lr 1", "train.py: is not a program that can", "-- python train.py ..."),
    "Python alone, by its path": ("./train.py", "./train.py: is not a program that can", "-- python ./train.py ..."),
    "Python alone, a slip": ("trian.py", "trian.py: does not exist", "did you mean python train.py?"),
    "an absolute path": ("python {here}/trian.py", "does not exist on this machine, in {here};", "{here}/train.py?"),
    "a NUL": ("python a\0.py", "does not exist", "as the job sees it"),
    **dict.fromkeys(
        ("python train.py", "python -m trian", "python -c trian.py", "python -Ic trian.py", "python -",
         "python", "bash run.sh", "bash -c trian.py", "bash -lc ./rnu.sh", "bash -s x.sh", "./run.sh",
         "hostname", "no-such-program", "", "python -- "),
        ("", "", ""),
    ),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for name in ("train.py", "run.sh", "src/main.py"):
        (tmp_path / name).touch(0o644)
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_is_not_here_is_named_with_one_like_it(
    here: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    line, said, fix = CASES[name]
    command = (line or name).format(here=here).split()
    if not said:
        command = name.split()
    found = program_notes(command, str(here), is_contained=False)
    lines = "\n".join(each for note in found for each in note.lines())
    assert len(found) == bool(said)
    assert said.format(here=here) in lines
    assert fix.format(here=here) in lines
    assert {each.severity for each in found} <= {"warning"}


def test_a_path_of_the_image_is_left_to_it(here: Path) -> None:
    assert not program_notes(["python", "/no/x.py"], str(here), is_contained=True)
    assert program_notes(["python", "/no/x.py"], str(here), is_contained=False)
    slip = ["python", f"{here}/trian.py"]
    assert program_notes(slip, str(here), is_contained=True)
    assert program_notes(["python", "x.py"], str(here), is_contained=True)


LUMI = ("--profile", "lumi-g", "--container", "none", "--account", "project_465000001")


@pytest.mark.parametrize(
    "words", [("wrap", *LOCAL), ("job", *LUMI, "--time", "30")], ids=["wrap", "job"]
)
@pytest.mark.parametrize("launcher", [(), ("torchrun",)], ids=["python", "torchrun"])
def test_each_command_says_it_and_goes_on(
    wrap: Callable[..., Wrapped],
    here: Path,
    words: tuple[str, ...],
    launcher: tuple[str, ...],
) -> None:
    assert callable(wrap)
    command = launcher or ("python",)
    done = envcfg(*words, "--", *command, "trian.py")
    assert done.code == 0
    said = f"envcfg: warning: trian.py: does not exist on this machine, in {here};"
    assert said in done.err
    assert "  hint: did you mean train.py?\n" in done.err
    assert "does not exist" not in envcfg(*words, "--", *command, "train.py").err


@pytest.mark.parametrize(
    ("words", "literal"),
    [
        (("python", "t.py", "--data", "$DATA"), "$DATA"),
        (("python", "t.py", "--data=${DATA}/x", "$HOME", "$HOME"), "--data=${DATA}/x, $HOME"),
        (("env", "DATA=$SCRATCH/x", "./p"), "DATA=$SCRATCH/x"),
        (("bash", "-c", "$DATA/run.sh"), ""),
        (("sh", "-ec", "$CMD"), ""),
        (("python", "t.py", "model=${data.path}", "cost=$5", "^a$", "a $B", "$$", "$data", "\\$DATA"), ""),
    ],
)  # fmt: skip
def test_a_variable_that_nothing_expands_is_named(
    words: tuple[str, ...], literal: str
) -> None:
    assert [note.subject for note in literal_notes(words, ())] == [literal] * bool(
        literal
    )


def test_a_variable_in_a_path_of_an_option_is_named() -> None:
    options = ("--profile", "lumi-g", "--container")
    for image, *others in (
        ("docker://x/y:1", "--bind=$DATA:/d"),
        ("docker://x/y:1", "--bind=${DATA}"),
        ("docker://x/y:1", "--srun-arg=--chdir=$DATA"),
        ("docker://x/y:1", "--runtime-arg=--workdir=${DATA}/x"),
        ("docker://x/$DATA",),
        ("docker://x/y:${DATA}-gpu",),
        ("docker://$DATA/y:1",),
        ("$DATA/x.sif",),
    ):
        made = envcfg("wrap", *options, image, *others, "--", "true")
        assert made.code == 0, made.err
        assert "DATA" in made.err
        assert "expands no variables" in made.err, image
    made = envcfg(
        "wrap",
        *options,
        "docker://x/y:1",
        "--setup=$DATA/x",
        "--set=A=${RANK}",
        "--",
        "true",
    )
    assert made.code == 0, made.err
    assert "expands no variables" not in made.err
