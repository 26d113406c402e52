"""Of the notes on a job, people see the one that matters most."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from support import ROOT, Wrap

ORDER = yaml.safe_load((ROOT / "envcfg/commands/note_order.yaml").read_text())
# A program that starts no ranks: a decision, and four notes on a system that it never ran on.
NOTED = (
    "--profile",
    "lumi-g",
    "--container",
    "pytorch.sif",
    "--no-inspect",
    "--",
    "python",
    "train.py",
)


@pytest.fixture
def noted(wrap: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wrap:
    monkeypatch.setenv("ENVCFG_VERBOSE", "")
    for name in ("train.py", "pytorch.sif"):
        (tmp_path / name).write_text("print(1)\n")
    return wrap


def notes(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("envcfg: note: ")]


def test_decisions_and_the_most_important_note_are_printed(
    noted: Wrap, tmp_path: Path
) -> None:
    text = noted(*NOTED).err
    assert [line.split(": ")[2] for line in notes(text)] == [
        "train.py",
        f"{tmp_path}/pytorch.sif",
    ]
    assert text.splitlines()[-1] == "envcfg: notes left out: 2 (-v prints them)"


@pytest.mark.parametrize(
    ("words", "variable"), [(["-v"], ""), (["--verbose"], ""), ([], "1")]
)
def test_all_are_printed_on_request(
    words: list[str], variable: str, noted: Wrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVCFG_VERBOSE", variable)
    text = noted(*words, *NOTED).err
    assert len(notes(text)) == 4
    assert "left out" not in text


def test_warnings_are_never_left_out(noted: Wrap) -> None:
    text = noted("--set", "NCCL_IB_DISABLE=yes", "--set", "NCCL_DEBGU=INFO", *NOTED).err
    assert text.count("envcfg: warning: ") == 2
    assert len(notes(text)) == 2


def test_the_order_names_notes_once() -> None:
    names = [*ORDER["decisions"], *ORDER["order"]]
    assert len(names) == len(set(names))
    source = "\n".join(path.read_text() for path in (ROOT / "envcfg").rglob("*.py"))
    texts = (ROOT / "envcfg/job/request/findings.yaml").read_text()
    assert [
        name for name in names if f'"{name}"' not in source and f"{name}:" not in texts
    ] == []


def test_a_note_is_not_repeated_for_the_same_image_and_profile(
    noted: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    of_image = f"envcfg: note: {tmp_path}/pytorch.sif: "
    said = [noted(*NOTED).err for _ in range(4)]
    assert [of_image in text for text in said] == [True, False, False, False]
    # Each time another note is the first; then all of them have been seen.
    assert [len(notes(text)) for text in said] == [2, 2, 2, 1]
    assert [text.splitlines()[-1] for text in said] == [
        *["envcfg: notes left out: 2 (-v prints them)"] * 3,
        "envcfg: notes left out: 3 (-v prints them)",
    ]
    (tmp_path / "other.sif").write_text("x")
    other = ["other.sif" if word == "pytorch.sif" else word for word in NOTED]
    assert "other.sif: " in noted(*other).err
    assert len(notes(noted("-v", *NOTED).err)) == 4


def test_what_was_never_tested_is_said_once_per_user(
    noted: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = ("--profile", "derecho", "--container", "none", "--", "python", "-c", "1")
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    first, second = noted(*step).err, noted(*step).err
    assert "never tested (values of users' scripts: NCCL_NET, NCCL_SOCKET" in first
    assert "never tested" not in second
    assert [path.parent for path in state.rglob("*.json")] == [state / "envcfg/printed"]
    assert "never tested" in noted("-v", *step).err
    # A file with other content, or a folder that cannot be written, changes nothing.
    for path in state.rglob("*.json"):
        path.write_text("{}")
    assert "never tested" in noted(*step).err
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    assert "never tested" in noted(*step).err
    assert "never tested" in noted(*step).err
