"""In which scope a script runs, and by which shell each ``$`` is expanded at last."""

from __future__ import annotations

from pathlib import Path

import pytest
from following import HEAD, expansions_of, model_of, severities_of

from envcfg.lint.directive import ScriptDirectives
from envcfg.lint.lint_rule import Sample
from envcfg.lint.script_source import Sources, kind_of
from envcfg.lint.traced_text import Flat, plain


@pytest.mark.parametrize(
    ("script", "scope"),
    [
        ("p $X", "batch"),
        ("srun p $X", "batch"),
        ("srun bash -c 'p $X'", "task"),
        ('srun bash -c "p $X"', "batch"),
        ('srun bash -c "p \\$X"', "task"),
        ("srun singularity exec a.sif bash -c 'p $X'", "container"),
        ("srun --container-image=a bash -c 'p $X'", "container"),
        ("srun shifter --image=a sh -c 'p $X'", "container"),
        ("C='p $X'; srun bash -c \"$C\"", "task"),
        ('C="p \\$X"; srun bash -c "$C"', "task"),
        ('C="p $X"; srun bash -c "$C"', "batch"),
        ("C='p $X'; eval \"$C\"", "batch"),
        ("L=(bash -c 'p $X'); srun \"${L[@]}\"", "task"),
        ("O='-n 2'; srun $O bash -c 'p $X'", "task"),
        ("srun $UNKNOWN bash -c 'p $X'", "task"),
        ("singularity exec $BINDS a.sif bash -c 'p $X'", "container"),
        ("singularity exec $SIF bash -c 'p $X'", "container"),
        ("srun bash << 'EOF'\np $X\nEOF", "task"),
        ("srun bash << EOF\np $X\nEOF", "batch"),
        ("srun bash << EOF\np \\$X\nEOF", "task"),
        ("srun bash -c 'bash -c \"p \\$X\"'", "task"),
        ("export SINGULARITYENV_A='$X'", "container"),
        ('export SINGULARITYENV_A="\\$X"', "container"),
        ("export SINGULARITYENV_A=$X", "batch"),
        ("srun env A=1 bash -c 'p $X'", "task"),
        ("timeout 10 srun bash -c 'p $X'", "task"),
        ("f() { p $X; }; f", "batch"),
        ("f() { p $X; }", "unknown"),
        ("f() { srun bash -c \"$1\"; }; f 'p $X'", "task"),
        ("cat > r.sh << 'EOF'\n#!/bin/bash\np $X\nEOF\nsrun ./r.sh", "task"),
        ("cat << 'EOF' > r.sh\n#!/bin/bash\np $X\nEOF\nsrun bash r.sh", "task"),
        ("ssh host 'p $X'", "unknown"),
        ("trap 'p $X' EXIT", "batch"),
        ("a=$(p $X)", "batch"),
        ("a=`p $X`", "batch"),
        ("(( X > 1 ))", "batch"),
        ("srun bash -lc 'p $X'", "task"),
        ("srun bash -c -e 'p $X'", "task"),
        ("srun bash -euo pipefail -c 'p $X'", "task"),
        ("srun ./wrap.sh bash -c 'p $X'", "task"),
        ("srun numactl -N 0 bash -c 'p $X'", "task"),
        ("mpirun -np 4 bash -c 'p $X'", "task"),
    ],
)
def test_a_dollar_is_expanded_by_the_last_shell(script: str, scope: str) -> None:
    assert expansions_of(HEAD + script)["X"] == scope


def test_what_no_shell_reads_is_not_expanded() -> None:
    assert "X" not in expansions_of(
        HEAD + "srun p 'a $X'\nB='$X'\ncat << 'EOF'\n$X\nEOF\n"
    )
    assert "X" not in expansions_of(HEAD + "# srun p $X\n")


@pytest.mark.parametrize(
    ("script", "scope"),
    [
        ("#!/bin/bash\n#SBATCH -N1\np\n", "batch"),
        ("#!/bin/bash\nsrun -N1 p\n", "batch"),
        ("#!/bin/bash\nexec \"$@\"\n", "unknown"),
        ("#!/bin/bash\n# srun me\np\n", "unknown"),
        ("#!/bin/bash\nscontrol show hostnames\n", "unknown"),
        ("#!/bin/bash\n#SBATCH -N1\nif [ -z \"$SLURM_PROCID\" ]; then srun \"$0\"; fi\n", "unknown"),
        ("#!/bin/bash\ncat > j << EOF\n#SBATCH -N1\nEOF\n", "unknown"),
    ],
)  # fmt: skip
def test_a_file_has_the_scope_that_it_shows(script: str, scope: str) -> None:
    assert model_of(script).scope == scope


def test_files_beside_are_read_in_the_scope_that_starts_them(tmp_path: Path) -> None:
    model = model_of(
        HEAD + "source ./env.sh\nsrun ./rank.sh a b\n",
        tmp_path,
        env="A=$X\n",
        rank='#!/bin/bash\np $Y\nexec "$@"\n',
    )
    assert {e.name: e.hole.scope for e in model.expansions if e.name in "XY"} == {
        "X": "batch",
        "Y": "task",
    }
    assert [w.shown for w in model.commands[-1].words] == ["a", "b"]
    assert model.opaque == []


def test_what_cannot_be_read_is_said() -> None:
    model = model_of(HEAD + "source /site/x.sh\nmodule load y\nsrun ./z.sh\n")
    assert [each.description for each in model.opaque] == [
        "source /site/x.sh",
        "module load y",
        "./z.sh",
    ]


def test_exec_that_only_opens_or_closes_files_does_not_end_the_script() -> None:
    script = f"{HEAD}exec {{FILE}}>&- {{OTHER}}</dev/null\nexec >log\nhostname\n"
    assert [each.name for each in model_of(script).commands][-1] == "hostname"


def test_directives_are_those_that_sbatch_reads() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 # both\n#SBATCH -c8\n##SBATCH -p a\n"
        "# SBATCH -p b\n#SBATCH --tasks-per-node 3\n#SBATCH --exclusive\n\np\n#SBATCH -t 5\n"
        "if x; then\n#SBATCH -p c\nfi\n"
    )
    found = ScriptDirectives(Flat(plain(text, 0)), "slurm").directives
    assert [(d.name, d.value, d.late) for d in found] == [
        ("nodes", "2", False),
        ("ntasks-per-node", "4", False),
        ("cpus-per-task", "8", False),
        ("ntasks-per-node", "3", False),
        ("exclusive", None, False),
        ("time", "5", True),
    ]
    assert all(text.startswith("-", d.offset) for d in found)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#!/bin/bash\nA=1\n", "script"),
        ("PATH=/usr/bin\nHOME=/root\nNCCL_DEBUG=INFO\n", "dump"),
        ("A=1\0B=2\0", "dump"),
        ("PATH=/usr/bin:$PATH\nA='b'\n", "script"),
        ("export A=1\n", "script"),
        ("#!/usr/bin/env python3\nprint()\n", "other"),
        ("\x7fELF\0\0\0", "other"),
    ],
)
def test_a_text_is_recognised_by_what_is_in_it(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_places_count_characters_of_the_file() -> None:
    sources = Sources()
    sources.add("a", b"x\n")
    second = sources.add("b", "é=1\nzß=2\n".encode())
    at = second.base + "é=1\nzß=2\n".encode().index(b"2")
    assert sources.place(at) == ("b", 2, 4)
    assert sources.line(at) == "zß=2"


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("srun rocprof --stats -omyprofile-$SLURM_PROCID.csv ./app", "warning"),
        ("srun rocprof -o myprofile-$SLURM_PROCID.csv ./app", "warning"),
        ("srun -l rocprofv3 -dout-$SLURM_PROCID -- ./app", "warning"),
        ("mpiexec -n 16 nsys profile -oreport.$SLURM_PROCID ./app", "warning"),
        ("flux run -n16 ./profile -oreport.$SLURM_PROCID ./app", "warning"),
        ('srun apptainer exec x.sif rocprof "-oa-$SLURM_PROCID.csv" ./app', "warning"),
        ("srun podman run x rocprof -oa-$SLURM_PROCID.csv ./app", "warning"),
        ('srun bash -c "rocprof -oa-$SLURM_PROCID.csv ./app"', "warning"),
        ("srun python train.py output=x-$SLURM_PROCID", "warning"),
        # The value of an unknown option may be anything.
        ("srun ./app -device=$SLURM_LOCALID", "note"),
        ("srun ./app -n$SLURM_LOCALID", "note"),
        # Each task expands its own rank.
        ("srun bash -c 'rocprof -oa-$SLURM_PROCID.csv ./app'", None),
        ("srun rocprof -omyprofile.csv ./app", None),
    ],
)
def test_a_file_of_all_tasks_is_found_behind_its_option(
    line: str, severity: str | None, tmp_path: Path
) -> None:
    script = f"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8\n{line}\n"
    found = severities_of(script, Sample(""), "EC101", tmp_path)
    assert found == ([severity] if severity else [])
