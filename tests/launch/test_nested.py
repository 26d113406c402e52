"""A launcher inside a shell's text, or behind another program."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding
from envcfg.core.program_reading import read_program
from envcfg.job.plan.command_launcher import recognise
from envcfg.job.plan.plan import Options
from envcfg.job.plan.program_file import start_as_read
from support import bash

# A shell's text that is one plain command: the command that it is.
PLAIN = {
    "bash -c 'torchrun --nproc_per_node=2 t.py'": "torchrun --nproc_per_node=2 t.py",
    "sh -c 'exec python3 -m torch.distributed.run t.py'": "python3 -m torch.distributed.run t.py",
    """bash -euc 'accelerate launch "t x.py" 3'""": "accelerate launch 't x.py' 3",
    "/bin/bash -c 'vllm serve m'": "vllm serve m",
    "bash -euo pipefail -c 'torchrun t.py'": "torchrun t.py",
    "bash --norc -c -e -- 'torchrun t.py'": "torchrun t.py",
    "bash -c 'sh -c \"torchrun t.py\"'": "torchrun t.py",
    "bash -c 'nsys profile torchrun t.py'": "nsys profile torchrun t.py",
}  # fmt: skip
TORCHRUN = "--nnodes={nodes}"
ACCELERATE = "--num_machines={nodes}"
# Started once per node: the command, "|" where options are put, with the first of them
BEHIND = {
    "singularity exec --nv IMAGE torchrun t.py": ("singularity exec --nv IMAGE torchrun | t.py", TORCHRUN),
    "apptainer_wrapper exec accelerate launch t.py": ("apptainer_wrapper exec accelerate launch | t.py", ACCELERATE),
    "numactl --interleave=all torchrun --nnodes 2 t.py --nnodes 2": ("numactl --interleave=all torchrun | t.py --nnodes 2", TORCHRUN),
    "nsys profile -o torchrun -t cuda torchrun --max-restarts 3 t.py": ("nsys profile -o torchrun -t cuda torchrun | --max-restarts 3 t.py", TORCHRUN),
    "time -p /opt/bin/torchrun --standalone t.py": ("time -p /opt/bin/torchrun | t.py", TORCHRUN),
    "conda run -n x python -m accelerate.commands.launch t.py": ("conda run -n x python -m accelerate.commands.launch | t.py", ACCELERATE),
    "uv run --python 3.12 torchrun t.py": ("uv run --python 3.12 torchrun | t.py", TORCHRUN),
    "uvx --from trl trl sft --m x": ("uvx --from trl trl sft --m x |", ACCELERATE),
    "pixi run -e gpu axolotl train c.yaml": ("pixi run -e gpu axolotl train c.yaml -- |", ACCELERATE),
    "hatch -e gpu run torchrun t.py": ("hatch -e gpu run torchrun | t.py", TORCHRUN),
    "rye run torchrun t.py": ("rye run torchrun | t.py", TORCHRUN),
    "poetry run accelerate launch t.py": ("poetry run accelerate launch | t.py", ACCELERATE),
    "py-spy record -o x -- torchrun t.py": ("py-spy record -o x -- torchrun | t.py", TORCHRUN),
    "ncu --set full torchrun t.py": ("ncu --set full torchrun | t.py", TORCHRUN),
    "rocprofv3 -d out -- torchrun t.py": ("rocprofv3 -d out -- torchrun | t.py", TORCHRUN),
    "uv run vllm serve m": ("uv run vllm serve m |", TORCHRUN),
    "uv run python /v/bin/torchrun t.py": ("uv run python /v/bin/torchrun | t.py", TORCHRUN),
}  # fmt: skip
# Started once per node or job, as it stands: launcher, severity, and a part of what is said.
ONCE = {
    "bash -c 'python3 -m torch.distributed.run --nproc_per_node=$N t.py'": ("whole-node", "warning", "--nnodes"),
    "bash -lc 'torchrun t.py'": ("whole-node", "warning", "alone"),
    "bash -c 'cd /data && torchrun --nnodes=$N --rdzv_endpoint=$A t.py'": ("whole-node", "note", "starts torchrun"),
    "bash -c '. venv/bin/activate; A=1 exec torchrun t.py | tee log'": ("whole-node", "warning", "alone"),
    "bash -c 'if true; then\n  torchrun \\\n t.py\nfi'": ("whole-node", "warning", "alone"),
    "singularity exec IMAGE bash -c 'torchrun t.py'": ("whole-node", "warning", "alone"),
    "env A=1 deepspeed t.py": ("whole-node", "warning", "by itself"),
    "env A=1 nsys profile horovodrun -np 2 python t.py": ("once", "warning", "once per job"),
    "bash -c 'exec vllm serve $MODEL'": ("whole-node", "note", "starts vllm"),
    "bash -x -eo pipefail -c 'torchrun t.py'": ("whole-node", "warning", "alone"),
    "bash +e --login -c 'torchrun t.py'": ("whole-node", "warning", "alone"),
    "bash -c -O extglob 'torchrun t.py'": ("whole-node", "warning", "alone"),
    "bash -c 'cat >c.yaml <<E\ndon'\\''t\nE\ntorchrun t.py'": ("whole-node", "warning", "alone"),
    "bash -c '# don'\\''t\n>log torchrun t.py 2>&1'": ("whole-node", "warning", "alone"),
}  # fmt: skip
NOTHING = (
    "bash -c 'echo torchrun'",
    "bash -c 'python train.py # torchrun'",
    "bash -c 'python train.py --launcher deepspeed'",
    "bash train.sh torchrun",
    "bash -c",
    "bash -c 'torchrun \"'",
    "python train.py torchrun",
    "singularity inspect torchrun",
    "nsys profile -o torchrun python t.py",
    "env python t.py --with=torchrun",
    "bash -c '$TORCHRUN t.py'",
    "env A=1 python t.py --launcher torchrun t",
    "nsys profile python3.11 t.py --backend deepspeed x",
    "bash -c 'python t.py > torchrun t.py'",
    "bash -c 'python t.py >| torchrun 2>& deepspeed x'",
    "bash -c 'cat <<E\ntorchrun t.py\nE\npython t.py'",
    "bash -c 'cat <<-\"E\" | tee f\n\ttorchrun t.py\n\tE\npython t.py'",
    "bash -c 'case $x in\n torchrun) echo;;\nesac; python t.py'",
    "bash -c 'torchrun() { python \"$@\"; }; torchrun'",
    "uv pip install torchrun",
    "env",
)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def started(line: str, **more: object) -> tuple[Options, list[Finding]]:
    command, statements, notes = read_program(shlex.split(line))
    options = Options(command=command, statements=statements)._replace(**more)
    step = start_as_read if statements else recognise
    found, said = step(options, 8)
    return found, [*notes, *said]


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_command_in_a_shell_is_the_command(line: str) -> None:
    command, _, notes = read_program(shlex.split(line))
    assert command == tuple(shlex.split(PLAIN[line]))
    assert {(note.rule, note.severity) for note in notes} == {
        ("shell-left-out", "note")
    }


@pytest.mark.parametrize("line", BEHIND)
def test_a_launcher_behind_a_program_gets_its_options_from_the_job(line: str) -> None:
    expected, option = BEHIND[line]
    found, (said,) = started(line)
    assert found.launcher == "whole-node"
    assert found.program
    command = [*found.command]
    command.insert(found.program.place, "|")
    assert shlex.join(command).replace("'|'", "|") == expected
    assert found.program.words[0] == option
    assert said.severity == "note"


@pytest.mark.parametrize("line", ONCE)
def test_any_other_launcher_inside_starts_as_it_stands(line: str) -> None:
    launcher, severity, part = ONCE[line]
    found, (said,) = started(line)
    assert found.launcher == launcher
    assert found.command == tuple(shlex.split(line))
    assert said.severity == severity
    assert part in " ".join(said.lines())


@pytest.mark.parametrize("line", NOTHING)
def test_of_anything_else_nothing_is_said(line: str) -> None:
    found, said = started(line)
    assert found == Options(command=tuple(shlex.split(line)))
    assert {finding.rule for finding in said} <= {"launcher-unknown"}


def test_what_contradicts_the_user_is_an_error() -> None:
    line = "bash -c 'cd x; torchrun t.py'"
    for more in ({"launcher": "srun"}, {"launcher": "torchrun"}, {"ranks": 8}):
        with pytest.raises(
            UsageError, match="the command starts torchrun: once per node"
        ):
            started(line, **more)
    asked = started(line, launcher="whole-node")
    assert asked[0].launcher == "whole-node"
    assert asked[1] == []
    assert started(line, ranks=1)[0].launcher == "whole-node"


WORDS = st.lists(
    st.text("abc \"'-=$`\\*?~{}#;&|<>()!\n\t\r.:/@%+,é", max_size=6), max_size=4
)


@given(WORDS, st.booleans())
@settings(deadline=None)
def test_what_replaces_a_shell_has_the_words_that_the_shell_would_give(
    words: list[str], is_quoted: bool
) -> None:
    text = shlex.join(words) if is_quoted else " ".join(words)
    command, _, _ = read_program(("bash", "-c", f"torchrun {text}"))
    if command[0] == "torchrun":
        done = bash(f"torchrun() {{ printf '%s\\0' \"$@\"; }}\ntorchrun {text}")
        printed = done.stdout.decode().split("\0")[:-1] if len(command) > 1 else []
        assert list(command[1:]) == printed
