"""What a launch line says, in the words of envcfg."""

from __future__ import annotations

import shlex

import pytest

from envcfg.backends.programs import load_all
from envcfg.common.errors import UsageError
from envcfg.job.plan.launch_line import ParsedLaunch, read_line

T = ("python", "t.py")
LINES = [
    ("srun python t.py", ParsedLaunch("srun", command=T)),
    (
        "srun singularity -q run -B /a x.sif python t.py",
        ParsedLaunch("srun", command=(*"singularity -q run -B /a x.sif".split(), *T)),
    ),
    (
        "srun -n 8 -N2 python t.py",
        ParsedLaunch("srun", ("--ntasks=8", "--nodes=2"), command=T),
    ),
    (
        "srun -lu --mpi=pmix -- python t.py",
        ParsedLaunch("srun", ("--label", "--unbuffered", "--mpi=pmix"), command=T),
    ),
    (
        "srun --cpu-bind cores python t.py",
        ParsedLaunch("srun", ("--cpu-bind=cores",), command=T),
    ),
    (
        "srun --cpu_bind=cores --mem-bind local python t.py",
        ParsedLaunch("srun", ("--cpu-bind=cores", "--mem-bind=local"), command=T),
    ),
    (
        "srun --kill-on-bad-exit=1 -K --export=ALL python t.py",
        ParsedLaunch("srun", command=T),
    ),
    (
        "srun -K0 python t.py",
        ParsedLaunch("srun", ("--kill-on-bad-exit=0",), command=T),
    ),
    (
        "srun --export=ALL,A=1,B,C=x=y python t.py",
        ParsedLaunch(
            "srun",
            ("--export=ALL,A=1,B,C=x=y",),
            exports={"A": "1", "C": "x=y"},
            command=T,
        ),
    ),
    (
        "srun -n2 --environment=./pt.toml --container-writable python t.py",
        ParsedLaunch(
            "srun",
            ("--ntasks=2",),
            container="./pt.toml",
            runtime="ce",
            arguments=("--container-writable",),
            command=T,
        ),
    ),
    (
        "flux run -N2 -n 4 -o mpibind=off -lx python t.py : x",
        ParsedLaunch(
            "flux",
            tuple(
                "--nodes=2 --ntasks=4 --setopt=mpibind=off --label-io --exclusive".split()
            ),
            command=(*T, ":", "x"),
        ),
    ),
    (
        "mpiexec -n 4 -ppn 2 --cpu-bind=depth -genvall --env A=1 -genv B 2 python t.py",
        ParsedLaunch(
            "pbs",
            tuple("-n 4 -ppn 2 --cpu-bind=depth -genvall --env A=1 -genv B 2".split()),
            exports={"A": "1", "B": "2"},
            command=T,
        ),
    ),
    (
        "mpirun -np 4 --mca btl self -x A -x B=1 -H a,b python t.py",
        ParsedLaunch(
            "pbs",
            ("-np", "4", "--mca", "btl", "self", "-x", "A", "-x", "B=1", "-H", "a,b"),
            exports={"B": "1"},
            command=T,
        ),
    ),
    (
        "srun podman-hpc run --rm --gpu -e A=1 -v /a:/b:ro img python t.py",
        ParsedLaunch(
            "srun",
            container="img",
            runtime="podman-hpc",
            arguments=("--rm", "--gpu", "--env=A=1", "--volume=/a:/b:ro"),
            exports={"A": "1"},
            command=T,
        ),
    ),
    (
        "docker run -it --gpus all img t",
        ParsedLaunch(
            "local",
            container="img",
            runtime="docker",
            arguments=("--interactive", "--tty", "--gpus=all"),
            command=("t",),
        ),
    ),
    (
        "ch-run -w --set-env=A=1 -b /a:/b ./img -- python t.py",
        ParsedLaunch(
            "local",
            container="./img",
            runtime="charliecloud",
            arguments=("--write", "--set-env=A=1", "--bind=/a:/b"),
            exports={"A": "1"},
            command=T,
        ),
    ),
    ("srun --exclusive python t.py", ParsedLaunch("srun", ("--exclusive",), command=T)),
    (
        "srun --exclusive=user python t.py",
        ParsedLaunch("srun", ("--exclusive=user",), command=T),
    ),
    (
        "singularity exec x.sif python t.py",
        ParsedLaunch("local", container="x.sif", runtime="singularity", command=T),
    ),
    (
        "singularity -q exec -eC x.sif python t.py",
        ParsedLaunch(
            "local",
            container="x.sif",
            runtime="singularity",
            arguments=("--cleanenv", "--containall"),
            command=T,
        ),
    ),
    (
        "srun /usr/bin/apptainer exec -B /a,/b:/c --nv --env A=1,B=x=y x.sif python t.py",
        ParsedLaunch(
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
        ParsedLaunch(
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
        ParsedLaunch(
            "local", container="me/x:1", runtime="shifter", binds=("/a:/b",), command=T
        ),
    ),
]


@pytest.mark.parametrize(("text", "line"), LINES)
def test_a_line_says_who_starts_what_in_what(text: str, line: ParsedLaunch) -> None:
    assert read_line(shlex.split(text)) == line


WRONG = [
    ("srun --no-such python", "--no-such: this option is not known"),
    ("srun -n", "lacks its value"),
    ("srun", "has no program"),
    ("srun -n8", "has no program"),
    ("srun --export=NONE python", "whole environment"),
    ("srun --export=A=1 python", "whole environment"),
    ("flux submit python", "before its tasks do"),
    ("flux run --env=A=1 python", "whole environment"),
    ("flux run --dry-run python", "starts nothing"),
    ("mpiexec -n 2 python : -n 2 python", "side by side"),
    ("mpiexec -no-such python", "-no-such: this option is not known"),
    ("mpiexec --genvnone python", "whole environment"),
    ("srun --het-group=0 python", "one program on all nodes"),
    ("srun srun python", "srun is inside a step"),
    ("srun python a : python b", "side by side"),
    ("singularity", "is not known"),
    ("srun --container-image=i singularity run x.sif", "within a container"),
    ("singularity shell x.sif", "to type in"),
    ("singularity exec --no-such x.sif python", "--no-such: this option is not known"),
    ("singularity exec -z x.sif python", "-z: this option is not known"),
    ("singularity exec", "has no image"),
    ("singularity exec x.sif", "has no program"),
    ("singularity exec --env A x.sif python", "sets no variable"),
    ("singularity exec x.sif singularity exec y.sif python", ""),
    ("srun --container-image=i singularity exec x.sif python", "within a container"),
    ("podman run --entrypoint python img t.py", "behind the image"),
    ("podman-hpc shared-run img python", "share one container"),
    ("docker run -d img python", "before its program does"),
    ("srun ch-run --unset-env=* ./img -- python", "numbers them"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_cannot_be_understood_is_an_error(text: str, said: str) -> None:
    if not said:  # what the program in the container is, is its own matter
        assert read_line(shlex.split(text)).command[0] == "singularity"
        return
    with pytest.raises(UsageError, match=said):
        read_line(shlex.split(text))


def test_no_option_stands_twice_in_the_table() -> None:
    for program, sections in load_all().items():
        known = sections["line"]
        names = [
            *known["values"].split(),
            *known["flags"].split(),
            *known.get("attached", "").split(),
            *({*known.get("options", ())} - {*known.get("without", "").split()}),
        ]
        assert len(names) == len({*names}), program
        assert {*known["short"].values()} <= {*names}, program
        assert {*known.get("refused", ()), *known.get("default", ())} <= {*names}
