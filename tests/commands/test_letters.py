"""The letters of sbatch and qsub mean here what they mean there."""

from __future__ import annotations

import pytest

from envcfg.cli import build_parser
from support import envcfg

BARE = ("--profile", "lumi-g", "--container", "none")
JOB = (*BARE, "--account", "project_465000001", "--partition", "standard-g")
# By command: words, and the lines of the script that they ask for.
LETTERS = {
    "apart": ("sbatch", "-N 2 -t 30", ["--nodes=2", "--time=00:30:00"]),
    "joined": ("sbatch", "-N2 -t1:00:00", ["--nodes=2", "--time=01:00:00"]),
    "with =": ("sbatch", "--nodes=2 -J=x", ["--nodes=2", "--job-name=x"]),
    "by job": ("job", "-N2 -t30", ["--nodes=2"]),
    "names": ("job", "-t30 -J run -q high -C MI250X", ["--job-name=run", "--qos=high", "--constraint=MI250X"]),
    "account": ("job", "-t30 -A project_465000002 -psmall-g", ["--account=project_465000002", "--partition=small-g"]),
    "tasks": ("sbatch", "-N2 -n8 -t30", ["--nodes=2", "--ntasks-per-node=4"]),
    "cores": ("sbatch", "-p small-g -G2 -t30 -c 6", ["--ntasks-per-node=2", "--cpus-per-task=6"]),
    "cores of fewer tasks": ("sbatch", "-p small-g -N1 -G4 -n2 -c 12 -t30", ["--ntasks-per-node=2", "--cpus-per-task=12"]),
    "GPUs": ("sbatch", "-p small-g -G 2 -t30", ["--gpus-per-node=2"]),
    "array": ("sbatch", "-a0-3 -t30", ["--array=0-3"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LETTERS)
def test_a_letter_asks_for_what_it_asks_of_the_scheduler(name: str) -> None:
    command, words, lines = LETTERS[name]
    done = envcfg(command, *JOB, *words.split(), "--", "true")
    assert done.code == 0, done.err
    asked = [line.split()[1] for line in done.text.splitlines() if "#SBATCH" in line]
    assert [each for each in lines if each not in asked] == []
    assert f" {words} " in done.text.partition("\nset ")[0]  # as it was typed


def test_letters_of_qsub_are_those_of_pbs() -> None:
    words = "-A Catalyst -q debug -N run --time 30".split()
    done = envcfg(
        "qsub", "--profile", "polaris", "--container", "none", *words, "--", "true"
    )
    assert done.code == 0, done.err
    for line in ("-A Catalyst", "-q debug", "-N run"):
        assert f"#PBS {line}" in done.text


@pytest.mark.parametrize("command", ["job", "sbatch", "submit", "qsub"])
def test_no_letter_is_taken_twice(command: str) -> None:
    (commands,) = build_parser(command)._subparsers._group_actions  # type: ignore[union-attr]
    known = commands.choices[command].known_options  # type: ignore[index]
    letters = {each: action.dest for each, action in known.items() if len(each) == 2}
    assert letters["-o"] == "output"
    assert letters["-A"] == "account"
    assert letters.get("-N") == ("job_name" if command == "qsub" else "nodes")
