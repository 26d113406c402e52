"""What a launch line says, in the words of envcfg."""

from __future__ import annotations

import shlex

import pytest

from envcfg.datafile import load_knowledge_file
from envcfg.errors import UsageError
from envcfg.launch.line import Line, read_line

T = ("python", "t.py")
LINES = [
    ("srun python t.py", Line("srun", command=T)),
    ("srun -n 8 -N2 python t.py", Line("srun", ("--ntasks=8", "--nodes=2"), command=T)),
    (
        "srun -lu --mpi=pmix -- python t.py",
        Line("srun", ("--label", "--unbuffered", "--mpi=pmix"), command=T),
    ),
    (
        "srun --cpu-bind cores python t.py",
        Line("srun", ("--cpu-bind=cores",), command=T),
    ),
    (
        "srun --kill-on-bad-exit=1 -K python t.py",
        Line("srun", command=T, done=("srun --kill-on-bad-exit=1", "srun -K")),
    ),
    ("srun --exclusive python t.py", Line("srun", ("--exclusive",), command=T)),
    (
        "srun --exclusive=user python t.py",
        Line("srun", ("--exclusive=user",), command=T),
    ),
    (
        "singularity exec x.sif python t.py",
        Line("local", container="x.sif", runtime="singularity", command=T),
    ),
    (
        "singularity -q exec -eC x.sif python t.py",
        Line(
            "local",
            container="x.sif",
            runtime="singularity",
            arguments=("--cleanenv", "--containall"),
            command=T,
        ),
    ),
    (
        "srun /usr/bin/apptainer exec -B /a,/b:/c --nv --env A=1,B=x=y x.sif python t.py",
        Line(
            "srun",
            container="x.sif",
            runtime="apptainer",
            binds=("/a,/b:/c",),
            arguments=("--nv",),
            settings={"A": "1", "B": "x=y"},
            command=T,
        ),
    ),
    (
        "srun --container-image=i.sqsh --container-mounts /a:/b --container-workdir=/w python t.py",
        Line(
            "srun",
            container="i.sqsh",
            runtime="pyxis",
            binds=("/a:/b",),
            arguments=("--container-workdir=/w",),
            command=T,
        ),
    ),
    (
        "shifter --image=me/x:1 --volume=/a:/b python t.py",
        Line(
            "local", container="me/x:1", runtime="shifter", binds=("/a:/b",), command=T
        ),
    ),
]


@pytest.mark.parametrize(("text", "line"), LINES)
def test_a_line_says_who_starts_what_in_what(text: str, line: Line) -> None:
    assert read_line(shlex.split(text)) == line


WRONG = [
    ("srun --no-such python", "--no-such: this option is not known"),
    ("srun -n", "lacks its value"),
    ("srun", "has no program"),
    ("srun -n8", "has no program"),
    ("srun --export=NONE python", "whole environment"),
    ("srun --export=ALL,A=1 python", "whole environment"),
    ("srun --het-group=0 python", "one program on all nodes"),
    ("srun srun python", "srun stands in a step"),
    ("srun python a : python b", "side by side"),
    ("singularity", "is not known"),
    ("singularity run x.sif", "runscript"),
    ("singularity shell x.sif", "to type in"),
    ("singularity exec --no-such x.sif python", "--no-such: this option is not known"),
    ("singularity exec -z x.sif python", "-z: this option is not known"),
    ("singularity exec", "has no image"),
    ("singularity exec x.sif", "has no program"),
    ("singularity exec --env A x.sif python", "sets no variable"),
    ("singularity exec x.sif singularity exec y.sif python", ""),
    ("srun --container-image=i singularity exec x.sif python", "within a container"),
    ("podman run img python", "entry point itself"),
    ("srun ch-run ./img -- python", "entry point itself"),
    ("srun --environment=pt python", "environment file itself"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_cannot_be_understood_is_an_error(text: str, said: str) -> None:
    if not said:  # what the program in the container is, is its own matter
        assert read_line(shlex.split(text)).command[0] == "singularity"
        return
    with pytest.raises(UsageError, match=said):
        read_line(shlex.split(text))


def test_no_option_stands_twice_in_the_table() -> None:
    for program, known in load_knowledge_file("launch_lines.yaml").items():
        if "never" in known:
            continue
        names = [
            *known["values"].split(),
            *known["flags"].split(),
            *known.get("attached", "").split(),
        ]
        assert len(names) == len({*names}), program
        assert {*known["short"].values()} <= {*names}, program
        assert {*known.get("refused", ()), *known.get("default", ())} <= {*names}
