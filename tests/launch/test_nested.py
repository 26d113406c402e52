"""A launcher inside a shell's text, or behind another program."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcfg.common.datafile import load_yaml
from envcfg.job.plan.nested_launcher import look_inside
from envcfg.job.plan.plan import Options
from support import bash

# A shell's text that is one plain command: the command that it is.
PLAIN = {
    "bash -c 'torchrun --nproc_per_node=2 t.py'": "torchrun --nproc_per_node=2 t.py",
    "sh -c 'exec python3 -m torch.distributed.run t.py'": "python3 -m torch.distributed.run t.py",
    """bash -euc 'accelerate launch "t x.py" 3'""": "accelerate launch 't x.py' 3",
    "/bin/bash -c 'vllm serve m'": "vllm serve m",
    "bash -euo pipefail -c 'torchrun t.py'": "torchrun t.py",
    "bash --norc -c -e -- 'torchrun t.py'": "torchrun t.py",
}  # fmt: skip
# Started once per node, as it stands: the severity, and a part of what is said.
ONCE = {
    "bash -c 'python3 -m torch.distributed.run --nproc_per_node=$N t.py'": ("warning", "--nnodes"),
    "bash -lc 'torchrun t.py'": ("warning", "--setup"),
    "bash -c 'cd /data && torchrun --nnodes=$N --rdzv_endpoint=$A t.py'": ("note", "must fit"),
    "bash -c '. venv/bin/activate; A=1 exec torchrun t.py | tee log'": ("warning", "alone"),
    "bash -c 'if true; then\n  torchrun \\\n t.py\nfi'": ("warning", "alone"),
    "singularity exec --nv IMAGE torchrun t.py": ("warning", "give its image to --container"),
    "apptainer_wrapper exec accelerate launch t.py": ("warning", "--num-machines"),
    "singularity exec IMAGE bash -c 'torchrun t.py'": ("warning", "singularity and bash -c"),
    "env A=1 deepspeed t.py": ("warning", "by itself"),
    "numactl --interleave=all torchrun t.py": ("warning", "masks"),
    "nsys profile -o torchrun -t cuda torchrun t.py": ("warning", "--profiler"),
    "time -p /opt/bin/torchrun t.py": ("warning", "alone"),
    "conda run -n x python -m accelerate.commands.launch t.py": ("warning", "--setup"),
    "env A=1 nsys profile horovodrun -np 2 python t.py": ("warning", "env and nsys"),
    "bash -c 'exec vllm serve $MODEL'": ("note", "each works alone, as it is not told --nnodes"),
    "bash -x -eo pipefail -c 'torchrun t.py'": ("warning", "--setup"),
    "bash +e --login -c 'torchrun t.py'": ("warning", "--setup"),
    "bash -c -O extglob 'torchrun t.py'": ("warning", "--setup"),
    "bash -c 'cat >c.yaml <<E\ndon'\\''t\nE\ntorchrun t.py'": ("warning", "alone"),
    "bash -c '# don'\\''t\n>log torchrun t.py 2>&1'": ("warning", "alone"),
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
    "timeout 60 ./t.sh bash -c 'torchrun t.py'",
    "bash -c 'python t.py > torchrun t.py'",
    "bash -c 'python t.py >| torchrun 2>& deepspeed x'",
    "bash -c 'cat <<E\ntorchrun t.py\nE\npython t.py'",
    "bash -c 'cat <<-\"E\" | tee f\n\ttorchrun t.py\n\tE\npython t.py'",
    "bash -c 'case $x in\n torchrun) echo;;\nesac; python t.py'",
    "bash -c 'torchrun() { python \"$@\"; }; torchrun'",
    "env",
)


def options(line: str, **more: object) -> Options:
    return Options(command=tuple(shlex.split(line)))._replace(**more)


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_command_in_a_shell_is_the_command(line: str) -> None:
    found, (note,) = look_inside(options(line))
    assert found == options(PLAIN[line])
    assert (note.rule, note.severity) == ("shell-left-out", "note")


@pytest.mark.parametrize("line", ONCE)
def test_any_other_launcher_inside_starts_once_per_node(line: str) -> None:
    severity, part = ONCE[line]
    found, (said,) = look_inside(options(line))
    assert found == options(line, launcher="whole-node")
    assert said.severity == severity
    assert part in " ".join(said.lines())


@pytest.mark.parametrize("line", NOTHING)
def test_of_anything_else_nothing_is_said(line: str) -> None:
    assert look_inside(options(line)) == (options(line), [])


def test_what_a_shell_leaves_is_looked_into_as_well() -> None:
    found, said = look_inside(options("bash -c 'sh -c \"torchrun t.py\"'"))
    assert found == options("torchrun t.py")
    assert [each.rule for each in said] == ["shell-left-out", "shell-left-out"]
    found, said = look_inside(options("bash -c 'nsys profile torchrun t.py'"))
    assert found == options("nsys profile torchrun t.py", launcher="whole-node")
    assert [each.rule for each in said] == ["shell-left-out", "launcher-inside"]


def test_what_the_user_wants_stays_and_is_warned_of() -> None:
    line = "bash -c 'cd x; torchrun t.py'"
    for more in ({"launcher": "srun"}, {"launcher": "torchrun"}, {"ranks": 8}):
        found, (said,) = look_inside(options(line, **more))
        assert found == options(line, **more)
        assert said.rule == "launcher-in-each-rank"
    asked = options(line, launcher="whole-node")
    assert look_inside(asked) == (asked, [])
    found, _ = look_inside(options(line, ranks=1))
    assert found == options(line, ranks=1, launcher="whole-node")
    plain = options("bash -c 'torchrun t.py'", launcher="torchrun")
    assert look_inside(plain)[0].command == ("torchrun", "t.py")


WORDS = st.lists(
    st.text("abc \"'-=$`\\*?~{}#;&|<>()!\n\t\r.:/@%+,é", max_size=6), max_size=4
)


@given(WORDS, st.booleans())
@settings(deadline=None)
def test_what_replaces_a_shell_has_the_words_that_the_shell_would_give(
    words: list[str], is_quoted: bool
) -> None:
    text = shlex.join(words) if is_quoted else " ".join(words)
    found, _ = look_inside(Options(command=("bash", "-c", f"torchrun {text}")))
    if found.command[0] == "torchrun":
        done = bash(f"torchrun() {{ printf '%s\\0' \"$@\"; }}\ntorchrun {text}")
        printed = (
            done.stdout.decode().split("\0")[:-1] if len(found.command) > 1 else []
        )
        assert list(found.command[1:]) == printed


def test_wrappers_are_no_launchers_and_say_what_to_do_instead() -> None:
    known = load_yaml("knowledge/wrappers.yaml")
    assert known["source"]
    assert known["date"]
    for name, each in known["wrappers"].items():
        assert each["fix"], name
        assert each.keys() <= {"fix", "verb"}
