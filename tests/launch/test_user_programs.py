"""The rows that users and sites add to the table of programs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from envcfg.common.errors import OutputError, ProfileError
from envcfg.job.plan.command_launcher import recognise
from envcfg.job.plan.plan import Options

MINE = """\
launcher:
  kind: node
  begins: [mytrain run, my.trainer]
  options:
    --nodes: "{nodes}"
    --node: "{node_rank}"
    --procs: "{ranks}"
sweep: {kind: once, begins: [sweep]}
ours: {kind: once, begins: [rl.main], needs: ray}
mine: {kind: rank, begins: [vllm serve]}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    folders = tmp_path / "config/envcfg", tmp_path / "site"
    for folder in folders:
        folder.mkdir(parents=True)
    user, site = (folder / "programs.yaml" for folder in folders)
    return user, site


def started(line: str) -> Options:
    return recognise(Options(command=tuple(shlex.split(line))), 8)[0]


def test_a_row_of_the_user_starts_a_program_by_its_kind(
    files: tuple[Path, Path],
) -> None:
    files[0].write_text(MINE)
    found = started("/opt/mytrain run c.yaml --nodes 2")
    assert found.launcher == "whole-node"
    assert found.command == ("/opt/mytrain", "run", "c.yaml")
    assert found.program
    assert found.program.words == (
        "--nodes={nodes}",
        "--node={node_rank}",
        "--procs={ranks}",
    )
    assert found.program.reason.source == f"{files[0]}:2"
    assert started("python -m my.trainer x").launcher == "whole-node"
    assert started("sweep x").launcher == "once"
    assert started("python -m rl.main").launcher == "ray"


def test_rows_of_the_user_come_before_those_of_the_site_and_of_envcfg(
    files: tuple[Path, Path],
) -> None:
    assert started("vllm serve m").launcher == "whole-node"
    files[1].write_text("site: {kind: once, begins: [vllm serve]}\n")
    assert started("vllm serve m").launcher == "once"
    files[0].write_text(MINE)
    assert started("vllm serve m").launcher is None
    assert started("axolotl train c").launcher == "whole-node"


# a file, and its errors
WRONG = {
    "a: {kind: nodes, begins: [x]}": ["1:11: a.kind: unknown value 'nodes'"],
    "a: {begins: [x]}": ["1:4: a: a program needs kind"],
    "a: {kind: node}": ["1:4: a: a program needs begins"],
    "a: {kind: once, begins: [x], needs: spark}": ["1:37: a.needs: unknown value 'spark'"],
    "a: {kind: node, begins: x}": ["1:25: a.begins: expected a list, not a text"],
    "a: {kind: node, begins: [x], options: {--n: '{node}'}}": ["unknown name in braces"],
    "a: {kind: node, begins: [x], options: {--n: '{nodes.__class__.x}'}}": ["unknown name in braces"],
    "a: {kind: node, begins: [x], optons: {}}": ["unknown key 'optons'", "did you mean 'options'"],
    "a: x": ["1:4: a: expected keys and values, not a text"],
    "a: [": ["2:1: did not find"],
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_an_error_names_file_line_and_key(files: tuple[Path, Path], text: str) -> None:
    files[0].write_text(text)
    with pytest.raises(ProfileError) as caught:
        started("python train.py")
    lines = "\n".join(caught.value.lines())
    assert f"{files[0]}:" in lines
    for part in WRONG[text]:
        assert part in lines


def test_a_folder_in_its_place_is_an_error(files: tuple[Path, Path]) -> None:
    files[0].mkdir()
    with pytest.raises(OutputError) as caught:
        started("python train.py")
    assert str(files[0]) in str(caught.value)
