"""Programs that start the ranks of their node, or run once, with a fake srun."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import JOB, Wrap, bash

pytestmark = pytest.mark.usefixtures("fakes")
PORT = 10000 + int(JOB) * 101 % 20000
SHOWN = "NNODES NODE_RANK NPROC_PER_NODE MASTER_PORT FORCE_TORCHRUN RANK WORLD_SIZE LOCAL_RANK"


def program(tmp_path: Path, name: str) -> Path:
    """Write a program that notes its arguments and variables."""
    path = tmp_path / name
    path.write_text(
        f"""#!/bin/sh
{{ echo "$*"; for n in {SHOWN}; do eval "[ -z \\${{$n+set}} ] || echo $n=\\$$n"; done; }} \\
  >"{tmp_path}/started.$$"
"""
    )
    path.chmod(0o755)
    return path


def run(
    wrap: Wrap, tmp_path: Path, *words: str, before: str = "", profile: str = "lumi-g"
) -> tuple[int, str, list[str]]:
    """Run the script on two fake nodes; return the code, stderr, and all starts."""
    options = ("--profile", profile, "--container", "none", "--fact", "rocm=6.2.4")
    made = wrap(*options, *words)
    assert made.code == 0, made.err
    done = bash(
        f"set -euo pipefail\n{before}\n{made.text}", FAKE_NODES="2", FAKE_TASKS="1"
    )
    starts = sorted(path.read_text() for path in tmp_path.glob("started.*"))
    return done.returncode, done.stderr.decode(), starts


def test_options_of_a_launcher_come_from_the_job(wrap: Wrap, tmp_path: Path) -> None:
    path = str(program(tmp_path, "axolotl"))
    code, err, starts = run(wrap, tmp_path, "--", path, "train", "a b.yaml")
    assert code == 0, err
    assert len(starts) == 2
    for node, start in enumerate(starts):
        words = f"train a b.yaml -- --num_machines=2 --num_processes=16 --machine_rank={node} "
        assert start.startswith(words)
        assert f"--main_process_port={PORT} " in start
        assert "\nRANK=" not in start
        assert "WORLD_SIZE=" not in start


def test_options_come_before_the_program_of_a_launcher(
    wrap: Wrap, tmp_path: Path
) -> None:
    path = str(program(tmp_path, "composer"))
    words = ("--ranks", "4", "--", path, "-n", "4", "train.py", "it's", "$x")
    code, err, starts = run(wrap, tmp_path, *words)
    assert code == 0, err
    assert len(starts) == 2
    for node, start in enumerate(starts):
        first = start.partition("\n")[0]
        assert first.startswith("--nproc=4 --world_size=8 --node_rank=")
        assert f" --node_rank={node} --base_rank={4 * node} " in first
        assert first.endswith(f" --master_port={PORT} train.py it's $x")


def test_variables_of_a_launcher_come_from_the_job(wrap: Wrap, tmp_path: Path) -> None:
    path = str(program(tmp_path, "llamafactory-cli"))
    before = "export NPROC_PER_NODE=8 NODE_RANK=0 FORCE_TORCHRUN=yes"
    code, err, starts = run(
        wrap, tmp_path, "--", path, "train", "c.yaml", before=before
    )
    assert code == 0, err
    for node, start in enumerate(starts):
        assert start == (
            f"train c.yaml\nNNODES=2\nNODE_RANK={node}\nNPROC_PER_NODE=8\n"
            f"MASTER_PORT={PORT}\nFORCE_TORCHRUN=1\n"
        )


def test_a_variable_of_the_job_that_contradicts_it_is_an_error(
    wrap: Wrap, tmp_path: Path
) -> None:
    path = str(program(tmp_path, "swift"))
    before = "export NPROC_PER_NODE=4"
    code, err, starts = run(wrap, tmp_path, "--", path, "sft", before=before)
    assert (code, starts) == (4, [])
    assert "the job sets NPROC_PER_NODE=4, but this step has 8" in err
    assert "give --ranks N to envcfg" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--", "autotrain", "--config", "c"),
        ("--launcher", "once", "--", "sweep", "x"),
    ],
)
def test_a_program_of_one_process_runs_on_the_first_node(
    wrap: Wrap, tmp_path: Path, words: tuple[str, ...]
) -> None:
    place = words.index("--") + 1
    path = str(program(tmp_path, words[place]))
    words = (*words[:place], path, *words[place + 1 :])
    code, err, starts = run(wrap, tmp_path, *words)
    assert code == 0, err
    (start,) = starts
    assert "\nNODE_RANK=0\n" in start
    assert "\nRANK=" not in start
