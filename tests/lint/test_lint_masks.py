"""Masks of GPUs that all tasks of a node share: every way by which a script sets one.

Each way is crossed with launchers, their options, runtimes and shells. The silent scripts look
alike, and no task lacks a GPU.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from following import severities_of

from envcfg.lint.lint_rule import Sample

HEAD = """#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
"""
NAME = "HIP_VISIBLE_DEVICES"
PROGRAM = "python train.py"
# What stands before the step, and the beginning of the step itself.
BEFORE = {
    "export": (f"export {NAME}=0\n", "srun"),
    "declare": (f"declare -x {NAME}=0\n", "srun"),
    "two words": (f"{NAME}=0; export {NAME}\n", "srun"),
    "all exported": (f"set -a; {NAME}=0; set +a\n", "srun"),
    "before srun": ("", f"{NAME}=0 srun"),
    "env": ("", f"env {NAME}=0 srun"),
    "nice env": ("", f"nice env A=b {NAME}=0 srun"),
    "element": (f"G=(0 1 2)\nexport {NAME}=${{G[0]}}\n", "srun"),
    "element 2": (f'G=(0 1 2)\nexport {NAME}="${{G[2]}}"\n', "srun"),
    "element of a number": (f"G=(0 1 2) i=1\nexport {NAME}=${{G[$i]}}\n", "srun"),
    "element by a bare name": (f"G=(0 1 2); i=1\nexport {NAME}=${{G[i]}}\n", "srun"),
    "element by the rank": (f"G=(0 1)\nexport {NAME}=${{G[$SLURM_LOCALID]}}\n", "srun"),
    "element by the bare rank": (
        f"G=(0 1)\nexport {NAME}=${{G[SLURM_LOCALID]}}\n",
        "srun",
    ),
    "element of a read": (
        f'IFS=, read -ra G <<<"$GPU_LIST"\nexport {NAME}=${{G[0]}}\n',
        "srun",
    ),
    "element of a file": (f"mapfile -t G <gpus\nexport {NAME}=${{G[0]}}\n", "srun"),
    "function": (f"go() {{ export {NAME}=0; }}\ngo\n", "srun"),
    "directive": (f"#SBATCH --export=ALL,{NAME}=0\n", "srun"),
    "list": ("", f"srun --export=ALL,{NAME}=0"),
    "list, apart": ("", f"srun --export ALL,{NAME}=0"),
    "list alone": ("", f"srun --export={NAME}=0"),
    "list in quotes": ("", f'srun --export="ALL,A=b,{NAME}=0,C=d"'),
    "quotes in the list": ("", f"""srun "--export=ALL,{NAME}='0,1'" """),
    "list of a variable": (f"M=0\nE=ALL,{NAME}=$M\n", "srun --export=$E"),
    "hydra": ("", f"mpiexec -n 16 -ppn 8 -genv {NAME} 0"),
    "hydra, local": ("", f"mpiexec -n 16 -ppn 8 -env {NAME} 0"),
    "hydra, one word": ("", f"mpiexec -n 16 -ppn 8 -genv {NAME}=0"),
    "pals": ("", f"mpiexec -n 16 --ppn 8 --env {NAME}=0"),
    "open mpi": ("", f"mpirun -n 16 -npernode 8 -x {NAME}=0"),
    "flux": ("", f"flux run -N2 -n16 --tasks-per-node=8 --env={NAME}=0"),
    "flux, apart": ("", f"flux run -N2 --tasks-per-node 8 --env {NAME}=0"),
    "aprun": ("", f"aprun -n 16 -N 8 -e {NAME}=0"),
    "prefix": (f"export SINGULARITYENV_{NAME}=0\n", "srun singularity exec x.sif"),
    "other prefix": (f"export APPTAINERENV_{NAME}=0\n", "srun apptainer exec x.sif"),
    "prefix of a step": ("", f"SINGULARITYENV_{NAME}=0 srun singularity exec x.sif"),
    "prefix in a list": (
        "",
        f"srun --export=ALL,APPTAINERENV_{NAME}=0 apptainer exec x.sif",
    ),
}
UNKNOWN = {
    "element of a read",
    "element of a file",
}  # an element is most likely one GPU
OPTIONS = ("", "-l", "--mpi=pmi2 -u", "--cpu-bind=cores", "-o out-%t.txt")
# What a task starts with a mask of its own.
INSIDE = {
    "singularity": f"singularity exec --env {NAME}=0 x.sif",
    "apptainer": f"apptainer exec --rocm --env={NAME}=0 -B /a:/b x.sif",
    "apptainer, list": f"apptainer exec --env A=b,{NAME}=0 x.sif",
    "apptainer, run": f"apptainer run --env {NAME}=0 --env A=b x.sif",
    "podman": f"podman run -e {NAME}=0 image:1",
    "podman, glued": f"podman run -v /a:/b -e{NAME}=0 --rm image:1",
    "podman, list": f"podman run --rm --env={NAME}=0,1 image:1",
    "podman-hpc": f"podman-hpc run --gpu --env {NAME}=0 image:1",
    "docker": f"docker run --rm -e A=b -e {NAME}=0 image:1",
    "shifter": f"shifter --image=image:1 --env={NAME}=0",
    "sarus": f"sarus run -e {NAME}=0 image:1",
    "enroot": f"enroot start --rw -e {NAME}=0 image",
    "enroot, long": f"enroot start --env {NAME}=0 -m /a:/b image",
    "charliecloud": f"ch-run --set-env={NAME}=0 image",
    "env": f"env {NAME}=0",
    "numactl": f"numactl -N0 env {NAME}=0",
}
AROUND = ("{}", "time {}", "( {} )", "{} 2>&1 | tee log", "if ! {}; then exit 1; fi")
SILENT = {
    "a step of one task": f"srun -N1 -n1 --export=ALL,{NAME}=0 {PROGRAM}",
    "a GPU for each task": f"srun --gpus-per-task=1 --export=ALL,{NAME}=0 {PROGRAM}",
    "one task on a node": f"srun --ntasks-per-node=1 --export=ALL,{NAME}=0 {PROGRAM}",
    "all GPUs": f"srun \"--export=ALL,{NAME}='0,1,2,3,4,5,6,7'\" {PROGRAM}",
    "another value": f"srun --export=ALL,{NAME}=$GPUS_OF_TASK {PROGRAM}",
    "another variable": f"srun --export=ALL,MY_{NAME}=0 {PROGRAM}",
    "only the name": f"srun --export=ALL,{NAME} {PROGRAM}",
    "a helper": f"srun --export=ALL,{NAME}=0 hostname",
    "a list without it": f"export {NAME}=0\nsrun --export=PATH,HOME {PROGRAM}",
    "no environment": f"export {NAME}=0\nsrun --export=NONE {PROGRAM}",
    "removed": f"export {NAME}=0\nunset {NAME}\nsrun {PROGRAM}",
    "removed for the step": f"export {NAME}=0\nenv -u {NAME} srun {PROGRAM}",
    "removed in the task": f"export {NAME}=0\nsrun env -u {NAME} {PROGRAM}",
    "removed by flux": f"export {NAME}=0\nflux run -n16 --env-remove={NAME} {PROGRAM}",
    "another sign of flux": f"export {NAME}=0\nflux run -n16 --env=-{NAME} {PROGRAM}",
    "a container without it": f"export {NAME}=0\nsrun podman run --rm image:1 {PROGRAM}",
    "a clean container": f"export {NAME}=0\nsrun apptainer exec -e x.sif {PROGRAM}",
    "each task its own": f"srun bash -c 'export {NAME}=$SLURM_LOCALID; {PROGRAM}'",
    "its own after a list": (
        f"srun --export=ALL,{NAME}=0 bash -c 'export {NAME}=$SLURM_LOCALID; {PROGRAM}'"
    ),
    "its own in the container": (
        f"export {NAME}=0\nsrun bash -c "
        f"'apptainer exec --env {NAME}=$SLURM_LOCALID x.sif {PROGRAM}'"
    ),
    "an element for each task": (
        f"srun bash -c 'G=(0 1 2 3); export {NAME}=${{G[$SLURM_LOCALID]}}; {PROGRAM}'"
    ),
    "elements that differ": f"G=(0 0,1)\nexport {NAME}=${{G[$N]}}\nsrun {PROGRAM}",
    "a function that nobody calls": f"f() {{ export {NAME}=0; }}\nsrun {PROGRAM}",
    "a function for sh": (
        f"f() {{ export {NAME}=0; }}\nexport -f f\nsrun sh -c 'f; {PROGRAM}'"
    ),
    "a function that is not exported": (
        f"f() {{ export {NAME}=0; }}\nsrun bash -c 'f; {PROGRAM}'"
    ),
    "a step in which it ends": f"{NAME}=0 srun -n1 a.out\nsrun {PROGRAM}",
    "a branch": f'if [ "$X" ]; then export {NAME}=0; fi\nsrun {PROGRAM}',
}
FUNCTIONS = {
    "export -f": "export -f setup",
    "declare": "declare -fx setup",
    "typeset": "typeset -xf setup other",
}
SHELLS = {
    "-c": "bash -c 'setup; {}'",
    "-lc": 'bash -lc "setup && {}"',
    "within": "bash -c 'bash -c \"setup; {}\"'",
    "container": "singularity exec x.sif bash -c 'setup; {}'",
    "another function": "bash -c 'run() {{ setup; {}; }}; run'",
}


def severities(script: str, folder: Path) -> list[str]:
    """Return the severities of the findings on shared masks."""
    return severities_of(HEAD + script, Sample(""), "EC649", folder)


@pytest.mark.parametrize("way", BEFORE)
def test_a_mask_of_the_step_is_found(way: str, tmp_path: Path) -> None:
    before, step = BEFORE[way]
    is_srun = step.partition("srun")[2] == ""
    for options, around in product(OPTIONS if is_srun else [""], AROUND):
        line = around.format(f"{step} {options} {PROGRAM}")
        (severity,) = severities(f"{before}{line}\n", tmp_path)
        assert severity == ("warning" if way in UNKNOWN else "error"), line


@pytest.mark.parametrize(("way", "around"), [*product(INSIDE, AROUND)])
def test_a_mask_of_the_task_is_found(way: str, around: str, tmp_path: Path) -> None:
    for starter in ("srun -l", "mpiexec -n 16 -ppn 8", "flux run -N2 -n16"):
        script = around.format(f"{starter} {INSIDE[way]} {PROGRAM}")
        assert severities(f"{script}\n", tmp_path) == ["error"], script


@pytest.mark.parametrize(("way", "shell"), [*product(FUNCTIONS, SHELLS)])
def test_a_mask_of_an_exported_function_is_found(
    way: str, shell: str, tmp_path: Path
) -> None:
    script = (
        f"setup() {{ export {NAME}=0; }}\n{FUNCTIONS[way]}\n"
        f"srun {SHELLS[shell].format(PROGRAM)}\n"
    )
    assert severities(script, tmp_path) == ["error"]


@pytest.mark.parametrize(
    ("name", "severity"), [("CUDA", "warning"), ("ROCR", "warning")]
)
def test_a_mask_that_slurm_sets_anew_is_less_certain(
    name: str, severity: str, tmp_path: Path
) -> None:
    mask = f"{name}_VISIBLE_DEVICES=0"
    assert severities(f"srun --export=ALL,{mask} {PROGRAM}\n", tmp_path) == [severity]
    inside = f"srun apptainer exec --env {mask} x.sif {PROGRAM}\n"
    assert severities(inside, tmp_path) == ["error"]


def test_what_is_not_certain_is_a_note(tmp_path: Path) -> None:
    mask = f"srun --export=ALL,{NAME}=0"
    assert severities(f"{mask} ./wrapper.sh {PROGRAM}\n", tmp_path) == ["note"]
    assert severities(f"{mask} $OPTIONS {PROGRAM}\n", tmp_path) == ["note"]


@pytest.mark.parametrize("name", SILENT)
def test_a_mask_that_hides_nothing_is_silent(name: str, tmp_path: Path) -> None:
    assert severities(f"{SILENT[name]}\n", tmp_path) == []
